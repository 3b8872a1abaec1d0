import fc from 'fast-check';
import { defineApp, defineWorkflow, mcpServer } from 'outwait';
import { ScriptedServer } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { RunOutcome } from '../../lib/history/event.js';
import { requestStop, signalRun } from '../../lib/operations/send-to-inbox.js';
import { startRun } from '../../lib/operations/start-run.js';
import type { StartReply, StartRequest } from '../../lib/remote/transport.js';
import { sourceOf } from '../simulation/oracles.js';
import { seeded } from '../simulation/random.js';
import { MortalEngine, type Fault } from './mortal-engine.js';
import { child, interpret, programs, taskOf, type Program } from './program.js';

interface Case {
  readonly program: Program;
  readonly seed: number;
  readonly cancelAfter: number | undefined;
}

interface Ended {
  readonly engine: MortalEngine;
  readonly runId: string;
  readonly outcome: RunOutcome;
  /** Idempotency keys of the calls that came to the server. */
  readonly keys: readonly string[];
}

const seed = Number(process.env['PROGRAMS_SEED'] ?? 1);
const count = Number(process.env['PROGRAMS'] ?? 1_000);
/** A program makes about a hundred calls; so many of the programs are tried with a death at each of them. */
const tried = Math.min(count, Number(process.env['PROGRAMS_TRIED_WHOLE'] ?? 25));

const cases = fc.record<Case>({
  program: programs,
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  cancelAfter: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
});

/**
 * A server whose tasks never end by themselves: somebody settles each at the instant at which its script says so. How
 * long the engine takes to notice an end depends on its polls, and so would the winner of a race.
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
    // Not at the instant of the start: which of two things of one instant is recorded first is free.
    this.#engine().pushAfter(
      after?.seconds ?? 1,
      reply.handle.taskId,
      message === undefined ? { kind: 'completed', result: result ?? null, isError } : { kind: 'failed', message },
    );
    return reply;
  }
}

async function run({ program, seed: ids, cancelAfter }: Case, fault?: Fault): Promise<Ended> {
  const flow = defineWorkflow({ name: 'flow', run: (ctx) => interpret(ctx, program, () => undefined) });
  const server: PushedServer = new PushedServer(() => engine);
  const app = defineApp({
    workflows: [flow, child],
    servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
  });
  const engine = new MortalEngine({ app, servers: { reports: server }, seed: ids, ...(fault && { fault }) });
  let runId = '';
  // A start that is repeated with its key must draw the seed of the run again.
  await engine.invoke(async (deps) => {
    ({ runId } = await startRun(deps, { workflow: 'flow', key: 'k' }));
  }, 0);
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

async function expectSame(number: number, one: Case, calm: Ended, at: number): Promise<void> {
  const ended = await run(one, { kind: 'death', at });
  const where = `program ${number} of seed ${seed}, death at call ${at}, ${calm.engine.calls[at] ?? ''}\n${JSON.stringify(one)}`;
  // A wake that dies with its sender is made up for by the sweep, just like one that gets lost.
  const mayBeLate = calm.engine.calls[at] === 'queues.sendTurn';
  if (!(mayBeLate && isEqual(ended, await run(one, { kind: 'loss', at }))))
    expect(ended.outcome, where).toEqual(calm.outcome);
  const starts = ended.keys.map((key) => ended.keys.filter((other) => other === key).length);
  expect(Math.max(0, ...starts), `starts of one call, ${where}`).toBeLessThanOrEqual(2);
  for (const runId of ended.engine.runIds) {
    const sources = (await ended.engine.log(runId)).map(sourceOf);
    const repeated = sources.filter((source, position) => source !== undefined && sources.indexOf(source) !== position);
    expect(repeated, where).toEqual([]);
  }
  expect(await ended.engine.replay(ended.runId), where).toEqual({ kind: 'ended', outcome: ended.outcome });
}

function isEqual(a: Ended, b: Ended): boolean {
  return JSON.stringify(a.outcome) === JSON.stringify(b.outcome);
}

/** One call each of up to five kinds that the program makes, so that rare kinds are met as often as reads and writes. */
function fivePoints(calls: readonly string[], random: () => number): readonly number[] {
  const pick = <Part>(parts: Part[]): Part => parts.splice(Math.floor(random() * parts.length), 1)[0]!;
  const kinds = [...new Set(calls)];
  return Array.from({ length: Math.min(5, kinds.length) }, () => {
    const kind = pick(kinds);
    return pick([...calls.keys()].filter((at) => calls[at] === kind));
  });
}

/**
 * What dies is one process, in place of one call to the table, the queues, the remote server or the delay, once in a run.
 * All programs are tried at up to five of their calls, the first ones at every call. Calls are those of the run without
 * a death, so a call that only a death leads to is not tried; test/simulation has those.
 */
describe('any workflow of steps, sleeps, remote tasks, signals, tokens, children, races and scopes', () => {
  const all = fc.sample(cases, { seed, numRuns: count });

  it(
    `ends the same when its process dies before a call of five kinds, ${count} programs`,
    { timeout: 600_000 },
    async () => {
      const random = seeded(seed);
      for (const [number, one] of all.entries()) {
        const calm = await run(one);
        for (const at of fivePoints(calm.engine.calls, random)) await expectSame(number, one, calm, at);
      }
    },
  );

  it(`ends the same when its process dies before any call, ${tried} programs`, { timeout: 600_000 }, async () => {
    for (const [number, one] of all.slice(0, tried).entries()) {
      const calm = await run(one);
      for (let at = 0; at < calm.engine.calls.length; at++) await expectSame(number, one, calm, at);
    }
  });
});
