import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import type { Exchange } from '../../../lib/remote/rpc/exchange.js';
import { effectiveJob } from '../../../lib/remote/mcp/effective-job.js';
import { jobArguments, readResult, readStatus, readStopped, readSubmitted } from '../../../lib/remote/mcp/jobs.js';
import type { ServerJob } from '../../../lib/workflow/server-jobs.js';

const jobOf = (more: Partial<ServerJob> = {}) =>
  effectiveJob({ start_export: { status: 'export_status', id: 'job_id', ...more } }, 'start_export')!;
const over = { version: '2025-06-18' };
const handle: RemoteTaskHandle = {
  server: 'reports',
  protocol: 'mcp',
  wire: 'jobs-2025-06-18',
  taskId: 'j-1',
  job: 'start_export',
};
const data = (structuredContent: unknown, more: object = {}) =>
  ({ content: [], structuredContent, ...more }) as JsonObject;
const text = (value: unknown, more: object = {}): JsonObject => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
  ...more,
});
const answered = (result: unknown): Exchange => ({ kind: 'result', result: result as JsonObject });
const submitted = (result: JsonObject, more: Partial<ServerJob> = {}) =>
  readSubmitted(result, jobOf(more), 'reports', over);
const status = (result: unknown, more: Partial<ServerJob> = {}, of: RemoteTaskHandle = handle) =>
  readStatus(answered(result), jobOf(more), of);
const violation = (problem: string) => ({
  code: 'REMOTE_PROTOCOL_VIOLATION',
  message: `the server broke the protocol: ${problem}`,
});

describe('the reply to the start of a job', () => {
  it.each([
    ['in the structured content', data({ job_id: 'j-1', status: 'queued' }), {}],
    ['in the JSON of the first text', text({ job_id: 'j-1' }), {}],
    ['below a path', data({ data: { job: { id: 'j-1' } } }), { id: 'data.job.id' }],
    ['in a list', data({ jobs: [{ id: 'j-1' }] }), { id: 'jobs.0.id' }],
    // Some servers put the text of a tool that returns a text into the structured content.
    [
      'in a text that stands in the structured content',
      text({ job_id: 'j-1' }, { structuredContent: { result: '{"job_id":"j-1"}' } }),
      {},
    ],
    [
      'after a block that is no text',
      {
        content: [
          { type: 'image', data: '' },
          { type: 'text', text: '{"job_id":"j-1"}' },
        ],
      },
      {},
    ],
  ])('has the id %s', (_where, result, more) => {
    expect(submitted(result, more)).toMatchObject({ kind: 'started', handle });
  });

  it('may have a whole number as the id, which is sent as a number', () => {
    const reply = submitted(data({ job_id: 42 }));
    expect(reply).toEqual({ kind: 'started', handle: { ...handle, taskId: '42', numericId: true } });
    expect(jobArguments(jobOf(), { ...handle, taskId: '42', numericId: true })).toEqual({ job_id: 42 });
    expect(jobArguments(jobOf({ id: 'data.id', argument: 'job' }), handle)).toEqual({ job: 'j-1' });
  });

  it('keeps the session and the version of MCP', () => {
    const reply = readSubmitted(data({ job_id: 'j-1' }), jobOf(), 'reports', { version: '2025-03-26', session: 's-1' });
    expect(reply).toEqual({ kind: 'started', handle: { ...handle, wire: 'jobs-2025-03-26', session: 's-1' } });
  });

  it('without an id is one whose fate is unknown, and the error names the path and what came', () => {
    expect(submitted(data({ id: 'j-1', note: 'x'.repeat(1_000) }))).toEqual({
      kind: 'unknown',
      error: violation(
        `the reply of the tool "start_export" has no job id at "job_id": it is {"id":"j-1","note":"${'x'.repeat(1_000)}"}`,
      ),
    });
    expect(submitted(text('started'))).toMatchObject({
      error: violation('the reply of the tool "start_export" has no job id at "job_id": it is started'),
    });
    expect(submitted({ content: [] })).toMatchObject({
      error: violation('the reply of the tool "start_export" has no job id at "job_id": it is empty'),
    });
    expect(submitted(data({}), { id: 'toString' }).kind).toBe('unknown');
    expect(submitted(data({ job_id: null })).kind).toBe('unknown');
  });

  it.each([
    ['an object', { a: 1 }, '{"a":1}'],
    ['true', true, 'true'],
    ['a fraction', 1.5, '1.5'],
    ['a number beyond the whole ones', 2 ** 60, String(2 ** 60)],
    ['empty', '', '""'],
    ['a text with a control character', 'a\u0000b', '"a\\u0000b"'],
    ['a text that is no text', '\ud800', '"\\ud800"'],
    ['huge', 'x'.repeat(100_000), `"${'x'.repeat(100_000)}"`],
  ])('has no usable id where it is %s', (_what, id, shown) => {
    expect(submitted(data({ job_id: id }))).toEqual({
      kind: 'unknown',
      error: violation(`the reply of the tool "start_export" has no usable id at "job_id": it is ${shown}`),
    });
  });

  it('that is an error of the tool is the outcome, as of every tool', () => {
    const result = text({ job_id: 'j-1' }, { isError: true });
    expect(submitted(result)).toEqual({ kind: 'ended', end: { kind: 'completed', result, isError: true } });
  });

  it('ends the job at once where it has the result, or names no job to read', () => {
    const result = data({ status: 'Completed', rows: 412 });
    expect(submitted(result)).toEqual({ kind: 'ended', end: { kind: 'completed', result, isError: false } });
    const whole = data({ job_id: 'j-1', status: 'completed', rows: 412 });
    expect(submitted(whole, { result: 'rows' })).toEqual({
      kind: 'ended',
      handle,
      end: { kind: 'completed', result: { content: [], structuredContent: 412 }, isError: false, taskId: 'j-1' },
    });
    expect(submitted(data({ status: 'error', message: 'no quota' }))).toMatchObject({
      kind: 'ended',
      end: { kind: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: 'remote task failed: no quota' } },
    });
  });

  it('that says done or failed of a job with an id has it read at once, since it may mean the start', () => {
    const atOnce = { kind: 'started', handle, pollAfterMs: 0 };
    expect(submitted(data({ job_id: 'j-1', status: 'completed' }), { pollAfter: { minutes: 1 } })).toEqual(atOnce);
    expect(submitted(data({ job_id: 'j-1', status: 'completed' }), { result: 'rows' })).toEqual(atOnce);
    expect(submitted(data({ job_id: 'j-1', status: 'completed', rows: null }), { result: 'rows' })).toEqual(atOnce);
    expect(submitted(data({ job_id: 'j-1', status: 'failed' }))).toEqual(atOnce);
    expect(submitted(data({ job_id: 'j-1', status: 'done', rows: 1 }), { result: 'rows', resultTool: 'get' })).toEqual(
      atOnce,
    );
    // Many servers report this for every start.
    expect(submitted(data({ job_id: 'j-1', status: 'success' }))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle,
    });
  });

  it('is read no sooner than pollAfter', () => {
    const pollAfterMs = 90_000;
    expect(submitted(data({ job_id: 'j-1' }), { pollAfter: { seconds: 90 } })).toEqual({
      kind: 'started',
      handle,
      pollAfterMs,
    });
  });
});

