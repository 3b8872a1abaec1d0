import { expect, test } from 'vitest';
import { call, play, type Scene } from './scene.js';

// Questions of a remote server: each is asked once and answered once, whichever process dies meanwhile.

const answering: Scene['run'] = async (ctx) =>
  call(ctx, 'r1', { onInput: ({ message }) => ({ action: 'accept', content: message }) });

test('asked before there is a task: a process that dies with the questions recorded leaves no start of unknown fate', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: answering,
    tools: { r1: 60 },
    dedupes: false,
    asks: { r1: { first: 1, then: 0 } },
    script: [{ who: 'turn 1', at: /^put h#0000000002/, what: 'crash' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(world.remote.tasks).toHaveLength(1);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('asked by a task: a lost wake is made up for by the read after it', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: answering,
    tools: { r1: 60 },
    asks: { r1: { first: 0, then: 1 } },
    script: [{ who: 'poll 1', at: /^(turn|wake)/, what: 'drop' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(endedAtS).toBeLessThan(240);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('answer in the log: a process that dies while it delivers has its answer delivered by the next, with the same key', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: answering,
    tools: { r1: 300 },
    asks: { r1: { first: 0, then: 2 } },
    script: [
      { who: 'turn', at: 'answer', what: 'crash' },
      { who: 'turn', at: 'answer', when: (scene) => scene.remote.tasks[0]?.answers.length === 1, what: 'crashAfter' },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(world.remote.tasks[0]?.answers).toHaveLength(2);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('questions taken last: a process that dies before the head has its marker is made up for by the next read', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) =>
      call(ctx, 'r1', {
        onInput: async (_question, inner) => {
          await inner.sleep({ minutes: 3 });
          return { action: 'accept' };
        },
      }),
    tools: { r1: 60 },
    asks: { r1: { first: 0, then: 1 } },
    script: [
      {
        who: 'turn',
        at: /^update a dueSeq/,
        when: (world, runId) => world.log(runId).some(({ type }) => type === 'RemoteQuestionAsked'),
        what: 'crashAndMessageLost',
      },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(endedAtS).toBeLessThan(900);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
