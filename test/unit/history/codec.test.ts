import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/base/json.js';
import { decodeEvents, encodeEvents } from '../../../lib/history/codec.js';
import type { HistoryEvent } from '../../../lib/history/event.js';

const oneOfEach: readonly HistoryEvent[] = [
  { type: 'RunStarted', atMs: 1, workflow: 'flow', version: '1', behaviors: 1 },
  { type: 'StepRequested', atMs: 1, waitId: '1', name: 'a' },
  {
    type: 'StepAttemptFailed',
    atMs: 2,
    waitId: '1',
    attempt: 1,
    error: { code: 'STEP_FAILED', message: 'no' },
    retryAtMs: 3,
  },
  { type: 'StepCompleted', atMs: 4, waitId: '1', attempt: 2, result: { rows: [1, null] } },
  { type: 'StepFailed', atMs: 4, waitId: '2', attempt: 5, error: { code: 'STEP_FAILED', message: 'no' } },
  { type: 'TimerStarted', atMs: 4, waitId: '3', firesAtMs: 9 },
  { type: 'TimerFired', atMs: 9, waitId: '3' },
  { type: 'RemoteTaskRequested', atMs: 9, waitId: '4', server: 's', name: 't', digest: 'd', deadlineAtMs: 99 },
  {
    type: 'RemoteTaskStarted',
    atMs: 10,
    waitId: '4',
    handle: { server: 's', protocol: 'mcp', wire: '2026-07-28', taskId: 'x' },
  },
  {
    type: 'RemoteTaskStartFailed',
    atMs: 10,
    waitId: '4',
    attempt: 1,
    error: { code: 'REMOTE_UNREACHABLE', message: 'no' },
    retryAtMs: 11,
    sent: true,
  },
  {
    type: 'RemoteTaskStartLost',
    atMs: 11,
    waitId: '4',
    attempt: 1,
    error: { code: 'REMOTE_UNREACHABLE', message: 'no' },
    look: 1,
    lookAtMs: 13,
  },
  { type: 'TokenSettled', atMs: 12, waitId: '4' },
  { type: 'CancelRequested', atMs: 13, inboxId: 'cancel-1', reason: 'too dear' },
  { type: 'TerminateRequested', atMs: 13, inboxId: 'terminate-1' },
  { type: 'StepStarted', atMs: 13, waitId: '5', attempt: 1 },
  { type: 'SignalWaitStarted', atMs: 13, waitId: '6', name: 'go', deadlineAtMs: 20 },
  { type: 'SignalWaitTimedOut', atMs: 13, waitId: '6' },
  { type: 'SignalReceived', atMs: 13, inboxId: 'signal-go-1', name: 'go' },
  { type: 'SignalDelivered', atMs: 13, waitId: '7', inboxId: 'signal-go-1' },
  { type: 'ExternalWaitRequested', atMs: 13, waitId: '8', name: 'approval' },
  { type: 'ExternalWaitIssued', atMs: 13, waitId: '8', keyId: 'k1' },
  {
    type: 'ChildRequested',
    atMs: 13,
    waitId: '9',
    workflow: 'child',
    digest: 'd',
    childRunId: '0'.repeat(32),
    parentClose: 'cancel',
  },
  { type: 'ChildStarted', atMs: 13, waitId: '9' },
  { type: 'PatchRecorded', atMs: 13, patchId: 'p' },
  { type: 'ProgressReported', atMs: 13, progress: { done: 1 } },
  { type: 'RunPaused', atMs: 13, inboxId: 'pause-1', untilMs: 99 },
  { type: 'RunResumed', atMs: 13, inboxId: 'resume-1' },
  {
    type: 'RemoteTaskProgressed',
    atMs: 6,
    waitId: '4',
    number: 1,
    shown: { state: 'working', message: 'half', progress: 5, total: 10, atMs: 6 },
  },
  { type: 'RemoteTaskStartAsked', atMs: 5, waitId: '3', attempt: 1, round: 1 },
  {
    type: 'RemoteQuestionAsked',
    atMs: 5,
    waitId: '3',
    round: 1,
    question: { key: 'q', kind: 'form', message: 'Which?' },
  },
  {
    type: 'RemoteAnswerRequested',
    atMs: 5,
    waitId: '9',
    callId: '3',
    questionId: 'start 1 q',
    answer: { action: 'accept', content: { which: 1 } },
    digest: 'd',
  },
  {
    type: 'RemoteAnswerFailed',
    atMs: 5,
    waitId: '9',
    attempt: 1,
    error: { code: 'REMOTE_UNREACHABLE', message: 'no' },
    retryAtMs: 6,
  },
  { type: 'RemoteAnswerDelivered', atMs: 6, waitId: '9' },
  { type: 'RemoteAnswerRefused', atMs: 6, waitId: '10', error: { code: 'REMOTE_ANSWER_REFUSED', message: 'no' } },
  { type: 'WaitsClosed', atMs: 6, waitIds: ['11', '12'] },
  { type: 'RetryNowRequested', atMs: 13, inboxId: 'retryNow-1' },
  {
    type: 'ArtifactUpdated',
    atMs: 13,
    artifact: { artifactId: 'rows', name: 'Rows', parts: [{ data: [1] }] },
    append: true,
    lastChunk: true,
  },
  { type: 'MessageReceived', atMs: 13, inboxId: 'message-m1', answers: '4', by: 'ann' },
  { type: 'RunEnding', atMs: 14, outcome: { status: 'completed', result: 1 } },
  { type: 'RunEnded', atMs: 14, status: 'completed' },
];

