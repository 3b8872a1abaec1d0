import { expect, test } from 'vitest';
import { questionMaxBytes, questionsMax } from '../../../lib/base/limits.js';
import { nextPollAfterErrorMs } from '../../../lib/decide/poll.js';
import { blockedRetryAtMs } from '../../../lib/decide/deadline.js';
import { boundedQuestions, changedQuestions, unseenQuestions } from '../../../lib/decide/questions.js';
import { answerRetryDelayMs, startRetryDelayMs, stepRetryDelayMs } from '../../../lib/decide/retry.js';
import { isYoung, afterMissing, afterUnfit } from '../../../lib/decide/bad-read.js';
import type { HistoryEvent } from '../../../lib/history/event.js';
import { RunState } from '../../../lib/history/run-state.js';
import type { RemoteQuestion } from '../../../lib/history/remote-question.js';
import { fittingCount, newHandles, newQuestions, commitTargetBytes } from '../../../lib/decide/new-events.js';
import { Effects } from '../../../lib/operations/turn/effects.js';
import type { TokenRecord } from '../../../lib/history/records.js';

// Decisions without any IO, at their limits.

const asks = (key: string, message = 'Release?'): RemoteQuestion => ({ key, kind: 'form', message });

test('questions that are taken in: 64 at most, and none that is too large', () => {
  const frame = JSON.stringify(asks('k', '')).length;
  const fits = asks('k', 'x'.repeat(questionMaxBytes - frame));
  expect(boundedQuestions([fits])).toEqual([fits]);
  expect(boundedQuestions([asks('k', 'x'.repeat(questionMaxBytes - frame + 1)), asks('l')])).toEqual([asks('l')]);
  const many = Array.from({ length: questionsMax + 1 }, (_, n) => asks(String(n)));
  expect(boundedQuestions(many)).toEqual(many.slice(0, questionsMax));
});

test('unseen questions: all that is asked now, if one of it is new; keys of before the start are others', () => {
  expect(unseenQuestions(undefined, [])).toBeUndefined();
  expect(unseenQuestions(undefined, [asks('a')])).toEqual([asks('a')]);
  const last = { list: [asks('a')] };
  expect(unseenQuestions(last, [asks('a', 'otherwise')])).toBeUndefined();
  expect(unseenQuestions(last, [asks('a'), asks('b')])).toEqual([asks('a'), asks('b')]);
  expect(unseenQuestions({ ...last, round: 1 }, [asks('a')])).toEqual([asks('a')]);
});

test('changed questions: known keys that now ask something else', () => {
  expect(changedQuestions(undefined, [asks('a')])).toEqual([]);
  expect(changedQuestions({ list: [asks('a'), asks('b')] }, [asks('a'), asks('b', 'no'), asks('c')])).toEqual(['b']);
});

const task = { handle: { server: 'reports', protocol: 'mcp', wire: 'x', taskId: 't' }, createdAtMs: 0 } as const;
const said = { code: 'REMOTE_UNREACHABLE', message: 'Task not found' } as const;

test('missing task: nothing within a minute of its start, by the clock of the reply to it', () => {
  expect(afterMissing({ ...task, startedAtMs: 5_000 }, said, 64_999)).toEqual({ kind: 'open' });
  const first = { of: 'missing', count: 1, atMs: 65_000 } as const;
  expect(afterMissing({ ...task, startedAtMs: 5_000 }, said, 65_000)).toEqual({ kind: 'open', sightings: first });
  expect(afterMissing(task, said, 59_999)).toEqual({ kind: 'open' });
  expect(afterMissing(task, said, 60_000)).toMatchObject({ sightings: { count: 1 } });
});

test('missing task: three sightings in a row, ten seconds apart, end the wait', () => {
  const seen = { of: 'missing', count: 2, atMs: 100_000 } as const;
  expect(afterMissing({ ...task, sightings: seen }, said, 109_999)).toEqual({ kind: 'open', sightings: seen });
  expect(afterMissing({ ...task, sightings: seen }, said, 110_000)).toMatchObject({
    kind: 'over',
    error: { code: 'REMOTE_TASK_LOST', details: { server: 'reports', taskId: 't', phase: 'run', state: 'missing' } },
  });
  const other = { ...seen, of: 'unfit' } as const;
  expect(afterMissing({ ...task, sightings: other }, said, 110_000)).toMatchObject({ sightings: { count: 1 } });
});

