import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seeded } from '../simulation/random.js';
import { programs } from './program.js';
import { faultsOfLogs, mostStarts, runProgram, type Case, type Ended } from './run-program.js';

const seed = Number(process.env['PROGRAMS_SEED'] ?? 1);
const count = Number(process.env['PROGRAMS'] ?? 1_000);
/** A program makes about a hundred calls; this many of the programs are tried with a death at each of them. */
const tried = Math.min(count, Number(process.env['PROGRAMS_TRIED_WHOLE'] ?? 15));

const cases = fc.record<Case>({
  program: programs,
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  cancelAfter: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
});

async function expectSame(number: number, one: Case, calm: Ended, at: number): Promise<void> {
  const ended = await runProgram(one, { kind: 'death', at });
  const where = `program ${number} of seed ${seed}, death at call ${at}, ${calm.engine.calls[at] ?? ''}\n${JSON.stringify(one)}`;
  // The sweep makes up for a wake that dies with its sender, just as for one that is lost.
  const mayBeLate = calm.engine.calls[at] === 'queues.sendTurn';
  if (!(mayBeLate && isEqual(ended, await runProgram(one, { kind: 'loss', at }))))
    expect(ended.outcome, where).toEqual(calm.outcome);
  expect(mostStarts(ended.keys), `starts of one call, ${where}`).toBeLessThanOrEqual(2);
  expect(await faultsOfLogs(ended.engine), where).toEqual([]);
  expect(await ended.engine.replay(ended.runId), where).toEqual({ kind: 'ended', outcome: ended.outcome });
}

function isEqual(a: Ended, b: Ended): boolean {
  return JSON.stringify(a.outcome) === JSON.stringify(b.outcome);
}

/**
 * Picks one call of each of up to five kinds that the program makes, so that rare kinds are tried as often as reads and
 * writes.
 */
function fivePoints(calls: readonly string[], random: () => number): readonly number[] {
  const pick = <Part>(parts: Part[]): Part => parts.splice(Math.floor(random() * parts.length), 1)[0]!;
  const kinds = [...new Set(calls)];
  return Array.from({ length: Math.min(5, kinds.length) }, () => {
    const kind = pick(kinds);
    return pick([...calls.keys()].filter((at) => calls[at] === kind));
  });
}

/**
 * Each run has one death of a process, in place of one call to the table, the queues, the remote server or the delay.
 * All programs are tried at up to five of their calls, the first ones at every call. The calls are those of the run
 * without a death, so a call that only a death leads to is not tried here; test/simulation covers those.
 */
describe('any workflow of steps, sleeps, remote tasks, signals, tokens, children, races and scopes', () => {
  const all = fc.sample(cases, { seed, numRuns: count });

  it(
    `ends the same when its process dies before a call of five kinds, ${count} programs`,
    { timeout: 600_000 },
    async () => {
      const random = seeded(seed);
      for (const [number, one] of all.entries()) {
        const calm = await runProgram(one);
        for (const at of fivePoints(calm.engine.calls, random)) await expectSame(number, one, calm, at);
      }
    },
  );

  it(
    `ends the same when its process dies before any call, ${tried} programs (EN-34)`,
    { timeout: 600_000 },
    async () => {
      for (const [number, one] of all.slice(0, tried).entries()) {
        const calm = await runProgram(one);
        for (let at = 0; at < calm.engine.calls.length; at++) await expectSame(number, one, calm, at);
      }
    },
  );
});