describe('the status of a job', () => {
  it.each(['running', 'queued', 'success', '', 'completed-with-notes'])('%j means that it goes on', (state) => {
    expect(status(data({ status: state }))).toEqual({ kind: 'working', state });
  });

  it.each([
    ['completed', {}],
    ['COMPLETED', {}],
    [' done ', {}],
    ['Ready', { done: ['READY'] }],
    [true, { done: ['true'] }],
    [3, { done: ['3'] }],
  ])('%j is its end with the whole reply', (state, more) => {
    const result = data({ status: state, rows: 412 });
    expect(status(result, more)).toEqual({
      kind: 'ended',
      end: { kind: 'completed', result, isError: false, taskId: 'j-1' },
    });
  });

  it.each([
    [{ rows: 412 }, { content: [], structuredContent: { rows: 412 } }],
    [null, { content: [], structuredContent: null }],
    ['412 rows', { content: [{ type: 'text', text: '412 rows' }] }],
  ])('done has the result %j where the configuration says', (value, result) => {
    const end = { kind: 'completed', result, isError: false, taskId: 'j-1' };
    expect(status(data({ status: 'done', data: { out: value } }), { result: 'data.out' })).toEqual({
      kind: 'ended',
      end,
    });
    expect(status(text({ status: 'done', data: { out: value } }), { result: 'data.out' })).toEqual({
      kind: 'ended',
      end,
    });
  });

  it('done without the result that the configuration names is no end', () => {
    expect(status(data({ status: 'done' }), { result: 'rows' })).toEqual({
      kind: 'unreadable',
      error: violation('the job is done, but the reply of the tool "export_status" has no result at "rows"'),
    });
    expect(status(data({ status: 'done' }), { result: 'constructor' }).kind).toBe('unreadable');
  });

  it('done with a number in its text that JavaScript does not hold is a failure that says where', () => {
    expect(status(text('{"status":"done","out":{"mass":1e999}}'), { result: 'out' })).toMatchObject({
      kind: 'ended',
      end: { kind: 'failed', error: { code: 'REMOTE_RESULT_INVALID', details: { path: 'out.mass', number: '1e999' } } },
    });
  });

  it('done waits for the tool that gives the result, where there is one', () => {
    expect(status(data({ status: 'done' }), { resultTool: 'export_result' })).toEqual({ kind: 'result_waits' });
  });

  it.each([
    ['failed', 'REMOTE_TASK_FAILED', 'failed', { message: 'no disk' }, {}, 'no disk'],
    ['ERROR', 'REMOTE_TASK_FAILED', 'failed', { error: { message: 'no disk' } }, {}, 'no disk'],
    ['failure', 'REMOTE_TASK_FAILED', 'failed', { error: 'no disk' }, {}, 'no disk'],
    ['failed', 'REMOTE_TASK_FAILED', 'failed', { why: 7, message: 'x' }, { message: 'why' }, '7'],
    ['failed', 'REMOTE_TASK_FAILED', 'failed', {}, {}, 'no reason was given'],
    ['canceled', 'REMOTE_TASK_CANCELLED', 'cancelled', { message: 'by hand' }, {}, 'by hand'],
    ['cancelled', 'REMOTE_TASK_FAILED', 'failed', {}, { failed: ['cancelled'] }, 'no reason was given'],
  ])('%s is an end as %s', (state, code, word, more, options, reason) => {
    const reply = { status: state, ...more };
    expect(status(data(reply), options)).toEqual({
      kind: 'ended',
      end: {
        kind: 'failed',
        error: { code, message: `remote task ${word}: ${reason}`, details: { server: 'reports', state, data: reply } },
      },
    });
  });

  it('may tell of the progress, and when to look again', () => {
    expect(
      status(data({ status: 'running', progress: { percent: 40 } }), { message: 'progress.percent' }),
    ).toMatchObject({
      note: '40',
    });
    expect(status(text({ status: 'running', message: 'row 7' }), { pollAfter: { seconds: 90 } })).toEqual({
      kind: 'working',
      state: 'running',
      note: 'row 7',
      pollAfterMs: 90_000,
    });
  });

  it.each([
    ['another id', { job_id: 'j-2', status: 'completed' }, {}],
    ['another id where the argument is called so', { job_id: 'j-2', status: 'completed' }, { id: 'job.job_id' }],
    ['an object for the id', { job_id: { id: 'j-1' }, status: 'completed' }, {}],
    ['a number for the id', { job_id: 1, status: 'completed' }, {}],
  ])('with %s is not that of the job', (_what, reply, more) => {
    expect(status(data(reply), more)).toEqual({
      kind: 'unreadable',
      error: violation('the job is not the one requested'),
    });
  });

  it('with the same id, written as a number or as a text, is that of the job', () => {
    expect(status(data({ job_id: 'j-1', status: 'done' })).kind).toBe('ended');
    const numbered: RemoteTaskHandle = { ...handle, taskId: '42', numericId: true };
    expect(status(data({ job_id: 42, status: 'done' }), {}, numbered).kind).toBe('ended');
    expect(status(data({ job_id: '42', status: 'done' }), {}, numbered).kind).toBe('ended');
    expect(status(data({ job_id: null, status: 'done' })).kind).toBe('ended');
  });

  it.each([
    [
      'has no state',
      data({ state: 'done' }),
      'the reply of the tool "export_status" has no state at "status": it is {"state":"done"}',
    ],
    [
      'has an object for the state',
      data({ status: { a: 1 } }),
      'the reply of the tool "export_status" has no state at "status": it is {"status":{"a":1}}',
    ],
    [
      'is text alone',
      text('completed'),
      'the reply of the tool "export_status" has no state at "status": it is completed',
    ],
    [
      'is broken JSON',
      text('{"status":"done"'),
      'the reply of the tool "export_status" has no state at "status": it is {"status":"done"',
    ],
    ['is nothing', {}, 'the reply of the tool "export_status" is not the result of a tool'],
    ['is a list', [], 'the reply of the tool "export_status" is not the result of a tool'],
    [
      'is a task',
      { resultType: 'task', taskId: 'j-1', status: 'completed', content: [] },
      'the reply of the tool "export_status" is not the result of a tool',
    ],
    [
      'is a question',
      { resultType: 'input_required', content: [] },
      'the reply of the tool "export_status" is not the result of a tool',
    ],
    [
      'is a task of 2025-11-25',
      { ...data({ status: 'done' }), task: { taskId: 't1' } },
      'the reply of the tool "export_status" is not the result of a tool',
    ],
  ])('that %s tells nothing', (_what, result, problem) => {
    expect(status(result)).toEqual({ kind: 'unreadable', error: violation(problem) });
  });

  it.each([
    ['says completed', data({ status: 'completed' }, { isError: true })],
    ['says failed', data({ status: 'failed' }, { isError: true })],
    ['says nothing', text('database is down', { isError: true })],
  ])('that is an error of the tool and %s ends nothing', (_what, result) => {
    expect(status(result)).toMatchObject({ kind: 'unreadable', error: { code: 'REMOTE_PROTOCOL_VIOLATION' } });
  });

  it('that is an error of the tool names the tool and what it said', () => {
    expect(status(text('database is down', { isError: true }))).toEqual({
      kind: 'unreadable',
      error: {
        code: 'REMOTE_PROTOCOL_VIOLATION',
        message: 'the tool "export_status" answered with an error: it is database is down',
      },
    });
  });

  it.each([
    ['a text of an error', answered(text('Job j-1 Not Found', { isError: true }))],
    ['data of an error', answered(data({ code: 'NOT FOUND' }, { isError: true }))],
    ['a state', answered(data({ status: 'Not Found' }))],
    ['a JSON-RPC error', { kind: 'rpc_error', status: 200, code: -32000, message: 'job not found' } as const],
    ['a code', { kind: 'rpc_error', status: 200, code: -32004, message: 'gone' } as const],
  ])('reports in %s that there is no such job, if the configuration names that', (_what, exchange) => {
    expect(readStatus(exchange, jobOf({ missing: ['not found', -32004] }), handle).kind).toBe('missing');
    expect(readStatus(exchange, jobOf(), handle).kind).not.toBe('missing');
  });

  it('says nothing of the job under a status of a gateway', () => {
    const exchange = { kind: 'rpc_error', status: 401, code: -32004, message: 'not found' } as const;
    expect(readStatus(exchange, jobOf({ missing: ['not found', -32004] }), handle).kind).toBe('unreadable');
  });

  it('is not missing where a text of a working job has the word', () => {
    expect(status(data({ status: 'running', message: '3 files not found' }), { missing: ['not found'] }).kind).toBe(
      'working',
    );
  });
});

