import { describe, expect, it } from 'vitest';
import { httpJsonCall, httpJsonExchange } from '../../../lib/remote/a2a/http-json-1.0.js';
import type { A2aInterface } from '../../../lib/remote/a2a/interface.js';
import type { A2aOperation } from '../../../lib/remote/a2a/operation.js';

const to: A2aInterface = { url: 'https://supplier.example/rest/', binding: 'HTTP+JSON', wire: '1.0' };
const message = { messageId: 'm-1', contextId: 'c-1', parts: [{ text: 'hi' }] };

describe('requests of A2A 1.0 over HTTP+JSON', () => {
  it('S0-13: message:send carries what SendMessage carries', () => {
    const { toExchange, ...call } = httpJsonCall({ kind: 'send', message, idempotencyKey: 'k' }, to, [
      'https://a.example/x',
    ]);
    expect(toExchange).toBe(httpJsonExchange);
    expect({ ...call, body: JSON.parse(call.body ?? '') as unknown }).toEqual({
      httpMethod: 'POST',
      url: 'https://supplier.example/rest/message:send',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'a2a-version': '1.0',
        'a2a-extensions': 'https://a.example/x',
        'idempotency-key': 'k',
      },
      body: {
        message: { messageId: 'm-1', contextId: 'c-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] },
        configuration: {
          returnImmediately: true,
          historyLength: 0,
          acceptedOutputModes: ['application/json', 'text/plain'],
        },
      },
    });
  });

  const operations: readonly A2aOperation[] = [
    { kind: 'send', message, idempotencyKey: 'k' },
    { kind: 'get', taskId: 't/4 1' },
    { kind: 'cancel', taskId: 't/4 1' },
    { kind: 'list', contextId: 'c&1' },
    { kind: 'subscribe', taskId: 't-41' },
    { kind: 'extended_card' },
  ];

  it('each operation has its method and path', () => {
    const calls = operations.map((operation) => httpJsonCall(operation, to, []));
    expect(calls.map(({ httpMethod, url }) => `${httpMethod} ${url}`)).toEqual([
      'POST https://supplier.example/rest/message:send',
      'GET https://supplier.example/rest/tasks/t%2F4%201?historyLength=0',
      'POST https://supplier.example/rest/tasks/t%2F4%201:cancel',
      'GET https://supplier.example/rest/tasks?contextId=c%261&historyLength=5&pageSize=10',
      'GET https://supplier.example/rest/tasks/t-41:subscribe',
      'GET https://supplier.example/rest/extendedAgentCard',
    ]);
    expect(calls[4]!.headers['accept']).toBe('text/event-stream');
  });

  it('A2A-C50: the tenant is in every path and in every body', () => {
    const calls = operations.map((operation) => httpJsonCall(operation, { ...to, tenant: 'ac me' }, []));
    expect(calls.map(({ url }) => url.startsWith('https://supplier.example/rest/ac%20me/'))).toEqual(
      operations.map(() => true),
    );
    const bodies = calls.flatMap(({ body }) => (body === undefined ? [] : [JSON.parse(body) as { tenant: string }]));
    expect(bodies.map(({ tenant }) => tenant)).toEqual(['ac me', 'ac me']);
  });

  it('keeps the query of the interface', () => {
    const call = httpJsonCall({ kind: 'get', taskId: 't' }, { ...to, url: 'https://supplier.example/rest?key=1' }, []);
    expect(call.url).toBe('https://supplier.example/rest/tasks/t?key=1&historyLength=0');
  });
});

describe('answers of A2A 1.0 over HTTP+JSON', () => {
  const reply = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    httpJsonExchange(
      {
        kind: 'reply',
        status,
        headers: { 'content-type': 'application/a2a+json', ...headers },
        text: typeof body === 'string' ? body : JSON.stringify(body),
      },
      0,
    );
  const info = (reason: string) => [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' },
  ];

  it('a JSON body under a good status is the result', () => {
    expect(reply(200, { task: { id: 't' } })).toEqual({ kind: 'result', result: { task: { id: 't' } } });
  });

  it.each([
    ['HTML', 200, '<html>', { 'content-type': 'text/html' }],
    ['nothing', 204, '', {}],
    ['JSON that is cut', 200, '{"task":{', {}],
  ])('A2A-C43: %s with a success status is not a result', (_name, status, body, headers) => {
    expect(reply(status, body, headers as never).kind).toBe('unusable');
  });

  it('A2A-C38: JSON beyond what is parsed says so', () => {
    expect(reply(200, '['.repeat(5_000) + ']'.repeat(5_000))).toMatchObject({
      kind: 'unusable',
      error: { code: 'PAYLOAD_TOO_LARGE' },
    });
  });

  it.each([
    [
      'the reason',
      404,
      { error: { code: 404, status: 'X', message: 'gone', details: info('TASK_NOT_FOUND') } },
      -32001,
    ],
    ['the reason, not the status', 400, { error: { code: 400, details: info('TASK_NOT_CANCELABLE') } }, -32002],
    ['the reason in 1.0.0', 409, { error: { code: 409, details: info('TASK_NOT_CANCELABLE') } }, -32002],
    ['the version', 400, { error: { code: 400, details: info('VERSION_NOT_SUPPORTED') } }, -32009],
    ['the type of problem JSON', 404, { type: 'https://a2a-protocol.org/errors/task-not-found', title: 'no' }, -32001],
    ['the code', 400, { error: { code: -32004, message: 'no' } }, -32004],
    ['the status word', 404, { error: { code: 404, status: 'NOT_FOUND', message: 'no' } }, -32001],
  ])('an error is recognised by %s', (_name, status, body, code) => {
    expect(reply(status, body)).toMatchObject({ kind: 'rpc_error', status, code });
  });

  it.each([
    [404, { message: 'Not Found' }],
    [404, '<html>'],
    [503, { error: { code: 503, status: 'UNAVAILABLE' } }],
    [403, { error: { code: 403, details: info('constructor') } }],
  ])('without such a word the status %d is all there is', (status, body) => {
    expect(reply(status, body)).toEqual({ kind: 'http_error', status });
  });

  it('A2A-C45: says how long to wait', () => {
    expect(reply(429, '', { 'retry-after': '120' })).toEqual({
      kind: 'http_error',
      status: 429,
      retryAfterMs: 120_000,
    });
  });
});
