import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { answerRemote } from '../../../lib/operations/remote-task/answer-remote.js';
import type { Deps } from '../../../lib/operations/deps.js';
import type { OpenRemoteAnswer, OpenRemoteTask } from '../../../lib/history/run-state.js';
import type { AnswerReply, RemoteTaskTransport } from '../../../lib/remote/transport.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import { aFlow, anApp, startMs } from '../../engine/support.js';

// Delivers an answer to a remote task, one attempt at a time.

const runId = '00'.repeat(16);
const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 't1' } as const;
const token: TokenRecord = {
  ...{ runId, waitId: '1', attempt: 1, writerId: 'w', createdAtMs: 1, pollErrors: 0, handle },
};
const question = { key: 'q', kind: 'form', message: 'Release?' } as const;
const wait: OpenRemoteAnswer = {
  ...{ kind: 'remoteAnswer', waitId: '2', name: 'answer', requestedAtMs: 1, callId: '1', questionId: 'q' },
  ...{ answer: { action: 'accept' }, failedAttempts: 1 },
};
const callWith = (asked: readonly (readonly [string, { question: typeof question; round?: number }])[]) =>
  ({ asked: new Map(asked) }) as unknown as OpenRemoteTask;
const asking = callWith([['q', { question }]]);
const trouble = { code: 'REMOTE_UNREACHABLE', message: 'busy' } as const;

/** Returns the result of the attempt, and what is sent to the server and to the queue. */
async function attempt(
  call: OpenRemoteTask | undefined,
  on: TokenRecord | undefined,
  { reply = { kind: 'done' }, takesAnswers = true }: { reply?: AnswerReply; takesAnswers?: boolean } = {},
) {
  const answers: string[] = [];
  const sent: string[] = [];
  const transport = takesAnswers
    ? {
        answer: async (_handle: unknown, { key }: { readonly key: string }) => {
          answers.push(key);
          return reply;
        },
      }
    : {};
  const deps: Deps = {
    ...createTestApp(anApp(aFlow(async () => undefined))).deps,
    transports: { get: () => transport as Partial<RemoteTaskTransport> as RemoteTaskTransport },
    queues: {
      sendTurn: async () => undefined,
      sendWork: async (message, delayMs) =>
        void sent.push(`${message.kind} ${'waitId' in message ? message.waitId : ''} in ${delayMs}`),
      sendStep: async () => undefined,
      sendStart: async () => undefined,
    },
  };
  const event = await answerRemote(deps, runId, wait, { call, token: on });
  return { event, answers, sent };
}

test('answer delivered: the task is looked at soon after', async () => {
  const { event, answers, sent } = await attempt(asking, token);
  expect(event).toEqual({ type: 'RemoteAnswerDelivered', atMs: startMs, waitId: '2' });
  expect([answers, sent]).toEqual([['q'], ['poll 1 in 5000']]);
});

test('answer with nobody to be sent to: it counts as delivered, and nothing is sent', async () => {
  const settlement = {
    writerId: 's',
    atMs: 1,
    by: 'poll',
    outcome: { kind: 'completed', result: 1, isError: false },
  } as const;
  const { handle: _, ...withoutHandle } = token;
  for (const [call, on] of [
    [undefined, token],
    [callWith([]), token],
    // The answer goes with the next start.
    [callWith([['q', { question, round: 1 }]]), token],
    [asking, undefined],
    [asking, withoutHandle],
    [asking, { ...token, settlement }],
  ] as const) {
    const { event, answers, sent } = await attempt(call, on);
    expect({ type: event.type, answers, sent }).toEqual({ type: 'RemoteAnswerDelivered', answers: [], sent: [] });
  }
});

test('answer to a server that takes none, or is gone: it is refused with the reason', async () => {
  const gone = { ...token, handle: { ...handle, server: 'gone' } };
  for (const { event, answers } of [
    await attempt(asking, token, { takesAnswers: false }),
    await attempt(asking, gone),
  ]) {
    expect(event).toMatchObject({ type: 'RemoteAnswerRefused', waitId: '2', error: { code: 'SERVER_NOT_FOUND' } });
    expect(answers).toEqual([]);
  }
});

test('answer that the server refuses is not sent again', async () => {
  const { event } = await attempt(asking, token, { reply: { kind: 'refused', error: trouble } });
  expect(event).toMatchObject({
    type: 'RemoteAnswerRefused',
    error: { code: 'REMOTE_ANSWER_REFUSED', details: { server: 'reports' } },
  });
});

test('answer that did not get through is sent again, later each time and not before the server says', async () => {
  const { event } = await attempt(asking, token, { reply: { kind: 'retry', error: trouble } });
  expect(event).toMatchObject({ type: 'RemoteAnswerFailed', attempt: 2, error: trouble, retryAtMs: startMs + 2_000 });
  const busy = await attempt(asking, token, { reply: { kind: 'retry', error: trouble, retryAfterMs: 7_000 } });
  expect(busy.event).toMatchObject({ retryAtMs: startMs + 7_000 });
});
