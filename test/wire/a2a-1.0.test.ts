import { describe, expect, it } from 'vitest';
import type { RemoteTaskHandle } from '../../lib/history/event.js';
import { classifyCancel, classifyPoll, classifyStart } from '../../lib/remote/a2a/client.js';
import { messageIdOf } from '../../lib/remote/a2a/message-id.js';
import { a2aStateClass } from '../../lib/remote/a2a/task-state.js';
import {
  cancelTask,
  getTask,
  readSendResult,
  readTask,
  sendMessage,
  skillParts,
} from '../../lib/remote/a2a/wire-1.0.js';

const headers = { 'content-type': 'application/json', accept: 'application/json', 'a2a-version': '1.0' };

describe('requests of A2A 1.0', () => {
  it('S0-13, S0-30: SendMessage never waits for the end', () => {
    expect(
      sendMessage({
        parts: skillParts('quote', { item: 'a' }),
        messageId: 'm-1',
        idempotencyKey: 'run1/3',
        tenant: undefined,
      }),
    ).toEqual({
      method: 'SendMessage',
      params: {
        message: {
          messageId: 'm-1',
          role: 'ROLE_USER',
          parts: [{ data: { skill: 'quote', arguments: { item: 'a' } }, mediaType: 'application/json' }],
        },
        configuration: {
          returnImmediately: true,
          historyLength: 0,
          acceptedOutputModes: ['application/json', 'text/plain'],
        },
      },
      headers: { ...headers, 'idempotency-key': 'run1/3' },
    });
  });

  it('GetTask and CancelTask', () => {
    expect(getTask('t-41', undefined)).toEqual({
      method: 'GetTask',
      params: { id: 't-41', historyLength: 0 },
      headers,
    });
    expect(cancelTask('t-41', undefined)).toEqual({ method: 'CancelTask', params: { id: 't-41' }, headers });
  });

  it('C50: every request carries the tenant', () => {
    const send = sendMessage({ parts: [{ text: 'hi' }], messageId: 'm', idempotencyKey: 'k', tenant: 'acme' });
    expect([send, getTask('t', 'acme'), cancelTask('t', 'acme')].map(({ params }) => params['tenant'])).toEqual([
      'acme',
      'acme',
      'acme',
    ]);
  });

  it('the message id is a UUID that depends on the idempotency key alone', () => {
    expect(messageIdOf('run1/3')).toBe('6853cebe-77a6-8c36-8e36-df5384775473');
    expect(messageIdOf('run1/3')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(messageIdOf('run1/4')).not.toBe(messageIdOf('run1/3'));
  });
});

describe('a2aStateClass', () => {
  it.each([
    ['TASK_STATE_SUBMITTED', 'active'],
    ['TASK_STATE_WORKING', 'active'],
    ['TASK_STATE_INPUT_REQUIRED', 'active'],
    ['TASK_STATE_AUTH_REQUIRED', 'active'],
    ['TASK_STATE_COMPLETED', 'completed'],
    ['TASK_STATE_FAILED', 'failed'],
    ['TASK_STATE_REJECTED', 'rejected'],
    ['TASK_STATE_CANCELED', 'canceled'],
    ['TASK_STATE_CANCELLED', 'canceled'],
    ['canceled', 'canceled'],
    ['completed', 'completed'],
    ['input-required', 'active'],
    ['TASK_STATE_PAUSED', 'active'],
    ['TASK_STATE_UNSPECIFIED', 'active'],
    ['TASK_STATE_COMPLETED ', 'active'],
    ['not-completed', 'active'],
    ['constructor', 'active'],
    ['', 'active'],
    [3, 'active'],
    [null, 'active'],
    [undefined, 'active'],
  ])('S0-32, C9, C10: %j is %s', (state, expected) => {
    expect(a2aStateClass(state)).toBe(expected);
  });
});

const handle: RemoteTaskHandle = { server: 'supplier', protocol: 'a2a', wire: '1.0', taskId: 't-41', contextId: 'c-1' };
const taskIn = (state: unknown, more: object = {}) => ({ id: 't-41', contextId: 'c-1', status: { state, ...more } });
const violation = (problem: string) => ({
  code: 'REMOTE_PROTOCOL_VIOLATION',
  message: `the server broke the protocol: ${problem}`,
});
const says = (...texts: string[]) => ({
  message: { messageId: 'a', role: 'ROLE_AGENT', parts: texts.map((text) => ({ text })) },
});

describe('the result of SendMessage', () => {
  const completed = taskIn('TASK_STATE_COMPLETED');
  const message = { messageId: 'a-1', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] };

  it.each([
    ['a task', { task: taskIn('TASK_STATE_SUBMITTED') }, { kind: 'started', handle }],
    [
      'a task without a context',
      { task: { id: 't-9', status: { state: 'TASK_STATE_WORKING' } } },
      { kind: 'started', handle: { server: 'supplier', protocol: 'a2a', wire: '1.0', taskId: 't-9' } },
    ],
    ['C7: a task with a question', { task: taskIn('TASK_STATE_INPUT_REQUIRED') }, { kind: 'started', handle }],
    ['C9: a task without a state', { task: { id: 't-41', contextId: 'c-1' } }, { kind: 'started', handle }],
    ['a bare task', taskIn('TASK_STATE_WORKING'), { kind: 'started', handle }],
    [
      'C6, S0-18: an ended task',
      { task: completed },
      { kind: 'ended', handle, end: { kind: 'completed', result: completed, isError: false, taskId: 't-41' } },
    ],
    [
      'C5, S0-31: a message',
      { message },
      { kind: 'ended', end: { kind: 'completed', result: message, isError: false } },
    ],
    ['a bare message', message, { kind: 'ended', end: { kind: 'completed', result: message, isError: false } }],
    [
      'a message about a task',
      { message: { ...message, taskId: 't-41', contextId: 'c-1' } },
      { kind: 'started', handle },
    ],
  ])('takes %s', (_name, result, expected) => {
    expect(readSendResult(result as never, 'supplier')).toEqual(expected);
  });

  it('ends at once with a task that the agent rejects', () => {
    expect(
      readSendResult({ task: taskIn('TASK_STATE_REJECTED', says('out of', 'stock')) } as never, 'supplier'),
    ).toEqual({
      kind: 'ended',
      handle,
      end: {
        kind: 'failed',
        error: {
          code: 'REMOTE_TASK_REJECTED',
          message: 'remote task failed: out of stock',
          details: { server: 'supplier', state: 'TASK_STATE_REJECTED' },
        },
      },
    });
  });

  it.each([
    ['C8: task and message', { task: completed, message }, 'the result of SendMessage has both task and message'],
    ['neither', {}, 'the result of SendMessage has neither task nor message'],
    ['a task without id', { task: { status: { state: 'TASK_STATE_COMPLETED' } } }, 'the task has no usable id'],
    ['a task with an empty id', { task: { id: '', status: {} } }, 'the task has no usable id'],
    ['a task that is a text', { task: 't-41' }, 'the task has no usable id'],
    ['a message without parts', { message: {} }, 'the message has no parts'],
    ['null', null, 'the result of SendMessage is not an object'],
  ])('may stand for running work: %s', (_name, result, problem) => {
    expect(readSendResult(result as never, 'supplier')).toEqual({ kind: 'unknown', error: violation(problem) });
  });
});

