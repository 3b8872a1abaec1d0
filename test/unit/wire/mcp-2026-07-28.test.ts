import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import { classifyCancel, classifyPoll, classifyStart } from '../../../lib/remote/mcp/dialect-2026-07-28.js';
import { mcpHeaderValue } from '../../../lib/remote/mcp/header-value.js';
import { readCallResult, readTask, tasksCancel, tasksGet, toolsCall } from '../../../lib/remote/mcp/wire-2026-07-28.js';

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'outwait', version: '0.1.0' },
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

describe('requests of MCP 2026-07-28', () => {
  it('S0-13, S0-20, S0-21: tools/call', () => {
    expect(toolsCall({ tool: 'start_export', arguments: { month: '2026-10' }, idempotencyKey: 'run1/3' })).toEqual({
      method: 'tools/call',
      params: {
        name: 'start_export',
        arguments: { month: '2026-10' },
        _meta: { ...meta, 'dev.outwait/idempotencyKey': 'run1/3' },
      },
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'start_export',
        'idempotency-key': 'run1/3',
      },
    });
  });

  it('tools/call carries the chain of calls that led to it', () => {
    const call = toolsCall({ tool: 'start_export', arguments: {}, idempotencyKey: 'run1/3', calls: ['a', 'b'] });
    expect(call.params).toMatchObject({ _meta: { 'dev.outwait/calls': ['a', 'b'] } });
  });

  it.each([
    ['tasks/get', tasksGet({ taskId: 't 1' })],
    ['tasks/cancel', tasksCancel({ taskId: 't 1' })],
  ])('S0-21: %s', (method, call) => {
    expect(call).toEqual({
      method,
      params: { taskId: 't 1', _meta: meta },
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': '=?base64?dCAx?=',
      },
    });
  });

  it('names the version of the package', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(meta['io.modelcontextprotocol/clientInfo'].version).toBe(version);
  });

  it.each([
    ['start_export', 'start_export'],
    ['a b', '=?base64?YSBi?='],
    ['=?x', '=?base64?PT94?='],
    ['=?base64?x?=', '=?base64?PT9iYXNlNjQ/eD89?='],
    ['レポート', '=?base64?44Os44Od44O844OI?='],
    ['t1 ', '=?base64?dDEg?='],
    ['a\nb', '=?base64?YQpi?='],
    ['', '=?base64??='],
    ['x=?y', 'x=?y'],
  ])('S0-22, MCP-11: sends the name %j as %j', (name, expected) => {
    expect(mcpHeaderValue(name)).toBe(expected);
  });
});

const created = {
  resultType: 'task',
  taskId: 't1',
  status: 'working',
  createdAt: '2026-11-29T10:00:00.000Z',
  ttlMs: 21_600_000,
};
const handle: RemoteTaskHandle = {
  server: 'reports',
  protocol: 'mcp',
  wire: '2026-07-28',
  taskId: 't1',
  ttlMs: 21_600_000,
};
const releaseSchema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
const elicitation = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Release 412 rows?', requestedSchema: releaseSchema },
};
const violation = (problem: string) => ({
  code: 'REMOTE_PROTOCOL_VIOLATION' as const,
  message: `the server broke the protocol: ${problem}`,
});