/** Does not compile without each kind of event. */
const every: Record<HistoryEvent['type'], true> = {
  RunStarted: true,
  StepRequested: true,
  StepStarted: true,
  StepAttemptFailed: true,
  StepCompleted: true,
  StepFailed: true,
  TimerStarted: true,
  TimerFired: true,
  RemoteTaskRequested: true,
  RemoteTaskStarted: true,
  RemoteTaskStartFailed: true,
  RemoteTaskStartLost: true,
  RemoteTaskStartAsked: true,
  RemoteTaskProgressed: true,
  RemoteQuestionAsked: true,
  RemoteAnswerRequested: true,
  RemoteAnswerFailed: true,
  RemoteAnswerDelivered: true,
  RemoteAnswerRefused: true,
  TokenSettled: true,
  SignalWaitStarted: true,
  SignalWaitTimedOut: true,
  SignalReceived: true,
  SignalDelivered: true,
  WaitsClosed: true,
  ExternalWaitRequested: true,
  ExternalWaitIssued: true,
  ChildRequested: true,
  ChildStarted: true,
  PatchRecorded: true,
  ProgressReported: true,
  ArtifactUpdated: true,
  MessageReceived: true,
  RunPaused: true,
  RunResumed: true,
  RetryNowRequested: true,
  CancelRequested: true,
  TerminateRequested: true,
  RunEnding: true,
  RunEnded: true,
};

describe('the events of a commit', () => {
  it('come back as they were, also through JSON', () => {
    expect(decodeEvents(JSON.parse(JSON.stringify(encodeEvents(oneOfEach))) as JsonValue)).toEqual(oneOfEach);
  });

  it('are of every kind that there is', () => {
    expect(Object.keys(every).sort()).toEqual([...new Set(oneOfEach.map(({ type }) => type))].sort());
  });

  it('are stored with the version of their format', () => {
    expect(encodeEvents([])).toEqual({ format: 1, events: [] });
  });

  it.each<[string, JsonValue]>([
    ['this version reads history format 1, the commit has 2', { format: 2, events: [] }],
    ['this version reads history format 1, the commit has undefined', { events: [] }],
    ['this version does not know the event "MoonRisen"', { format: 1, events: [{ type: 'MoonRisen' }] }],
    ['this version does not know the event "toString"', { format: 1, events: [{ type: 'toString' }] }],
    ['this version does not know the event undefined', { format: 1, events: [1] }],
    ['a commit must hold a list of events', { format: 1 }],
    ['a commit must hold a list of events', null],
  ])('are refused rather than skipped: %s', (message, stored) => {
    expect(() => decodeEvents(stored)).toThrow(
      expect.objectContaining({ code: 'HISTORY_FORMAT_UNKNOWN', message }) as Error,
    );
  });
});
