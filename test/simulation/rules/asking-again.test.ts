import { expect, test } from 'vitest';
import { call, play } from './scene.js';

// Starts that end with questions.

test('rounds are no failed attempts: a start that fails after four rounds of questions is tried again', async () => {
  const { world, outcome, log, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1', { onInput: () => ({ action: 'accept' }) }),
    tools: { r1: 30 },
    asks: { r1: { first: 4, then: 0 } },
    script: Array.from({ length: 4 }, () => ({
      who: 'turn',
      at: 'start r1',
      when: (now, runId) => now.log(runId).filter(({ type }) => type === 'RemoteTaskStartAsked').length === 4,
      what: 'refused' as const,
    })),
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(log.flatMap((event) => (event.type === 'RemoteTaskStartFailed' ? [event.attempt] : []))).toEqual([5, 6, 7, 8]);
  // Each waits twice as long as the one before it, beginning with a second.
  const waitsMs = log.flatMap((event) =>
    event.type === 'RemoteTaskStartFailed' ? [event.retryAtMs - event.atMs] : [],
  );
  expect(waitsMs).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(world.remote.tasks).toHaveLength(1);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('last attempt that was sent: the start is ambiguous, though all before it were turned away', async () => {
  const { outcome, log, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    script: [
      ...Array.from({ length: 4 }, () => ({ who: 'turn', at: 'start r1', what: 'refused' as const })),
      { who: 'turn', at: 'start r1', what: 'noReply' },
    ],
  });
  expect(log.filter(({ type }) => type === 'RemoteTaskStartFailed')).toHaveLength(4);
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