describe('the result of tools/call', () => {
  const content = [{ type: 'text', text: '412 rows' }];

  it.each([
    [
      'a task',
      { ...created, pollIntervalMs: 15_000 },
      { kind: 'started', state: expect.any(String) as string, handle, pollAfterMs: 15_000 },
    ],
    ['a task without a hint', created, { kind: 'started', state: expect.any(String) as string, handle }],
    [
      'a task kept for ever',
      { ...created, ttlMs: null },
      {
        kind: 'started',
        state: expect.any(String) as string,
        handle: { server: 'reports', protocol: 'mcp', wire: '2026-07-28', taskId: 't1' },
      },
    ],
    [
      'MCP-33: a hint of 0',
      { ...created, pollIntervalMs: 0 },
      { kind: 'started', state: expect.any(String) as string, handle },
    ],
    [
      'MCP-33: a negative hint',
      { ...created, pollIntervalMs: -5 },
      { kind: 'started', state: expect.any(String) as string, handle },
    ],
    [
      'MCP-33: a fractional hint',
      { ...created, pollIntervalMs: 1.2 },
      { kind: 'started', state: expect.any(String) as string, handle, pollAfterMs: 2 },
    ],
    [
      'MCP-24: an ended task',
      { ...created, status: 'completed', pollIntervalMs: 9 },
      { kind: 'started', state: expect.any(String) as string, handle, pollAfterMs: 0 },
    ],
    [
      'MCP-24: a failed task',
      { ...created, status: 'failed' },
      { kind: 'started', state: expect.any(String) as string, handle, pollAfterMs: 0 },
    ],
    [
      'MCP-23: a result',
      { resultType: 'complete', content },
      { kind: 'ended', end: { kind: 'completed', result: { resultType: 'complete', content }, isError: false } },
    ],
    [
      'MCP-10: a result without resultType',
      { content },
      { kind: 'ended', end: { kind: 'completed', result: { content }, isError: false } },
    ],
    [
      'S0-09: a result that is an error',
      { content, isError: true },
      { kind: 'ended', end: { kind: 'completed', result: { content, isError: true }, isError: true } },
    ],
    [
      'structured content alone',
      { structuredContent: 0 },
      { kind: 'ended', end: { kind: 'completed', result: { structuredContent: 0 }, isError: false } },
    ],
    [
      'MCP-47: a question before the start, with the state exactly as it came',
      { resultType: 'input_required', requestState: ' {"a":1}\n', inputRequests: { confirm: elicitation } },
      {
        kind: 'asked',
        state: ' {"a":1}\n',
        questions: [{ key: 'confirm', kind: 'form', message: 'Release 412 rows?', schema: releaseSchema }],
      },
    ],
    [
      'MCP-47: a question without a state',
      { resultType: 'input_required', inputRequests: { confirm: elicitation } },
      {
        kind: 'asked',
        questions: [{ key: 'confirm', kind: 'form', message: 'Release 412 rows?', schema: releaseSchema }],
      },
    ],
  ])('takes %s', (_name, result, expected) => {
    expect(readCallResult(result, 'reports')).toEqual(expected);
  });

  it.each([
    [
      'MCP-10: an unknown resultType',
      { resultType: 'banana', content },
      'the result of the call has an unknown resultType',
    ],
    ['a resultType that is no text', { resultType: 1, content }, 'the result of the call has an unknown resultType'],
    ['MCP-25: no taskId', { ...created, taskId: undefined }, 'the task has no usable taskId'],
    ['MCP-25: an empty taskId', { ...created, taskId: '' }, 'the task has no usable taskId'],
    ['a taskId of 2 KiB', { ...created, taskId: 'x'.repeat(2_048) }, 'the task has no usable taskId'],
    ['MCP-25: no status', { ...created, status: undefined }, 'the task has no status or no createdAt'],
    ['MCP-25: no createdAt', { ...created, createdAt: undefined }, 'the task has no status or no createdAt'],
    ['MCP-25: no ttlMs', { ...created, ttlMs: undefined }, 'the task has no ttlMs'],
    [
      'MCP-27: a nested task of 2025-11-25',
      { task: { taskId: 't1', status: 'working' } },
      'the result of the call has neither content nor structuredContent',
    ],
    ['an empty object', {}, 'the result of the call has neither content nor structuredContent'],
    ['null', null, 'the result of the call is not an object'],
    ['a list', [], 'the result of the call is not an object'],
  ])('may stand for running work: %s', (_name, result, problem) => {
    expect(readCallResult(JSON.parse(JSON.stringify(result)) as never, 'reports')).toEqual({
      kind: 'unknown',
      error: violation(problem),
    });
  });
});

