import fc from 'fast-check';
import { defineApp, defineWorkflow, mcpServer } from 'outwait';
import { createTestApp, scriptedServer } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { HistoryEvent, RunOutcome } from '../../lib/history/event.js';
import type { Command } from '../../lib/replay/command.js';
import { foldHistory } from '../../lib/history/run-state.js';
import { openExecution } from '../../lib/operations/open-execution.js';
import type { Execution } from '../../lib/replay/execution.js';
import { isRequest, toRequestEvent, type RequestEvent } from '../../lib/replay/kinds/kinds.js';
import { child, interpret, programs, taskOf, type Program } from './program.js';

interface Recorded {
  readonly outcome: RunOutcome;
  readonly events: readonly HistoryEvent[];
  readonly replayer: () => Execution;
  readonly ranSteps: () => number;
}

/** Runs a program to its end in the test kit, with a cancel in between if `cancelAfter` says so. */
async function record(program: Program, seed: number, cancelAfter: number | undefined): Promise<Recorded> {
  let ran = 0;
  const flow = defineWorkflow({ name: 'flow', run: (ctx) => interpret(ctx, program, () => ran++) });
  const config = defineApp({
    workflows: [flow, child],
    servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
  });
  const server = scriptedServer({ protocol: 'mcp', task: taskOf });
  const app = createTestApp(config, { servers: { reports: server }, seed });
  const runId = await app.start(flow);
  const cancel = { atS: cancelAfter ?? Infinity, act: async () => app.cancel(runId) };
  const signals = [0, 30, 90, 90].map((atS, n) => ({
    atS,
    act: async () => app.signal(runId, n === 1 ? 'y' : 'x', n),
  }));
  let nowS = 0;
  for (const { atS, act } of [...signals, cancel].sort((a, b) => a.atS - b.atS)) {
    if (atS === Infinity) break;
    if (atS > nowS) await app.pass({ seconds: atS - nowS });
    nowS = atS;
    await act();
  }
  const outcome = await app.runToEnd(runId, { allowDropped: true });
  const records = await app.deps.store.runs.read(runId);
  if (records === undefined) throw new Error('the run is gone');
  expect(new Set(server.starts.map(({ key }) => key)).size).toBe(server.starts.length);
  return {
    outcome,
    events: records.commits.flatMap((commit) => commit.events),
    replayer: () =>
      openExecution(app.deps, flow, {
        head: records.head,
        state: foldHistory(records.commits),
        tokens: new Map(records.tokens.map((token) => [token.waitId, token])),
        inbox: new Map(records.inbox.map((item) => [item.inboxId, item])),
      }),
    ranSteps: () => ran,
  };
}

function requestOf(command: Command): string {
  switch (command.kind) {
    case 'runStep':
    case 'waitForSignal':
    case 'issueToken':
      return `${command.waitId} ${command.kind} ${command.name}`;
    case 'startTimer':
      return `${command.waitId} timer`;
    case 'startRemoteTask':
    case 'answerRemote':
    case 'startChild':
      return `${command.waitId} ${command.kind} ${command.digest}`;
  }
}

function recordOf(event: RequestEvent): string {
  switch (event.type) {
    case 'StepRequested':
      return `${event.waitId} runStep ${event.name}`;
    case 'SignalWaitStarted':
      return `${event.waitId} waitForSignal ${event.name}`;
    case 'ExternalWaitRequested':
      return `${event.waitId} issueToken ${event.name}`;
    case 'TimerStarted':
      return `${event.waitId} timer`;
    case 'RemoteTaskRequested':
      return `${event.waitId} startRemoteTask ${event.digest}`;
    case 'RemoteAnswerRequested':
      return `${event.waitId} answerRemote ${event.digest}`;
    case 'ChildRequested':
      return `${event.waitId} startChild ${event.digest}`;
  }
}

function isWaiting({ status }: Execution): boolean {
  return status.kind === 'waiting';
}

function waitOf(event: HistoryEvent): string | undefined {
  return 'waitId' in event ? event.waitId : undefined;
}

/** Failures name program and seed; `PROGRAMS_SEED` tries others. */
const tried = { numRuns: Number(process.env['PROGRAMS'] ?? 1_000), seed: Number(process.env['PROGRAMS_SEED'] ?? 1) };

const cancels = fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined });
const seeds = fc.integer({ min: 1, max: 1_000_000 });

// A failure prints the seed and the smallest program that it could be reduced to.
describe('any workflow of steps, sleeps, remote tasks, signals, tokens, children, races and scopes', () => {
  it(
    'asks for the same and ends the same when any prefix of its history is replayed (EN-1)',
    { timeout: 600_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(programs, seeds, cancels, async (program, seed, cancelAfter) => {
          const { events, outcome, replayer, ranSteps } = await record(program, seed, cancelAfter);
          const ranBefore = ranSteps();
          for (let length = 0; length <= events.length; length++) {
            const execution = replayer();
            for (const event of events.slice(0, length)) await execution.apply(event);
            expect(execution.status.kind).not.toBe('blocked');
            if (execution.status.kind === 'ended') expect(execution.status.outcome).toEqual(outcome);
            const later = events.slice(length).filter(isRequest).map(recordOf);
            const asked = execution.newCommands(1_000).map(requestOf);
            // Requests in the turn that ends the workflow are not recorded.
            expect(later.slice(0, asked.length)).toEqual(asked.slice(0, later.length));
          }
          const whole = replayer();
          for (const event of events) await whole.apply(event);
          expect(whole.status).toEqual({ kind: 'ended', outcome });
          expect(ranSteps()).toBe(ranBefore);
        }),
        tried,
      );
    },
  );

  it('ends the same when the same events are cut into other turns', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        programs,
        seeds,
        cancels,
        fc.infiniteStream(fc.nat(4)),
        async (program, seed, cancelAfter, cuts) => {
          const { events, outcome, replayer } = await record(program, seed, cancelAfter);
          const happened = events.filter((event) => !isRequest(event));
          const execution = replayer();
          const log: HistoryEvent[] = [];
          const recorded = new Set<string>();
          const commit = async (limit: number): Promise<void> => {
            for (const request of execution.newCommands(limit).map(toRequestEvent)) {
              await execution.apply(request);
              log.push(request);
              recorded.add(waitOf(request)!);
            }
          };
          for (const event of happened) {
            // Nothing is requested once the outcome is there.
            if (execution.status.kind === 'ended') break;
            const waitId = waitOf(event);
            // Nothing can end a wait before the log requests it.
            while (waitId !== undefined && !recorded.has(waitId)) {
              const before = recorded.size;
              await commit(1);
              if (recorded.size === before) break;
            }
            await execution.apply(event);
            log.push(event);
            const cut = cuts.next().value as number;
            if (cut > 0 && isWaiting(execution)) await commit(cut === 4 ? 1_000 : cut);
          }
          expect(execution.status).toEqual({ kind: 'ended', outcome });
          const again = replayer();
          for (const event of log) await again.apply(event);
          expect(again.status).toEqual({ kind: 'ended', outcome });
        },
      ),
      tried,
    );
  });
});
