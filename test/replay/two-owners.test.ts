import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { programs, type Program } from './program.js';
import { faultsOfLogs, mostStarts, runProgram, type Case } from './run-program.js';

const step = (name: string): Program => ({ kind: 'step', name, end: 'result' });
const remote = (seconds: number): Program => ({ kind: 'remote', call: 0, seconds, end: 'result' });
const sequence = (...parts: Program[]): Program => ({ kind: 'together', how: 'sequence', parts });
const all = (...parts: Program[]): Program => ({ kind: 'together', how: 'all', parts });

const children = [20, 40].map((seconds): Program => ({ kind: 'child', seconds, end: 'result', timeoutSeconds: 300 }));
const raced: Program = { kind: 'raced', parts: [remote(30), remote(90), { kind: 'sleep', seconds: 60 }] };
const undoing: Program = { kind: 'finally', body: remote(300), cleanup: { kind: 'shielded', body: step('undo') } };

interface Named {
  readonly name: string;
  readonly program: Program;
  readonly cancelAfter?: number;
  /** Minimum number of calls that its turns make. */
  readonly least: number;
}

const named: readonly Named[] = [
  { name: 'steps in a row', program: sequence(step('a'), step('b'), step('c')), least: 10 },
  {
    name: 'parallel steps',
    program: all(step('a'), step('b'), { kind: 'step', name: 'c', end: 'secondAttempt' }),
    least: 8,
  },
  { name: 'a remote task', program: sequence(step('a'), remote(40), step('b')), least: 15 },
  {
    name: 'parallel remote tasks',
    program: all(remote(20), remote(40), sequence(remote(60), step('a'))),
    least: 25,
  },
  {
    name: 'a signal and a timer',
    program: all({ kind: 'signal', name: 'x', seconds: 300 }, { kind: 'sleep', seconds: 50 }),
    least: 15,
  },
  {
    name: 'a token that times out',
    program: { kind: 'catch', body: { kind: 'token', seconds: 60 }, instead: step('a') },
    least: 15,
  },
  { name: 'children', program: all(...children), least: 25 },
  { name: 'a race whose losers are stopped', program: sequence(raced, step('a')), least: 20 },
  { name: 'a cancel with cleanup', program: undoing, cancelAfter: 50, least: 15 },
];

/** Runs the case with a complete second turn of the same run before each call that a turn makes, one call at a time. */
async function tryEach(one: Case, onTry: (call: string, refused: number) => void = () => undefined): Promise<number> {
  const calm = await runProgram(one);
  expect(calm.engine.refusedCommits).toBe(0);
  const points = [...calm.engine.callsOfTurns];
  for (const at of points) {
    const ended = await runProgram(one, { kind: 'secondOwner', at });
    const call = calm.engine.calls[at] ?? '';
    const where = `a second owner before call ${at}, ${call}\n${JSON.stringify(one)}`;
    expect(ended.outcome, where).toEqual(calm.outcome);
    expect(await faultsOfLogs(ended.engine), where).toEqual([]);
    expect(mostStarts(ended.keys), `starts of one call, ${where}`).toBeLessThanOrEqual(2);
    expect(await ended.engine.replay(ended.runId), where).toEqual({ kind: 'ended', outcome: ended.outcome });
    onTry(call, ended.engine.refusedCommits);
  }
  return points.length;
}

describe('two owners of one run, one of which takes a whole turn between two calls of the other', () => {
  it.each(named)(
    'record everything once: $name (EN-34)',
    { timeout: 120_000 },
    async ({ program, cancelAfter, least }) => {
      const refusals: [call: string, refused: number][] = [];
      const tried = await tryEach({ program, seed: 7, cancelAfter }, (...one) => refusals.push(one));
      expect(tried).toBeGreaterThanOrEqual(least);
      // The second owner finds its commit refused, and reads again.
      const atCommits = refusals.filter(([call]) => call === 'table.commit');
      expect(atCommits.length).toBeGreaterThan(0);
      expect(atCommits.filter(([, refused]) => refused === 0)).toEqual([]);
    },
  );

  it('record everything once in random workflows', { timeout: 600_000 }, async () => {
    const cases = fc.record<Case>({ program: programs, seed: fc.nat(1_000_000), cancelAfter: fc.constant(undefined) });
    const seed = Number(process.env['PROGRAMS_SEED'] ?? 1);
    for (const one of fc.sample(cases, { seed, numRuns: 12 })) await tryEach(one);
  });
});