describe('the result of tasks/get', () => {
  const task = { resultType: 'complete', taskId: 't1', status: 'working' };
  const inner = { content: [], isError: true };
  const failed = (code: string, message: string, details: object) => ({
    kind: 'ended',
    end: { kind: 'failed', error: { code, message, details } },
  });

  it.each([
    ['MCP-34: a longer life', { ...task, ttlMs: 90_000 }, { kind: 'working', state: 'working', ttlMs: 90_000 }],
    ['MCP-34: a life without end', { ...task, ttlMs: null }, { kind: 'working', state: 'working', ttlMs: null }],
    ['MCP-34: no length of time', { ...task, ttlMs: -1 }, { kind: 'working', state: 'working' }],
    ['S0-53: working', { ...task, pollIntervalMs: 7_000 }, { kind: 'working', state: 'working', pollAfterMs: 7_000 }],
    [
      'S0-53: input_required',
      { ...task, status: 'input_required', inputRequests: {} },
      { kind: 'working', state: 'input_required' },
    ],
    [
      'S0-50, MCP-29: completed with isError',
      { ...task, status: 'completed', result: inner },
      { kind: 'ended', end: { kind: 'completed', result: inner, isError: true, taskId: 't1' } },
    ],
    [
      'MCP-31: completed, no resultType inside',
      { ...task, status: 'completed', result: {} },
      { kind: 'ended', end: { kind: 'completed', result: {}, isError: false, taskId: 't1' } },
    ],
    ['MCP-32: resultType "task"', { ...task, resultType: 'task' }, { kind: 'working', state: 'working' }],
    ['no resultType', { taskId: 't1', status: 'working' }, { kind: 'working', state: 'working' }],
    [
      'a time that no table can hold',
      { ...task, status: 'working', ttlMs: 1e300 },
      { kind: 'working', state: 'working', ttlMs: 9_007_199_254_740_991 },
    ],
    [
      'a time of almost nothing',
      { ...task, status: 'working', ttlMs: 1e-200 },
      { kind: 'working', state: 'working', ttlMs: 1 },
    ],
    [
      'S0-24, S0-51: failed with a status message',
      { ...task, status: 'failed', statusMessage: 'upstream quota', error: { code: -32603, message: 'exhausted' } },
      failed('REMOTE_TASK_FAILED', 'remote task failed: upstream quota', {
        server: 'reports',
        state: 'failed',
        code: -32603,
        message: 'exhausted',
      }),
    ],
    [
      'S0-24, MCP-30: failed with an error message',
      { ...task, status: 'failed', statusMessage: ' ', error: { code: 1, message: 'exhausted' } },
      failed('REMOTE_TASK_FAILED', 'remote task failed: exhausted', { server: 'reports', state: 'failed', code: 1 }),
    ],
    [
      'S0-24: failed with a text',
      { ...task, status: 'failed', error: 'boom' },
      failed('REMOTE_TASK_FAILED', 'remote task failed: boom', { server: 'reports', state: 'failed' }),
    ],
    [
      'S0-24: failed without a text',
      { ...task, status: 'failed', error: {} },
      failed('REMOTE_TASK_FAILED', 'remote task failed: no reason was given', { server: 'reports', state: 'failed' }),
    ],
    [
      'S0-52: cancelled',
      { ...task, status: 'cancelled', statusMessage: 'by an operator' },
      failed('REMOTE_TASK_CANCELLED', 'remote task cancelled: by an operator', {
        server: 'reports',
        state: 'cancelled',
      }),
    ],
  ])('reads %s', (_name, result, expected) => {
    expect(readTask(result as never, 't1', 'reports')).toEqual(expected);
  });

  it.each([
    [
      'MCP-28: another task',
      { ...task, taskId: 't2', status: 'completed', result: {} },
      'the task is not the one requested',
    ],
    ['no task id', { status: 'completed', result: {} }, 'the task is not the one requested'],
    ['an unknown status', { ...task, status: 'done', result: {} }, 'the task has an unknown status'],
    ['no status', { taskId: 't1', result: {} }, 'the task has an unknown status'],
    ['MCP-31: completed without a result', { ...task, status: 'completed' }, 'the task is completed without a result'],
    [
      'MCP-31: completed with a text',
      { ...task, status: 'completed', result: 'x' },
      'the task is completed without a result',
    ],
    [
      'MCP-30: failed without an error',
      { ...task, status: 'failed', statusMessage: 'x' },
      'the task is failed without an error',
    ],
    [
      'MCP-10: an unknown resultType',
      { ...task, resultType: 'banana', status: 'completed', result: {} },
      'the task has an unknown resultType',
    ],
    ['null', null, 'the task is not an object'],
  ])('settles nothing from %s', (_name, result, problem) => {
    expect(readTask(result as never, 't1', 'reports')).toEqual({ kind: 'unreadable', error: violation(problem) });
  });
});

