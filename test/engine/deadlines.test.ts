import { defineWorkflow, hasCode, type Workflow, type WorkflowContext } from 'outwait';
import { describe, expect, it } from 'vitest';
import { heartbeatToken } from '../../lib/operations/requests/heartbeat-token.js';
import { answerQuestion } from '../../lib/operations/requests/answer-question.js';
import { listQuestions } from '../../lib/operations/views/list-questions.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { settleWait } from '../../lib/operations/requests/settle-wait.js';
import type { Deps } from '../../lib/operations/deps.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import type { PollReply, StartReply, StartRequest } from '../../lib/remote/transport.js';
import { aFlow, started, startedIn, type Started, WatchedServer } from './support.js';

// A deadline has passed and no sweep has seen it: the first request that comes finds that the wait has timed out.

const hourMs = 3_600_000;
const yes = { kind: 'completed', result: 'yes', isError: false } as const;
const no = { kind: 'failed', message: 'no' } as const;
const tooLate = { settled: false, reason: 'timed_out' };

const waiting = aFlow(async (ctx) => {
  const { outcome } = await ctx.externalToken({ name: 'approval', timeout: { hours: 1 } });
  return outcome.then(
    ({ result }) => result,
    (error: unknown) => hasCode(error, 'EXTERNAL_TIMED_OUT') && 'timed out',
  );
});

/** Returns the dependencies of a process whose clock is that far ahead of the start of the wait, before any sweep. */
function lookingAfter({ app }: Started, ms: number): Deps {
  const atMs = app.clock.nowMs() + ms;
  return { ...app.deps, clock: { nowMs: () => atMs } };
}

async function waitingFor(): Promise<{ readonly run: Started; readonly token: string }> {
  const run = await started(waiting);
  await run.app.settleDown();
  return { run, token: await run.app.tokenOf(run.runId, 'approval') };
}