test('missing task: it has expired once its time to live is over, the one that was said last', () => {
  const kept = { ...task, handle: { ...task.handle, ttlMs: 50_000 } };
  expect(afterMissing(kept, said, 49_999)).toEqual({ kind: 'open' });
  expect(afterMissing(kept, said, 50_000)).toMatchObject({ kind: 'over', error: { code: 'REMOTE_TASK_EXPIRED' } });
  expect(afterMissing({ ...kept, ttlMs: 55_000 }, said, 54_999)).toEqual({ kind: 'open' });
  expect(afterMissing({ ...kept, ttlMs: 55_000 }, said, 55_000)).toMatchObject({
    error: { details: { ttlMs: 55_000 } },
  });
});

test('unfit reply: the third in a row ends the wait with its reason', () => {
  const large = { code: 'PAYLOAD_TOO_LARGE', message: 'too large', details: { bytes: 9 } } as const;
  expect(afterUnfit(task, large, 1)).toEqual({ kind: 'open', sightings: { of: 'unfit', count: 1, atMs: 1 } });
  const seen = { of: 'unfit', count: 2, atMs: 1 } as const;
  expect(afterUnfit({ ...task, sightings: seen }, large, 10_001)).toMatchObject({
    kind: 'over',
    error: { code: 'PAYLOAD_TOO_LARGE', details: { bytes: 9, taskId: 't' } },
  });
});

test('retries: their number, their delays and what the other side asks for', () => {
  expect([1, 2, 3, 4, 5].map((attempt) => startRetryDelayMs(attempt))).toEqual([1_000, 2_000, 4_000, 8_000, undefined]);
  expect(startRetryDelayMs(1, 1_500)).toBe(1_500);
  expect([1, 2, 9, 10, 99].map((attempt) => answerRetryDelayMs(attempt))).toEqual([
    ...[1_000, 2_000, 256_000],
    ...[300_000, 300_000],
  ]);
  expect(answerRetryDelayMs(99, 400_000)).toBe(400_000);
  const policy = { maxAttempts: 3, initialIntervalMs: 100, maxIntervalMs: 150, jitter: 0.5 };
  expect([1, 2, 3].map((attempt) => stepRetryDelayMs(policy, attempt, 0))).toEqual([100, 150, undefined]);
  expect(stepRetryDelayMs(policy, 1, 0.5)).toBe(75);
  expect(stepRetryDelayMs(policy, 1, 0.5, 80)).toBe(80);
});

const token: TokenRecord = { runId: 'r', waitId: '1', attempt: 1, writerId: 'w', createdAtMs: 1, pollErrors: 0 };
const settlement = {
  ...({ writerId: 's', atMs: 1, by: 'poll', outcome: { kind: 'completed', result: 1, isError: false } } as const),
};

/** Creates a run that waits for a remote task, and its token. */
function waiting(more: Partial<TokenRecord>, events: readonly HistoryEvent[] = []) {
  const state = new RunState();
  const requested = { type: 'RemoteTaskRequested', atMs: 1, waitId: '1', server: 'reports', name: 't' } as const;
  state.applyCommit(1, [{ ...requested, digest: '', deadlineAtMs: 9 }, ...events]);
  const known = { state, tokens: new Map([['1', { ...token, ...more }]]), requests: [], isWaitedFor: () => true };
  return known as Parameters<typeof newHandles>[0];
}
const listed = (...list: RemoteQuestion[]) => ({ questions: { list, recorded: 1, taken: 0 } });

test('handles that came since the last commit: each once', () => {
  expect(newHandles(waiting({}))).toEqual([]);
  expect(newHandles(waiting({ handle: task.handle, startedAtMs: 7 }))).toEqual([
    { type: 'RemoteTaskStarted', atMs: 7, waitId: '1', handle: task.handle },
  ]);
  expect(newHandles(waiting({ handle: task.handle }))).toMatchObject([{ atMs: 1 }]);
  const started: HistoryEvent = { type: 'RemoteTaskStarted', atMs: 7, waitId: '1', handle: task.handle };
  expect(newHandles(waiting({ handle: task.handle }, [started]))).toEqual([]);
});