describe('the result of GetTask', () => {
  const artifacts = [{ artifactId: 'r', parts: [{ data: { rows: 12 } }] }];
  const failed = (code: string, message: string, details: object) => ({
    kind: 'ended',
    end: { kind: 'failed', error: { code, message, details: { server: 'supplier', ...details } } },
  });
  const done = { ...taskIn('TASK_STATE_COMPLETED'), artifacts };

  it.each([
    [
      'S0-53: working',
      taskIn('TASK_STATE_WORKING', says('half way')),
      { kind: 'working', state: 'TASK_STATE_WORKING' },
    ],
    ['C36: auth required', taskIn('TASK_STATE_AUTH_REQUIRED'), { kind: 'working', state: 'TASK_STATE_AUTH_REQUIRED' }],
    ['C9: an unknown state', taskIn('TASK_STATE_PAUSED'), { kind: 'working', state: 'TASK_STATE_PAUSED' }],
    ['C9: a number', taskIn(3), { kind: 'working', state: '3' }],
    ['C9: no state', { id: 't-41' }, { kind: 'working', state: 'null' }],
    ['a state of 5,000 characters', taskIn('x'.repeat(5_000)), { kind: 'working', state: 'x'.repeat(64) }],
    [
      'S0-33: completed',
      done,
      { kind: 'ended', end: { kind: 'completed', result: done, isError: false, taskId: 't-41' } },
    ],
    [
      'a wrapped task',
      { task: done },
      { kind: 'ended', end: { kind: 'completed', result: done, isError: false, taskId: 't-41' } },
    ],
    [
      'C11, S0-34: failed with artifacts',
      { ...taskIn('TASK_STATE_FAILED', says('no', 'paper')), artifacts },
      failed('REMOTE_TASK_FAILED', 'remote task failed: no paper', { state: 'TASK_STATE_FAILED', artifacts }),
    ],
    [
      'S0-34: failed without a text',
      taskIn('TASK_STATE_FAILED'),
      failed('REMOTE_TASK_FAILED', 'remote task failed: no reason was given', { state: 'TASK_STATE_FAILED' }),
    ],
    [
      'S0-51: rejected',
      taskIn('TASK_STATE_REJECTED'),
      failed('REMOTE_TASK_REJECTED', 'remote task failed: the agent rejected it', { state: 'TASK_STATE_REJECTED' }),
    ],
    [
      'S0-52, C10: canceled',
      taskIn('TASK_STATE_CANCELED', says('by hand')),
      failed('REMOTE_TASK_CANCELLED', 'remote task cancelled: by hand', { state: 'TASK_STATE_CANCELED' }),
    ],
  ])('reads %s', (_name, result, expected) => {
    expect(readTask(result as never, handle)).toEqual(expected);
  });

  it('C11: keeps only number and size of large artifacts', () => {
    const large = [{ artifactId: 'r', parts: [{ text: 'x'.repeat(70_000) }] }];
    expect(readTask({ ...taskIn('TASK_STATE_FAILED'), artifacts: large } as never, handle)).toEqual(
      failed('REMOTE_TASK_FAILED', 'remote task failed: no reason was given', {
        state: 'TASK_STATE_FAILED',
        artifactCount: 1,
        artifactBytes: 70_042,
      }),
    );
  });

  it.each([
    ['C1: another task', { ...done, id: 't-42' }, 'the task is not the one that was asked for'],
    ['C1: another task in a wrapper', { task: { ...done, id: 't-42' } }, 'the task is not the one that was asked for'],
    ['no id', { status: { state: 'TASK_STATE_COMPLETED' } }, 'the task is not the one that was asked for'],
    ['an empty object', {}, 'the task is not the one that was asked for'],
    ['null', null, 'the task is not an object'],
  ])('settles nothing from %s', (_name, result, problem) => {
    expect(readTask(result as never, handle)).toEqual({ kind: 'unreadable', error: violation(problem) });
  });
});