describe('what came in place of a result', () => {
  const sent = { code: 'REMOTE_UNREACHABLE', message: 'x' } as const;
  const rpc = (status: number, code: number) => ({ kind: 'rpc_error', status, code, message: 'no' }) as const;

  it.each([
    [{ kind: 'not_sent', error: sent }, 'retry', 'REMOTE_UNREACHABLE'],
    [{ kind: 'not_sent', error: { code: 'CONFIG_INVALID', message: 'x' } }, 'refused', 'CONFIG_INVALID'],
    [{ kind: 'no_answer', error: sent }, 'unknown', 'REMOTE_UNREACHABLE'],
    [{ kind: 'unusable', error: violation('x') }, 'unknown', 'REMOTE_PROTOCOL_VIOLATION'],
    [{ kind: 'http_error', status: 429 }, 'retry', 'REMOTE_UNREACHABLE'],
    [{ kind: 'http_error', status: 503 }, 'retry', 'REMOTE_UNREACHABLE'],
    [{ kind: 'http_error', status: 500 }, 'unknown', 'REMOTE_UNREACHABLE'],
    [{ kind: 'http_error', status: 504 }, 'unknown', 'REMOTE_UNREACHABLE'],
    [{ kind: 'http_error', status: 408 }, 'retry', 'REMOTE_UNREACHABLE'],
    [{ kind: 'http_error', status: 307 }, 'refused', 'REMOTE_START_REFUSED'],
    [{ kind: 'http_error', status: 401 }, 'refused', 'REMOTE_START_REFUSED'],
    [{ kind: 'http_error', status: 404 }, 'refused', 'REMOTE_START_REFUSED'],
    [rpc(400, -32020), 'refused', 'REMOTE_START_REFUSED'],
    [rpc(200, -32602), 'refused', 'REMOTE_START_REFUSED'],
    [rpc(200, -32603), 'refused', 'REMOTE_START_REFUSED'],
    [rpc(500, -32603), 'refused', 'REMOTE_START_REFUSED'],
    [rpc(429, -32000), 'retry', 'REMOTE_UNREACHABLE'],
  ] as const)('S0-11: a start with %j is %s', (exchange, kind, code) => {
    expect(classifyStart(exchange, 'reports')).toMatchObject({ kind, error: { code } });
  });

  it('S0-47: a start keeps the message of a JSON-RPC error and the wait that the server asks for', () => {
    expect(
      classifyStart({ kind: 'rpc_error', status: 400, code: -32602, message: 'month is missing' }, 'reports'),
    ).toEqual({
      kind: 'refused',
      error: {
        code: 'REMOTE_START_REFUSED',
        message: 'the server answered with error -32602: month is missing',
        details: { status: 400, code: -32602 },
      },
    });
    expect(classifyStart({ kind: 'http_error', status: 429, retryAfterMs: 120_000 }, 'reports')).toEqual({
      kind: 'retry',
      error: { code: 'REMOTE_UNREACHABLE', message: 'the server answered with status 429', details: { status: 429 } },
      retryAfterMs: 120_000,
    });
  });

  it.each([
    [{ kind: 'not_sent', error: sent }],
    [{ kind: 'no_answer', error: sent }],
    [{ kind: 'unusable', error: violation('x') }],
    [{ kind: 'http_error', status: 401 }],
    [{ kind: 'http_error', status: 503 }],
    [rpc(200, -32603)],
    [rpc(401, -32602)],
    [rpc(403, -32602)],
    [rpc(429, -32602)],
    [rpc(502, -32602)],
    [rpc(400, -32020)],
    [rpc(400, -32022)],
  ] as const)('S0-75: a read with %j leaves the task alone', (exchange) => {
    expect(classifyPoll(exchange, handle).kind).toBe('unreadable');
  });

  it.each([
    [{ kind: 'result', result: { resultType: 'complete' } }, 'done'],
    [rpc(200, -32602), 'gone'],
    [rpc(401, -32602), 'retry'],
    [rpc(502, -32602), 'retry'],
    [rpc(404, -32601), 'retry'],
    [{ kind: 'http_error', status: 503 }, 'retry'],
    [{ kind: 'no_answer', error: sent }, 'retry'],
  ] as const)('MCP-44: a cancel with %j is %s', (exchange, kind) => {
    expect(classifyCancel(exchange).kind).toBe(kind);
  });
});