test('questions that the log does not have: of open waits, each once', () => {
  const first: HistoryEvent = { type: 'RemoteQuestionAsked', atMs: 2, waitId: '1', question: asks('a') };
  expect(newQuestions(waiting({}), 5)).toEqual([]);
  expect(newQuestions(waiting(listed(asks('a'), asks('b')), [first]), 5)).toEqual([
    { type: 'RemoteQuestionAsked', atMs: 5, waitId: '1', question: asks('b') },
  ]);
  expect(newQuestions(waiting({ ...listed(asks('a')), settlement }), 5)).toEqual([]);
  // Another round makes it another question.
  const asked = { questions: { list: [asks('a')], recorded: 1, taken: 0, round: 2 } };
  expect(newQuestions(waiting(asked, [first]), 5)).toMatchObject([{ question: asks('a'), round: 2 }]);
});

test('questions that the log does not have: as many as one commit holds, and one at least', () => {
  const large = Array.from({ length: 8 }, (_, n) => asks(String(n), 'x'.repeat(60_000)));
  const taken = newQuestions(waiting(listed(...large)), 5);
  expect(taken).toHaveLength(Math.floor(commitTargetBytes / 60_060));
  expect(newQuestions(waiting(listed(asks('a', 'x'.repeat(commitTargetBytes)))), 5)).toHaveLength(1);
});

test('events of one commit: as many as fit, and one at least', () => {
  const result = (bytes: number): HistoryEvent => ({
    ...({ type: 'StepCompleted', atMs: 1, waitId: '1', attempt: 1, result: 'x'.repeat(bytes - 2) } as const),
  });
  expect(fittingCount([])).toBe(0);
  expect(fittingCount([result(commitTargetBytes * 2), result(10)])).toBe(1);
  expect(fittingCount([result(100_000), result(100_000), result(100_000), result(100_000)])).toBe(3);
});

test('young task: a minute from the reply to its start; an item without that instant counts from the end of its wait', () => {
  const age = { createdAtMs: 0, settlement: { atMs: 500_000 } };
  expect([isYoung(age, 559_999), isYoung(age, 560_000)]).toEqual([true, false]);
  const replied = { ...age, startedAtMs: 510_000 };
  expect([isYoung(replied, 569_999), isYoung(replied, 570_000)]).toEqual([true, false]);
  expect([isYoung({ createdAtMs: 0 }, 59_999), isYoung({ createdAtMs: 0 }, 60_000)]).toEqual([true, false]);
});

test('retry now: whatever waits for its next attempt has it due at once, an answer to a server too', () => {
  const state = new RunState();
  const error = { code: 'REMOTE_UNREACHABLE', message: 'no' } as const;
  const failed = { atMs: 2, attempt: 1, error, retryAtMs: 900_000 };
  const call = { waitId: '2', server: 'reports', digest: 'd', deadlineAtMs: 990_000 };
  state.applyCommit(1, [
    { type: 'StepRequested', atMs: 1, waitId: '1', name: 'work' },
    { type: 'RemoteTaskRequested', atMs: 1, name: 'export', ...call },
    {
      type: 'RemoteAnswerRequested',
      atMs: 1,
      waitId: '3',
      callId: '2',
      questionId: 'q',
      answer: { action: 'cancel' },
      digest: 'd',
    },
    { type: 'StepRequested', atMs: 1, waitId: '4', name: 'under way' },
    { type: 'StepAttemptFailed', waitId: '1', ...failed },
    { type: 'RemoteTaskStartFailed', waitId: '2', ...failed },
    { type: 'RemoteAnswerFailed', waitId: '3', ...failed },
  ]);
  state.applyCommit(2, [{ type: 'RetryNowRequested', atMs: 5_000, inboxId: 'retryNow-1' }]);
  const due = [...state.open.values()].map((wait) => ('retryAtMs' in wait ? wait.retryAtMs : undefined));
  expect(due).toEqual([5_000, 5_000, 5_000, undefined]);
});

