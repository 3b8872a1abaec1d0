import { expect, test } from 'vitest';
import type { JsonValue } from '../../lib/base/json.js';
import type { HistoryEvent } from '../../lib/history/event.js';
import { newExecution, runStarted, type Run } from '../replay/replaying.js';

// Replay compares what the history says with what the code does now, and applies nothing after the first difference.

const twoWaits =
  (isForFirst: (payload: JsonValue) => boolean): Run =>
  async (ctx) => {
    const first = ctx.signal('go', { where: isForFirst });
    const second = ctx.signal('go');
    await ctx.step(`after ${await Promise.race([first.then(() => 'first'), second.then(() => 'second')])}`, () => 1);
  };

/** The first wait was given the signal. */
const given: readonly HistoryEvent[] = [
  runStarted(),
  { type: 'SignalWaitStarted', atMs: 0, waitId: '1', name: 'go' },
  { type: 'SignalWaitStarted', atMs: 0, waitId: '2', name: 'go' },
  { type: 'SignalReceived', atMs: 1, inboxId: 'signal-2-go-k', name: 'go' },
  { type: 'SignalDelivered', atMs: 1, waitId: '1', inboxId: 'signal-2-go-k' },
];

async function replayed(run: Run, events = given) {
  const execution = newExecution(run);
  for (const event of events) await execution.apply(event);
  return execution;
}

test('signal delivery: code that gives a recorded signal to another wait does not fit the history', async () => {
  expect((await replayed(twoWaits(() => true))).status).toEqual({ kind: 'waiting' });
  expect((await replayed(twoWaits(() => false))).status).toMatchObject({
    kind: 'blocked',
    error: { code: 'NONDETERMINISM', details: { waitId: '1', inboxId: 'signal-2-go-k' } },
  });
});