describe('what came in place of a result', () => {
  const rpc = (status: number, code: number) => ({ kind: 'rpc_error', status, code, message: 'no' }) as const;

  it.each([
    [rpc(200, -32004), 'refused'],
    [rpc(200, -32601), 'refused'],
    [rpc(200, -32009), 'refused'],
    [rpc(500, -32603), 'retry'],
    [{ kind: 'http_error', status: 403 }, 'refused'],
    [{ kind: 'http_error', status: 425 }, 'retry'],
  ] as const)('S0-11: a start with %j is %s', (exchange, kind) => {
    expect(classifyStart(exchange, 'supplier').kind).toBe(kind);
  });

  it.each([[rpc(200, -32001)], [rpc(404, -32001)], [rpc(200, -32603)], [{ kind: 'http_error', status: 401 }]] as const)(
    'C28, S0-75: a read with %j leaves the task alone',
    (exchange) => {
      expect(classifyPoll(exchange, handle).kind).toBe('unreadable');
    },
  );

  it.each([
    [{ kind: 'result', result: {} }, 'done'],
    [rpc(200, -32002), 'done'],
    [rpc(200, -32001), 'done'],
    [rpc(200, -32004), 'retry'],
    [{ kind: 'http_error', status: 503 }, 'retry'],
  ] as const)('C30, C31: a cancel with %j is %s', (exchange, kind) => {
    expect(classifyCancel(exchange).kind).toBe(kind);
  });
});
