import { expect, test } from 'vitest';
import { answerQuestion } from '../../../lib/operations/requests/answer-question.js';
import { play, type Line, type Played, type Scene } from './scene.js';

// Notices of questions: each is sent at least once while its question is open, under one id, and not after the answer.

const asking: Scene['run'] = async (ctx) =>
  (
    await ctx.ask({
      message: 'well?',
      timeout: { minutes: 9 },
      to: 'desk',
      remindAfter: { minutes: 2 },
      escalate: { after: { minutes: 3 }, to: 'boss' },
    })
  ).action;

/** Plays a question that is not answered, whose receivers answer. */
async function asked(...script: readonly Line[]): Promise<Played> {
  const played = await play({
    run: async (ctx) =>
      asking(ctx, undefined as never, undefined as never).catch((error: unknown) => (error as { code: string }).code),
    script,
  });
  expect(played.outcome).toEqual({ status: 'completed', result: 'INPUT_TIMED_OUT' });
  expect(played.violations).toBe('');
  expect(played.unplayed).toEqual([]);
  return played;
}

const ids = ({ world, runId }: Played): readonly string[] =>
  world.notices.map(({ id }) => id.replace(`${runId}_1_`, ''));

test('NOTICE each is sent once: question, reminders, second addressee', async () => {
  const played = await asked();
  expect(ids(played)).toEqual(['0_0', '0_1', '1_0', '0_2', '1_1', '0_3', '1_2', '0_4']);
  expect(played.world.secondsOf(played.world.notices[0]?.atMs ?? Infinity)).toBeLessThan(5);
});

test.each([
  ['the item of the question', { who: 'turn', at: /^put t#/ }],
  ['the claim', { who: 'poll', at: /^update t#\S+ .*notices/ }],
  ['the notice', { who: 'poll', at: /^notice/ }],
] as const)('NOTICE crash at %s: it is sent all the same', async (_, where) => {
  for (const what of ['crash', 'crashAfter'] as const) {
    if (what === 'crashAfter' && where.who === 'turn') continue;
    const played = await asked({ ...where, what });
    expect(new Set(ids(played))).toContain('0_0');
    expect(new Set(ids(played))).toContain('1_0');
  }
});

test('NOTICE taken twice: a worker that dies before it records a notice leaves it to be sent again, with its id', async () => {
  const played = await asked({ who: 'poll', at: /^notice/, what: 'crashAfter' });
  expect(ids(played).filter((id) => id === '0_0')).toHaveLength(2);
});

test('NOTICE lost message: the sweep sends it', async () => {
  const played = await asked({ who: 'turn', at: /^poll/, what: 'drop' });
  const first = played.world.notices[0];
  expect(ids(played)[0]).toBe('0_0');
  expect(played.world.secondsOf(first?.atMs ?? Infinity)).toBeLessThan(70);
});

test('NOTICE doubled message: one worker sends it', async () => {
  const played = await asked({ who: 'turn', at: /^poll/, what: 'duplicate' });
  expect(ids(played).filter((id) => id === '0_0')).toHaveLength(1);
});

test('NOTICE two workers: of two that have read the same, one sends', async () => {
  const played = await asked(
    { who: 'turn', at: /^poll/, what: 'duplicate' },
    {
      who: 'poll 1',
      at: /^update t#/,
      what: { freezeUntil: ({ world }) => world.notices.length > 0 && world.seconds > 3 },
    },
  );
  expect(ids(played).filter((id) => id === '0_0')).toHaveLength(1);
});

test('NOTICE late result: a worker that records it after the next notice was scheduled leaves that one alone', async () => {
  const played = await asked({
    who: 'poll',
    at: /^update t#/,
    when: ({ notices }) => notices.length > 0,
    what: { freezeUntil: ({ world }) => world.seconds > 100 },
  });
  expect(ids(played)).toEqual(expect.arrayContaining(['0_0', '0_1', '0_2', '0_3']));
});

test('NOTICE after the answer: nothing is sent by a worker that has not claimed it', async () => {
  const played = await play({
    run: asking,
    callers: (world, runId) => {
      world.atSecond(125, () => {
        world.request('answerer', async (deps) => {
          await answerQuestion(deps, `${runId}.1`, { action: 'decline' });
        });
      });
    },
    script: [
      {
        who: 'poll',
        at: /^update t#/,
        when: (world) => world.seconds > 115,
        what: { freezeUntil: ({ token }) => token('1')?.settlement !== undefined },
      },
    ],
  });
  expect(played.outcome).toEqual({ status: 'completed', result: 'decline' });
  expect(ids(played)).toEqual(['0_0']);
  expect(played.unplayed).toEqual([]);
});