describe('the result of a job from a tool of its own', () => {
  const read = (result: unknown, more: Partial<ServerJob> = {}) =>
    readResult(answered(result), jobOf({ resultTool: 'export_result', ...more }), handle);

  it('is the whole reply, or the part that the configuration names', () => {
    const whole = data({ id: 'report-9', rows: 412 });
    expect(read(whole)).toMatchObject({ end: { kind: 'completed', result: whole, isError: false, taskId: 'j-1' } });
    expect(read(whole, { result: 'rows' })).toMatchObject({ end: { result: { structuredContent: 412 } } });
  });

  it('is an outcome too where the tool answers with an error', () => {
    const result = text('expired', { isError: true });
    expect(read(result)).toEqual({ kind: 'ended', end: { kind: 'completed', result, isError: true, taskId: 'j-1' } });
    expect(read(result, { missing: ['expired'] }).kind).toBe('missing');
  });

  it.each([
    ['is not there', data({}), { result: 'rows' }, 'has no result at "rows"'],
    ['is no result', {}, {}, 'is not the result of a tool'],
  ])('is read again where it %s', (_what, result, more, problem) => {
    expect(read(result, more)).toEqual({
      kind: 'unreadable',
      error: violation(`the reply of the tool "export_result" ${problem}`),
    });
  });
});

describe('the cancel of a job', () => {
  const rpc = (code: number): Exchange => ({ kind: 'rpc_error', status: 200, code, message: 'no' });

  it.each([
    ['a result', answered(text('ok')), 'done'],
    ['an error of the tool', answered(text('no', { isError: true })), 'unsure'],
    ['what is no result', answered({}), 'retry'],
    ['that there is no such tool', rpc(-32602), 'refused'],
    ['that there is no such method', rpc(-32601), 'refused'],
    ['another error', rpc(-32000), 'retry'],
  ])('answered with %s is %s', (_what, exchange, kind) => {
    expect(readStopped(exchange, 'cancel_export').kind).toBe(kind);
  });
});