test('read after one that failed: never sooner than the server asked after a good one', () => {
  const token = { createdAtMs: 0, deadlineAtMs: 9_000_000, pollErrors: 0 };
  expect(nextPollAfterErrorMs(token, 0, 1)).toBe(10_000);
  expect(nextPollAfterErrorMs({ ...token, pollHintMs: 200_000 }, 0, 1)).toBe(200_000);
  expect(nextPollAfterErrorMs({ ...token, pollHintMs: 200_000 }, 0, 1, 400_000)).toBe(400_000);
});

test('next look at a blocked run: at its deadline at the latest, and not at once where that has passed', () => {
  expect(blockedRetryAtMs(0, 120_000, { deadlineAtMs: 150_000 })).toBe(150_000);
  expect(blockedRetryAtMs(0, 120_000, { deadlineAtMs: 120_000 })).toBe(240_000);
  expect(blockedRetryAtMs(0, 120_000, { deadlineAtMs: 60_000 })).toBe(240_000);
});

test('starts of a step that died with their processes: those of an attempt that has ended do not count for the next', () => {
  const state = new RunState();
  const error = { code: 'STEP_FAILED', message: 'no' } as const;
  state.applyCommit(1, [
    { type: 'StepRequested', atMs: 1, waitId: '1', name: 'work' },
    { type: 'StepStarted', atMs: 2, waitId: '1', attempt: 1 },
    { type: 'StepStarted', atMs: 3, waitId: '1', attempt: 1 },
  ]);
  expect(state.open.get('1')).toMatchObject({ begun: 2, interrupted: 2 });
  state.applyCommit(2, [{ type: 'StepAttemptFailed', atMs: 4, waitId: '1', attempt: 1, error, retryAtMs: 9 }]);
  expect(state.open.get('1')).toMatchObject({ begun: 0, interrupted: 0 });
});

test('start of unknown fate: no task is looked for any more once the server, which dedupes by now, has turned a repeat away', () => {
  const state = new RunState();
  const error = { code: 'REMOTE_UNREACHABLE', message: 'no' } as const;
  state.applyCommit(1, [
    { type: 'RemoteTaskRequested', atMs: 1, waitId: '1', server: 'r', name: 't', digest: 'd', deadlineAtMs: 99 },
    { type: 'RemoteTaskStartLost', atMs: 2, waitId: '1', attempt: 1, error, look: 1, lookAtMs: 4 },
  ]);
  expect(state.open.get('1')).toMatchObject({ look: 1, retryAtMs: 4 });
  state.applyCommit(2, [{ type: 'RemoteTaskStartFailed', atMs: 5, waitId: '1', attempt: 1, error, retryAtMs: 9 }]);
  expect(state.open.get('1')).toMatchObject({ look: undefined, failedAttempts: 1, retryAtMs: 9 });
});

test('waits that are closed: one with a token stays open until that is settled, whatever else says that it is closed', () => {
  const state = new RunState();
  state.applyCommit(1, [
    { type: 'StepRequested', atMs: 1, waitId: '1', name: 'work', long: true },
    { type: 'TimerStarted', atMs: 1, waitId: '2', firesAtMs: 9 },
    { type: 'WaitsClosed', atMs: 1, waitIds: ['1', '2'] },
  ]);
  expect([[...state.open.keys()], [...state.openTokens.keys()]]).toEqual([['1'], ['1']]);
  state.applyCommit(2, [{ type: 'TokenSettled', atMs: 2, waitId: '1' }]);
  expect([state.open.size, state.openTokens.size]).toEqual([0, 0]);
});

test('start of a step that is announced: it is the last one in the log and that of this turn, or it is announced again', () => {
  const state = new RunState();
  const work = new Effects();
  const start = { type: 'StepStarted', atMs: 2, waitId: '1', attempt: 1 } as const;
  const isAnnounced = () => {
    const wait = state.open.get('1');
    return wait?.kind === 'step' && work.isAnnounced(wait);
  };
  state.applyCommit(1, [{ type: 'StepRequested', atMs: 1, waitId: '1', name: 'work' }, start]);
  expect(isAnnounced()).toBe(false);
  work.committed([start], state);
  expect(isAnnounced()).toBe(true);
  // Another turn has begun it since.
  state.applyCommit(2, [start]);
  expect(isAnnounced()).toBe(false);
});
