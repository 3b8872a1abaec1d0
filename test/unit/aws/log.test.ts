import { describe, expect, it, vi } from 'vitest';
import { createLog } from '../../../lib/process/log.js';
import { EngineError } from '../../../lib/base/errors.js';

function aLog(level: 'debug' | 'info' | 'warn' | 'error' = 'info') {
  const lines: string[] = [];
  const log = createLog({ level, destination: { write: (line) => void lines.push(line) } });
  return { log, lines, last: () => JSON.parse(lines.at(-1)!) as Record<string, unknown> };
}
const token = `${'a'.repeat(32)}.12.k1.${'Zz_-'.repeat(10)}abc`;

describe('the log', () => {
  it('writes one line of JSON with level, time, event and fields', () => {
    const { log, last } = aLog();
    log.info('swept', { wakes: 2 });
    expect(last()).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      event: 'swept',
      wakes: 2,
    });
  });

  it('keeps a field from standing for what the log itself says, and for a metric', () => {
    const { log, lines } = aLog();
    log.info('reply', {
      ...(JSON.parse('{"level":"error","time":0,"event":"swept","_aws":{"CloudWatchMetrics":[]}}') as object),
      inner: { _aws: 1 },
    });
    expect(lines[0]?.replace(/"time":"[^"]*"/, '"time":"now"')).toBe(
      '{"level":"info","time":"now","level_":"error","time_":0,"event_":"swept","_aws_":{"CloudWatchMetrics":[]},"inner":{"_aws":1},"event":"reply"}\n',
    );
  });

  it('reports of fields that throw when they are read only that they do', () => {
    const { log, last } = aLog();
    const hostile = new Proxy(new Error('never read'), {
      get: () => {
        throw new Error('hands off');
      },
    });
    log.error('unhandled rejection', { error: hostile });
    expect(last()).toMatchObject({ event: 'unhandled rejection', fields: 'cannot be read' });
  });

  it('leaves out what is below its level', () => {
    const { log, lines } = aLog('warn');
    log.info('quiet');
    log.debug('quiet');
    log.warn('heard');
    expect(lines).toHaveLength(1);
  });

  it('holds no token, bearer token, address or secret field, wherever they come in', () => {
    const { log, lines } = aLog('debug');
    const cause = new Error(`fetch failed for https://user:canary@reports.example.com/mcp?key=canary`);
    log.error(`event with ${token}`, {
      error: new EngineError('INTERNAL', `POST /activities/external/${token}/complete with Bearer canary-bearer`, {
        cause,
      }),
      token,
      headers: { Authorization: 'Bearer canary', cookie: 'canary' },
      list: [{ text: `http://127.0.0.1:4000/x?canary=1 and ${token}` }],
      body: 'canary',
    });
    // The stack of an error has the path of this project, which says nothing.
    const text = lines.join('').replaceAll(process.cwd(), '');
    expect(text).not.toContain('canary');
    expect(text).not.toContain('Zz_-');
    expect(text).toContain(`${'a'.repeat(32)}.12.[redacted]`);
    expect(text).toContain('https://[redacted]');
  });

  it.each([
    'accessToken',
    'token_keys',
    'clientSecret',
    'dbPassword',
    'X-Authorization',
    'apiKey',
    'x-api-key',
    'API_KEY',
    'bearerValue',
    'Set-Cookie',
    'payload',
  ])('leaves out the value of a field named %s', (name) => {
    const { log, lines, last } = aLog();
    log.info('odd', { outer: { [name]: 'canary' } });
    expect(lines[0]).not.toContain('canary');
    expect(last()['outer']).toEqual({ [name]: '[redacted]' });
  });

  it('keeps fields that only look a little like it', () => {
    const { log, last } = aLog();
    log.info('fine', { key: 'k', bodyBytes: 3, runId: 'r' });
    expect(last()).toMatchObject({ key: 'k', bodyBytes: 3, runId: 'r' });
  });

  it('keeps name, code, stack and cause of an error', () => {
    const { log, last } = aLog();
    log.error('failed', {
      error: new EngineError('STORE_UNAVAILABLE', 'throttled', { cause: new TypeError('inner') }),
    });
    expect(last()['error']).toMatchObject({
      name: 'EngineError',
      code: 'STORE_UNAVAILABLE',
      message: 'throttled',
      cause: { name: 'TypeError', message: 'inner' },
    });
    expect((last()['error'] as { stack: string }).stack).toContain('log.test.ts');
  });

  it('keeps a field named err as any other', () => {
    const { log, last } = aLog();
    log.error('failed', { err: new EngineError('INTERNAL', 'odd'), error: new EngineError('INTERNAL', 'odd') });
    const { err, error } = last() as { err: { stack: string }; error: { stack: string } };
    expect({ ...err, stack: '' }).toEqual({ ...error, stack: '' });
  });

  it('goes to the standard output, unless it is told otherwise', () => {
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      createLog({ level: 'info' }).info('swept');
      expect(written.mock.calls.map(([line]) => (JSON.parse(String(line)) as { event: string }).event)).toEqual([
        'swept',
      ]);
    } finally {
      written.mockRestore();
    }
  });

  it('holds no id of a remote task that an error names, in its texts and those of its cause', () => {
    const { log, lines } = aLog();
    for (const taskId of ['task-4711', 't1', 'a.b']) {
      const said = `no task ${taskId}, nor ${taskId}`;
      const cause = new Error(said);
      const named = new EngineError('REMOTE_TASK_LOST', said, { details: { taskId }, cause });
      log.error('failed', { error: named });
      log.error('failed', { error: new Error(`could not: ${said}`, { cause: named }), taskId });
      expect(lines.slice(-2).join('')).not.toContain(taskId);
      expect(lines.at(-1)).toContain('no task [task], nor [task]');
    }
    log.error('failed', { error: new EngineError('REMOTE_TASK_LOST', 'about it', { details: { taskId: 't' } }) });
    expect(lines.at(-1)).toContain('about it');
  });

  it('takes what JSON cannot hold', () => {
    const { log, last } = aLog();
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    log.info('odd', { big: 10n, loop, nothing: undefined });
    expect(last()).toMatchObject({ big: '10' });
  });
});
