import { defineApp, defineWorkflow, mcpServer } from 'outwait';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import type { RunOutcome } from '../../lib/history/event.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import type { StartReply, StartRequest } from '../../lib/remote/transport.js';
import { sourceOf } from '../simulation/oracles.js';
import { MortalEngine, type Fault } from './mortal-engine.js';
import { child, interpret, taskOf, type Program } from './program.js';

export interface Case {
  readonly program: Program;
  readonly seed: number;
  readonly cancelAfter: number | undefined;
}

export interface Ended {
  readonly engine: MortalEngine;
  readonly runId: string;
  readonly outcome: RunOutcome;
  /** Idempotency keys of the calls that reached the server. */
  readonly keys: readonly string[];
}

/**
 * A server whose tasks never end by themselves: each is settled from outside at the instant that its script names.
 * Otherwise polls would decide how soon the engine notices an end, and so who wins a race.
 */
class PushedServer extends ScriptedServer {
  readonly #pushed = new Set<string>();
  readonly #engine: () => MortalEngine;

  constructor(engine: () => MortalEngine) {
    super({ protocol: 'mcp', task: () => ({ never: true }) });
    this.#engine = engine;
  }

  override async start(start: StartRequest): Promise<StartReply> {
    const reply = await super.start(start);
    const { after, result, isError = false, failure, refusal, never = false } = taskOf(start.request);
    if (reply.kind !== 'started' || never || this.#pushed.has(start.idempotencyKey)) return reply;
    this.#pushed.add(start.idempotencyKey);
    const message = failure ?? refusal;
    // Later than the start, since the recorded order of two things at one instant is not fixed.
    this.#engine().pushAfter(
      after?.seconds ?? 1,
      reply.handle.taskId,
      message === undefined ? { kind: 'completed', result: result ?? null, isError } : { kind: 'failed', message },
    );
    return reply;
  }
}

/** Runs a program to its end, with signals and a cancel in between, and a fault. */
export async function runProgram({ program, seed: ids, cancelAfter }: Case, fault?: Fault): Promise<Ended> {
  const flow = defineWorkflow({ name: 'flow', run: (ctx) => interpret(ctx, program, () => undefined) });
  const server: PushedServer = new PushedServer(() => engine);
  const app = defineApp({
    workflows: [flow, child],
    servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
  });
  const engine = new MortalEngine({ app, servers: { reports: server }, seed: ids, ...(fault && { fault }) });
  let runId = '';
  // A start that is repeated with its key must draw the seed of the run again.
  await engine.invoke(
    async (deps) => {
      ({ runId } = await startRun(deps, { workflow: 'flow', key: 'k' }));
    },
    { draws: 0 },
  );
  const acts = [0, 30, 90, 90].map((atS, n) => ({
    atS,
    act: () => engine.invoke((deps) => signalRun(deps, runId, { name: n === 1 ? 'y' : 'x', payload: n, key: `k${n}` })),
  }));
  if (cancelAfter !== undefined) {
    const act = (): Promise<void> =>
      engine.invoke((deps) => requestStop(deps, { runId, kind: 'cancel', requestId: 'c' }));
    acts.push({ atS: cancelAfter, act });
  }
  for (const { atS, act } of acts.sort((a, b) => a.atS - b.atS)) {
    await engine.moveTo(atS);
    await act();
  }
  const outcome = await engine.end(runId);
  return { engine, runId, outcome, keys: server.starts.map(({ key }) => key) };
}

/**
 * Returns what occurs more than once in the history of a run of the engine but may occur only once, and the numbers of
 * missing commits.
 */
export async function faultsOfLogs(engine: MortalEngine): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const runId of engine.runIds) {
    const commits = await engine.commits(runId);
    const sources = commits.flatMap((commit) => commit.events.map(sourceOf)).filter((source) => source !== undefined);
    faults.push(...sources.filter((source, position) => sources.indexOf(source) !== position));
    commits.forEach(({ seq }, position) => {
      if (seq !== position + 1) faults.push(`commit ${seq} at place ${position + 1}`);
    });
  }
  return faults;
}

/** Returns how often the most often started call was started. */
export function mostStarts(keys: readonly string[]): number {
  return Math.max(0, ...keys.map((key) => keys.filter((other) => other === key).length));
}