describe('a deadline that has passed unseen', () => {
  it.each([
    ['a result', yes],
    ['a failure', no],
  ] as const)('F18 ends the wait for the holder of its token, who brings %s', async (_what, outcome) => {
    const { run, token } = await waitingFor();
    expect(await settleToken(lookingAfter(run, hourMs), { token, outcome })).toEqual(tooLate);
    // The run is notified at once, not by a sweep.
    await run.app.settleDown();
    expect(await run.app.show(run.runId)).toMatchObject({ outcome: { status: 'completed', result: 'timed out' } });
    expect(await settleToken(run.app.deps, { token, outcome })).toEqual(tooLate);
  });

  it('F18 ends the wait for an operator', async () => {
    const { run } = await waitingFor();
    expect(await settleWait(lookingAfter(run, hourMs), run.runId, '1', yes)).toEqual(tooLate);
  });

  it('F18 ends the wait for a heartbeat, which does not revive it', async () => {
    const { run, token } = await waitingFor();
    const beat = { token, extendByMs: 600_000 };
    expect(await heartbeatToken(lookingAfter(run, hourMs), beat)).toEqual({ settled: true, reason: 'timed_out' });
    await run.app.settleDown();
    expect(await run.app.show(run.runId)).toMatchObject({ outcome: { status: 'completed', result: 'timed out' } });
  });

  it('F18 has not passed a millisecond before', async () => {
    const { run, token } = await waitingFor();
    const early = lookingAfter(run, hourMs - 1);
    expect(await heartbeatToken(early, { token, extendByMs: 1_000 })).toMatchObject({ settled: false });
    expect(await settleToken(lookingAfter(run, hourMs), { token, outcome: yes })).toEqual({ settled: true });
  });

  it('F18 is the one that the last heartbeat set', async () => {
    const { run, token } = await waitingFor();
    await heartbeatToken(run.app.deps, { token, extendByMs: 60_000 });
    expect(await settleToken(lookingAfter(run, 60_000), { token, outcome: yes })).toEqual(tooLate);
  });

  it('F18 ends a question for the person who answers it', async () => {
    const asking = aFlow(async (ctx) =>
      ctx
        .ask({ message: 'Approve?', timeout: { hours: 1 } })
        .catch((error: unknown) => (error as { code: string }).code),
    );
    const run = await started(asking);
    await run.app.settleDown();
    const [question] = (await listQuestions(run.app.deps, { limit: 1 })).inputs;
    const late = lookingAfter(run, hourMs);
    expect(await answerQuestion(late, question!.inputId, { action: 'accept' })).toEqual({
      answered: false,
      reason: 'timed_out',
    });
    await run.app.settleDown();
    expect(await run.app.show(run.runId)).toMatchObject({
      outcome: { status: 'completed', result: 'INPUT_TIMED_OUT' },
    });
  });

  it('F18 ends a question for the holder of a token, who brings a result', async () => {
    const asking = aFlow(async (ctx) => ctx.ask({ message: 'Approve?', timeout: { hours: 1 } }));
    const run = await started(asking);
    await run.app.settleDown();
    expect(await settleWait(lookingAfter(run, hourMs), run.runId, '1', yes)).toEqual(tooLate);
  });

  const calling = aFlow(async (ctx) =>
    ctx
      .callRemoteTask({ server: 'reports', tool: 'export', timeout: { seconds: 30 } })
      .then(({ result }) => result)
      .catch((error: unknown) => (error as { code: string }).code),
  );
  const ended = { kind: 'completed', result: 'rows', isError: false } as const;

  it('F18 ends a remote task whose result is read after it', async () => {
    class SlowReads extends WatchedServer {
      override async get(): Promise<PollReply> {
        run.app.clock.moveTo(run.app.clock.nowMs() + 28_000);
        return { kind: 'ended', end: ended };
      }
    }
    const run = await started(calling, { reports: new SlowReads() });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'REMOTE_TASK_TIMED_OUT' });
  });

  it('F18 ends a remote task whose start is answered with its result after it', async () => {
    class SlowStarts extends WatchedServer {
      override async start(request: StartRequest): Promise<StartReply> {
        await super.start(request);
        run.app.clock.moveTo(run.app.clock.nowMs() + 31_000);
        return { kind: 'ended', end: ended };
      }
    }
    const run = await started(calling, { reports: new SlowStarts() });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'REMOTE_TASK_TIMED_OUT' });
  });

  /** Waits an hour for a child, and returns the code with which that ended. */
  const parentOf = (child: Workflow): Workflow =>
    defineWorkflow<unknown>({
      name: 'parent',
      run: async (ctx) =>
        ctx
          .child(child, 'an input', { timeout: { hours: 1 } })
          .catch((error: unknown) => (error as { code: string }).code),
    });

  it.each([
    ['completes', async (ctx: WorkflowContext) => ctx.signal('go')],
    [
      'fails',
      async (ctx: WorkflowContext) => {
        await ctx.signal('go');
        throw new TypeError('no');
      },
    ],
  ])('F18 ends the wait for a child that %s after it', async (_how, runChild) => {
    const child = defineWorkflow<unknown>({ name: 'child', run: runChild });
    const run = await startedIn([parentOf(child), child]);
    const { app } = run;
    await app.settleDown();
    const { childRunId = '' } = (await app.show(run.runId)).waits[0]!;
    await signalRun(app.deps, childRunId, { name: 'go', payload: 'late' });
    await runTurn(lookingAfter(run, hourMs), { runId: childRunId }, { remainingMs: () => 60_000 });
    expect((await app.show(childRunId)).endedAtMs).toBeDefined();
    // The parent is notified at once, not by a sweep.
    await app.settleDown();
    expect(await app.show(run.runId)).toMatchObject({ outcome: { status: 'completed', result: 'CHILD_TIMED_OUT' } });
  });

  it('F18 ends the wait for a child whose input is refused after it', async () => {
    const running: { app?: Started['app'] } = {};
    const slow = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: () => {
          running.app?.clock.moveTo(running.app.clock.nowMs() + hourMs);
          return { issues: [{ message: 'no' }] };
        },
      },
    };
    const child = defineWorkflow({ name: 'child', input: slow, run: async () => 'never' });
    const run = await startedIn([parentOf(child as unknown as Workflow), child]);
    running.app = run.app;
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'CHILD_TIMED_OUT' });
  });
});
