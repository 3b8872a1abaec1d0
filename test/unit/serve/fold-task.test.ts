import { expect, it } from 'vitest';
import { TaskFold, type ServedHead } from '../../../lib/serve/task/fold-task.js';

const head: ServedHead = {
  runId: 'a'.repeat(32),
  workflow: 'flow',
  createdAtMs: 1,
  task: { contextId: 'c', message: { messageId: 'm0', parts: [{ text: 'go' }] }, generation: 1 },
};
const answer = { messageId: 'm1', role: 'user', parts: [{ text: 'blue' }] } as const;

it('an answer that a run takes in with its end is in the history of the task', () => {
  const fold = new TaskFold(head);
  fold.applyCommit({
    seq: 1,
    events: [
      { type: 'RunStarted', atMs: 1, workflow: 'flow', version: '1', behaviors: 1 },
      { type: 'ExternalWaitRequested', atMs: 1, waitId: '1', name: 'ask', form: { message: 'Which?', to: 'caller' } },
      { type: 'ExternalWaitIssued', atMs: 1, waitId: '1', keyId: 'k' },
    ],
  });
  expect(fold.state).toBe('input-required');
  const ending = {
    seq: 2,
    events: [
      { type: 'CancelRequested', atMs: 2, inboxId: 'cancel-1' },
      { type: 'MessageReceived', atMs: 2, inboxId: 'message-m1', answers: '1' },
      { type: 'RunEnding', atMs: 2, outcome: { status: 'cancelled' } },
      { type: 'RunEnded', atMs: 2, status: 'cancelled' },
    ],
  } as const;
  fold.applyCommit(ending, (inboxId) => (inboxId === 'message-m1' ? answer : undefined));
  expect(fold.task).toMatchObject({ status: { state: 'canceled' } });
  expect(fold.task.history).toContainEqual(answer);
});
