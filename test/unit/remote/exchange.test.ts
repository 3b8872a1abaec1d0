import { describe, expect, it } from 'vitest';
import { exchangeOf } from '../../../lib/remote/rpc/exchange.js';
import type { HttpReply } from '../../../lib/remote/http/http.js';
import { nowMs } from './loopback.js';

const good = '{"jsonrpc":"2.0","id":"7","result":{"a":1}}';
const bad = '{"jsonrpc":"2.0","id":"7","error":{"code":-32602,"message":"no"}}';
const reply = (status: number, type: string, text: string, headers: Record<string, string> = {}): HttpReply => ({
  kind: 'reply',
  status,
  headers: { ...(type === '' ? {} : { 'content-type': type }), ...headers },
  text,
});
const violation = (problem: string) => ({
  kind: 'unusable',
  error: { code: 'REMOTE_PROTOCOL_VIOLATION', message: `the server broke the protocol: ${problem}` },
});

describe('exchangeOf', () => {
  it.each([
    [
      'MCP-03: JSON with a charset',
      reply(200, 'Application/JSON; charset=utf-8', good),
      { kind: 'result', result: { a: 1 } },
    ],
    ['the media type of A2A', reply(200, 'application/a2a+json', good), { kind: 'result', result: { a: 1 } }],
    ['no media type', reply(200, '', good), { kind: 'result', result: { a: 1 } }],
    ['F60, MCP-03: JSON called HTML', reply(200, 'text/html', good), { kind: 'result', result: { a: 1 } }],
    ['F60: JSON called text', reply(200, 'text/plain; charset=utf-8', good), { kind: 'result', result: { a: 1 } }],
    ['F60: JSON called a stream', reply(200, 'text/event-stream', good), { kind: 'result', result: { a: 1 } }],
    [
      'F60: events called JSON',
      reply(200, 'application/json', `data: ${good}\n\n`),
      { kind: 'result', result: { a: 1 } },
    ],
    ['F60: a page', reply(200, 'text/html', '<html>'), violation('the body is not JSON, but text/html')],
    [
      'F60: the answer to another request, called text',
      reply(200, 'text/plain', good.replace('"7"', '"8"')),
      violation('the body is not JSON, but text/plain'),
    ],
    ['no body', reply(200, 'application/json', ''), violation('the body is empty')],
    [
      'a result under an error status',
      reply(400, 'application/json', good),
      violation('a result under the HTTP status 400'),
    ],
    [
      'a result under a redirect',
      reply(302, 'application/json', good),
      violation('a result under the HTTP status 302'),
    ],
    [
      'S0-47: an error under 400',
      reply(400, 'application/json', bad),
      { kind: 'rpc_error', status: 400, code: -32602, message: 'no' },
    ],
    [
      'an error under 200',
      reply(200, 'application/json', bad),
      { kind: 'rpc_error', status: 200, code: -32602, message: 'no' },
    ],
    [
      'the error of another request under 400',
      reply(400, 'application/json', bad.replace('"7"', '"8"')),
      { kind: 'http_error', status: 400 },
    ],
    ['a page under 502', reply(502, 'text/html', '<html>'), { kind: 'http_error', status: 502 }],
    [
      'an empty stream under 503',
      reply(503, 'text/event-stream', '', { 'retry-after': '3' }),
      { kind: 'http_error', status: 503, retryAfterMs: 3_000 },
    ],
    [
      'an error in a stream',
      reply(200, 'text/event-stream', `data: ${bad}\n\n`),
      { kind: 'rpc_error', status: 200, code: -32602, message: 'no' },
    ],
    [
      'a wrong response in a stream',
      reply(200, 'text/event-stream', 'data: {"id":"7","result":{}}\n\n'),
      violation('"jsonrpc" is not "2.0"'),
    ],
    [
      'cut JSON in a stream',
      reply(200, 'text/event-stream', 'data: {"jsonrpc":"2.0","id":"7",\n\n'),
      violation('not valid JSON'),
    ],
  ])('reads %s', (_name, http, expected) => {
    expect(exchangeOf(http, '7', nowMs)).toEqual(expected);
  });
});
