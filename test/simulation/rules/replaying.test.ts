import { expect, test } from 'vitest';
import type { JsonValue } from '../../../lib/base/json.js';
import type { HistoryEvent } from '../../../lib/history/event.js';
import { replayBehaviors } from '../../../lib/replay/execution.js';
import { newExecution, runStarted, type Run } from '../../replay/replaying.js';

// Replay compares the history with what the code does now, and applies nothing after the first difference.

const twoWaits =
  (isForFirst: (payload: JsonValue) => boolean): Run =>
  async (ctx) => {
    const first = ctx.signal('go', { where: isForFirst });
    const second = ctx.signal('go');
    await ctx.step(`after ${await Promise.race([first.then(() => 'first'), second.then(() => 'second')])}`, () => 1);
  };

/** The first wait received the signal. */
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

test('signal delivery: code that gives a wait another signal does not fit the history', async () => {
  const firstOf =
    (from: number): Run =>
    async (ctx) => {
      let seen = 0;
      await ctx.sleep({ seconds: 60 });
      await ctx.signal('go', { where: () => ++seen > from });
      await ctx.sleep({ seconds: 60 });
    };
  const events: readonly HistoryEvent[] = [
    runStarted(),
    { type: 'TimerStarted', atMs: 0, waitId: '1', firesAtMs: 60_000 },
    { type: 'SignalReceived', atMs: 1, inboxId: 'one', name: 'go' },
    { type: 'SignalReceived', atMs: 2, inboxId: 'two', name: 'go' },
    { type: 'TimerFired', atMs: 60_000, waitId: '1' },
    { type: 'SignalWaitStarted', atMs: 60_000, waitId: '2', name: 'go' },
    { type: 'SignalDelivered', atMs: 60_000, waitId: '2', inboxId: 'two' },
  ];
  expect((await replayed(firstOf(1), events)).status).toEqual({ kind: 'waiting' });
  expect((await replayed(firstOf(0), events)).status).toMatchObject({
    kind: 'blocked',
    error: { code: 'NONDETERMINISM', details: { inboxId: 'two' } },
  });
});

test('history of rules that this version does not know: the run is blocked, and none of its code runs', async () => {
  let ran = false;
  const execution = await replayed(async () => {
    ran = true;
  }, [{ ...runStarted(), behaviors: replayBehaviors + 1 } as HistoryEvent]);
  expect(execution.status).toMatchObject({ kind: 'blocked', error: { code: 'HISTORY_FORMAT_UNKNOWN' } });
  expect(ran).toBe(false);
});

test('events of waits that nobody has: they change nothing', async () => {
  const execution = await replayed(
    async (ctx) => ctx.sleep({ seconds: 60 }),
    [
      runStarted(),
      { type: 'TimerStarted', atMs: 0, waitId: '1', firesAtMs: 60_000 },
      { type: 'ExternalWaitIssued', atMs: 1, waitId: '9', keyId: 'k' },
      { type: 'RemoteQuestionAsked', atMs: 1, waitId: '9', question: { key: 'q', kind: 'form', message: 'Release?' } },
    ],
  );
  expect(execution.status).toEqual({ kind: 'waiting' });
});
