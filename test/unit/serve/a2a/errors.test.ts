import { describe, expect, it } from 'vitest';
import { EngineError, type EngineErrorCode } from '../../../../lib/base/errors.js';
import { silentLog } from '../../../../lib/base/log.js';
import {
  A2aError,
  a2aProblem,
  type A2aReason,
  errorHeaders,
  httpErrorBody,
  rpcError,
  rpcHttpStatus,
} from '../../../../lib/serve/a2a/errors.js';

describe('errors of the protocol', () => {
  // Section 5.4 of A2A 1.0.1.
  it.each<[A2aReason, number, number, string]>([
    ['TASK_NOT_FOUND', -32001, 404, 'NOT_FOUND'],
    ['TASK_NOT_CANCELABLE', -32002, 400, 'FAILED_PRECONDITION'],
    ['PUSH_NOTIFICATION_NOT_SUPPORTED', -32003, 400, 'FAILED_PRECONDITION'],
    ['UNSUPPORTED_OPERATION', -32004, 400, 'FAILED_PRECONDITION'],
    ['CONTENT_TYPE_NOT_SUPPORTED', -32005, 400, 'INVALID_ARGUMENT'],
    ['INVALID_AGENT_RESPONSE', -32006, 500, 'INTERNAL'],
    ['EXTENDED_AGENT_CARD_NOT_CONFIGURED', -32007, 400, 'FAILED_PRECONDITION'],
    ['EXTENSION_SUPPORT_REQUIRED', -32008, 400, 'FAILED_PRECONDITION'],
    ['VERSION_NOT_SUPPORTED', -32009, 400, 'FAILED_PRECONDITION'],
    ['PARSE_ERROR', -32700, 400, 'INVALID_ARGUMENT'],
    ['INVALID_REQUEST', -32600, 400, 'INVALID_ARGUMENT'],
    ['INVALID_PARAMS', -32602, 400, 'INVALID_ARGUMENT'],
  ])('%s', (reason, code, http, status) => {
    const problem = a2aProblem(new A2aError(reason, 'because'), 'other', silentLog);
    const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' };
    expect(rpcError(problem, '1.0')).toEqual({ code, message: 'because', data: [info] });
    expect(rpcError(problem, '0.3')).toEqual({ code, message: 'because', data: { reason } });
    expect(httpErrorBody(problem)).toEqual({ error: { code: http, status, message: 'because', details: [info] } });
    expect(rpcHttpStatus(problem)).toBe(200);
  });
});

describe('errors of outwait', () => {
  const told = (code: EngineErrorCode, asked: 'cancel' | 'other' = 'other', details = {}) => {
    const problem = a2aProblem(new EngineError(code, 'because', { details }), asked, silentLog);
    return { ...problem, rpcStatus: rpcHttpStatus(problem), headers: errorHeaders(problem) };
  };

  it.each<[EngineErrorCode, number, number, number]>([
    ['INPUT_INVALID', -32602, 400, 200],
    ['SKILL_NOT_FOUND', -32602, 400, 200],
    ['KEY_REUSED', -32602, 400, 200],
    ['PAYLOAD_TOO_LARGE', -32600, 413, 413],
    ['TASK_NOT_FOUND', -32001, 404, 200],
    ['TASK_ENDED', -32004, 400, 200],
    ['QUESTION_CLOSED', -32010, 409, 200],
    ['UNAUTHORIZED', -32050, 401, 401],
    ['TOO_MANY_REQUESTS', -32051, 429, 429],
    ['TENANT_LIMIT_REACHED', -32051, 429, 429],
    ['FORBIDDEN', -32052, 403, 403],
    ['STORE_UNAVAILABLE', -32603, 503, 503],
    ['CONFIG_INVALID', -32603, 500, 500],
    ['RUN_NOT_FOUND', -32603, 500, 500],
  ])('%s', (code, rpc, http, rpcStatus) => {
    expect(told(code)).toMatchObject({ code: rpc, http, rpcStatus });
  });

  it('a cancel of a task that is over has an error of its own', () => {
    expect(told('TASK_ENDED', 'cancel')).toMatchObject({ code: -32002, reason: 'TASK_NOT_CANCELABLE' });
  });

  it('what may be repeated says when, in whole seconds', () => {
    expect(told('TOO_MANY_REQUESTS', 'other', { retryAfterMs: 1_001 }).headers).toEqual({ 'retry-after': '2' });
    expect(told('TOO_MANY_REQUESTS', 'other', { retryAfterMs: 0 }).headers).toEqual({ 'retry-after': '1' });
    expect(told('STORE_UNAVAILABLE').headers).toEqual({ 'retry-after': '2' });
    expect(told('UNAUTHORIZED').headers).toEqual({ 'www-authenticate': 'Bearer' });
  });

  it('what is wrong with which field is told in the form of google.rpc', () => {
    const issues = [{ path: 'month', message: 'is required' }];
    const problem = a2aProblem(new EngineError('INPUT_INVALID', 'no', { details: { issues } }), 'other', silentLog);
    expect(rpcError(problem, '1.0')).toMatchObject({
      data: [
        { reason: 'INVALID_PARAMS', metadata: { code: 'INPUT_INVALID' } },
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'month', description: 'is required' }],
        },
      ],
    });
  });

  it.each([new EngineError('CONFIG_INVALID', 'secret'), new Error('secret'), 'secret', undefined])(
    'faults of our own go to the log alone (%#)',
    (thrown) => {
      const lines: unknown[] = [];
      const log = { ...silentLog, error: (event: string, fields: unknown) => void lines.push([event, fields]) };
      const problem = a2aProblem(thrown, 'other', log);
      expect(JSON.stringify([rpcError(problem, '1.0'), httpErrorBody(problem)])).not.toContain('secret');
      expect(lines).toEqual([['request failed', { error: thrown }]]);
    },
  );
});
