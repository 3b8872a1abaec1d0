import { describe, expect, it } from 'vitest';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import type { TaskOrigin } from '../../../lib/remote/a2a/interface.js';
import { readSendResult, readTask } from '../../../lib/remote/a2a/read-reply.js';
import { callFor03 } from '../../../lib/remote/a2a/wire-0.3.js';

const headers = { 'content-type': 'application/json', accept: 'application/json' };

describe('requests of A2A 0.3', () => {
  it('S0-13, S0-30: message/send does not block and registers no push', () => {
    const parts = [
      { text: 'hi' },
      { data: { skill: 'quote' }, mediaType: 'application/json' },
      { data: [1, 2], metadata: { from: 'us' } },
      { raw: 'aGk=', filename: 'a.txt', mediaType: 'text/plain' },
      { url: 'https://a.example/b' },
    ];
    expect(callFor03({ kind: 'send', message: { messageId: 'm-1', parts }, idempotencyKey: 'k' }, [])).toEqual({
      method: 'message/send',
      params: {
        message: {
          kind: 'message',
          messageId: 'm-1',
          role: 'user',
          parts: [
            { kind: 'text', text: 'hi' },
            { kind: 'data', data: { skill: 'quote' } },
            { kind: 'data', data: { value: [1, 2] }, metadata: { from: 'us', data_part_compat: true } },
            { kind: 'file', file: { bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' } },
            { kind: 'file', file: { uri: 'https://a.example/b' } },
          ],
        },
        configuration: {
          blocking: false,
          historyLength: 0,
          acceptedOutputModes: ['application/json', 'text/plain'],
        },
      },
      headers: { ...headers, 'idempotency-key': 'k' },
    });
  });

  it('S2-04, B053: an answer names its task and context', () => {
    const message = { messageId: 'm-2', taskId: 't-41', contextId: 'c-1', parts: [{ text: '4711' }] };
    const { params } = callFor03({ kind: 'send', message, idempotencyKey: 'k' }, []);
    expect(params['message']).toEqual({
      kind: 'message',
      messageId: 'm-2',
      taskId: 't-41',
      contextId: 'c-1',
      role: 'user',
      parts: [{ kind: 'text', text: '4711' }],
    });
  });

  it('tasks/get, tasks/cancel, tasks/resubscribe and the extended card', () => {
    expect(callFor03({ kind: 'get', taskId: 't-41' }, ['https://a.example/x'])).toEqual({
      method: 'tasks/get',
      params: { id: 't-41', historyLength: 0 },
      headers: { ...headers, 'x-a2a-extensions': 'https://a.example/x' },
    });
    expect(callFor03({ kind: 'cancel', taskId: 't-41' }, [])).toEqual({
      method: 'tasks/cancel',
      params: { id: 't-41' },
      headers,
    });
    expect(callFor03({ kind: 'subscribe', taskId: 't-41' }, [])).toEqual({
      method: 'tasks/resubscribe',
      params: { id: 't-41' },
      headers: { ...headers, accept: 'text/event-stream' },
    });
    expect(callFor03({ kind: 'extended_card' }, []).method).toBe('agent/getAuthenticatedExtendedCard');
  });

  it('do not list tasks', () => {
    expect(() => callFor03({ kind: 'list', contextId: 'c' }, [])).toThrow(TypeError);
  });
});

describe('replies of A2A 0.3 in the names of 1.0', () => {
  const origin: TaskOrigin = { server: 'supplier', protocol: 'a2a', wire: '0.3' };
  const handle: RemoteTaskHandle = { ...origin, taskId: 't-41', contextId: 'c-1' };
  const task = (state: string, more: object = {}) => ({
    kind: 'task',
    id: 't-41',
    contextId: 'c-1',
    status: { state, ...more },
  });
  const message = (text: string) => ({
    kind: 'message',
    messageId: 'a-1',
    role: 'agent',
    parts: [{ kind: 'text', text }],
  });

  it('S0-31: a started task keeps its wire in the handle', () => {
    expect(readSendResult(task('submitted') as never, origin)).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle,
    });
  });

  it('A2A-C5: a message is the outcome', () => {
    expect(readSendResult(message('hi') as never, origin)).toEqual({
      kind: 'ended',
      end: {
        kind: 'completed',
        result: { messageId: 'a-1', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] },
        isError: false,
      },
    });
  });

  it('S0-33: a completed task is whole, with its parts, roles and state renamed', () => {
    const done = {
      ...task('completed', { message: message('done'), timestamp: '2026-11-29T10:00:00Z' }),
      artifacts: [
        {
          artifactId: 'r',
          parts: [
            { kind: 'data', data: { rows: 12 } },
            { kind: 'data', data: { value: [1] }, metadata: { data_part_compat: true } },
            { kind: 'file', file: { bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' }, metadata: { page: 1 } },
            { kind: 'file', file: { uri: 'https://a.example/b' } },
          ],
        },
      ],
      history: [{ kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'go' }] }],
      metadata: { kind: 'kept' },
    };
    expect(readTask(done as never, handle)).toEqual({
      kind: 'ended',
      end: {
        kind: 'completed',
        isError: false,
        taskId: 't-41',
        result: {
          id: 't-41',
          contextId: 'c-1',
          status: {
            state: 'TASK_STATE_COMPLETED',
            message: { messageId: 'a-1', role: 'ROLE_AGENT', parts: [{ text: 'done' }] },
            timestamp: '2026-11-29T10:00:00Z',
          },
          artifacts: [
            {
              artifactId: 'r',
              parts: [
                { data: { rows: 12 } },
                { data: [1] },
                { raw: 'aGk=', filename: 'a.txt', mediaType: 'text/plain', metadata: { page: 1 } },
                { url: 'https://a.example/b' },
              ],
            },
          ],
          history: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'go' }] }],
          metadata: { kind: 'kept' },
        },
      },
    });
  });

  it('S2-18, A2A-C11: a failed task keeps its artifacts on the error', () => {
    const failed = {
      ...task('failed', { message: message('no paper') }),
      artifacts: [{ artifactId: 'r', parts: [{ kind: 'text', text: 'page 1' }] }],
    };
    expect(readTask(failed as never, handle)).toEqual({
      kind: 'ended',
      end: {
        kind: 'failed',
        error: {
          code: 'REMOTE_TASK_FAILED',
          message: 'remote task failed: no paper',
          details: {
            server: 'supplier',
            state: 'TASK_STATE_FAILED',
            artifacts: [{ artifactId: 'r', parts: [{ text: 'page 1' }] }],
          },
        },
      },
    });
  });

  it.each([
    ['canceled', 'REMOTE_TASK_CANCELLED'],
    ['TASK_STATE_CANCELLED', 'REMOTE_TASK_CANCELLED'],
    ['rejected', 'REMOTE_TASK_REJECTED'],
  ])('A2A-C10, K6: %s ends as %s', (state, code) => {
    expect(readTask(task(state) as never, handle)).toMatchObject({ end: { kind: 'failed', error: { code } } });
  });

  it.each(['submitted', 'working', 'unknown', 'paused'])('A2A-C9, K6: %s goes on', (state) => {
    expect(readTask(task(state) as never, handle).kind).toBe('working');
  });

  it('S2-04: input-required is a question', () => {
    expect(readTask(task('input-required', { message: message('Which?') }) as never, handle)).toEqual({
      kind: 'working',
      state: 'TASK_STATE_INPUT_REQUIRED',
      questions: [{ key: 'a-1', kind: 'form', message: 'Which?', parts: [{ text: 'Which?' }] }],
    });
  });
});
