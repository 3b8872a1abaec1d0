import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { run } from './in-process.js';

const runId = 'ab'.repeat(16);

/** An engine that answers as the test says and records its requests. */
let server: Server;
let url: string;
let asked: string[] = [];
let answers: Record<string, readonly [status: number, body: object]> = {};

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const [status, body] = answers[(request.url ?? '').split('?')[0] ?? ''] ?? [500, {}];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => {
  asked = [];
  answers = {};
});

const ask = (...args: readonly string[]) => run('remote', ...args, '--url', url);

describe('outwait remote ls', () => {
  const task = {
    runId,
    waitId: '1',
    server: 'reports',
    taskId: 'task\u001b-1',
    state: 'left',
    sinceMs: 1_767_225_600_000,
  };

  it('prints a table, with the way to the next page (GB-32)', async () => {
    answers['/remote-tasks'] = [200, { tasks: [task], nextAfter: 'x1' }];
    const { code, out } = await ask('ls', '--orphaned', '--server', 'reports', '--limit', '5', '--after', 'x0');
    expect(code).toBe(0);
    expect(asked).toEqual(['GET /remote-tasks?limit=5&orphaned=true&server=reports&after=x0']);
    expect(out).toContain('RUN                               WAIT  SERVER   TASK');
    expect(out).toMatch(
      new RegExp(`^${runId} {2}1 {5}reports {2}task\\S*-1 {2,}left {3}2026-01-01T00:00:00.000Z {2}\\d+d \\d+h`, 'm'),
    );
    expect(out).not.toContain('\u001b');
    expect(out).toContain("--after 'x1'");
  });

  it('says so when there are none, and gives JSON', async () => {
    answers['/remote-tasks'] = [200, { tasks: [] }];
    expect((await ask('ls')).out).toBe('no remote tasks\n');
    expect((await ask('ls', '--json')).out).toBe('{"tasks":[]}\n');
  });
});

describe('outwait remote get', () => {
  const path = '/remote-tasks/reports';
  const atMs = 1_767_225_600_000;
  const reading = {
    ...{ server: 'reports', taskId: 'task/1 a', kind: 'working', state: 'working', message: 'count\u001bing' },
    ...{ progress: 1, total: 3, atMs },
    waits: [{ runId, waitId: '2', open: true, nextAtMs: atMs, deadlineAtMs: atMs + 60_000 }],
    next: 'the run that waits for the task reads it again by itself',
  };

  it('reads the task of the server, and shows what it says, who waits, and what to do next', async () => {
    answers[path] = [200, reading];
    expect(await ask('get', 'reports', 'task/1 a')).toEqual({
      code: 0,
      out: [
        'task       task/1 a on reports',
        'state      working (1 of 3): "count\\u{1b}ing"',
        `held by    run ${runId}, wait 2, next read 2026-01-01T00:00:00.000Z, deadline 2026-01-01T00:01:00.000Z`,
        'next       the run that waits for the task reads it again by itself',
        '',
      ].join('\n'),
      err: '',
    });
    expect(asked).toEqual([`GET ${path}?taskId=task%2F1+a`]);
    expect(JSON.parse((await ask('get', 'reports', 'task/1 a', '--json')).out)).toEqual(reading);
  });

  it.each([
    ['ended', 0],
    ['missing', 1],
    ['unreadable', 1],
  ])('gives the exit code of a task that is %s', async (kind, code) => {
    const error = { code: 'REMOTE_TASK_LOST', message: 'no such task' };
    answers[path] = [200, { ...reading, kind, state: undefined, error, waits: [], partlySearched: true }];
    const answer = await ask('get', 'reports', 'x');
    expect(answer.code).toBe(code);
    expect(answer.out).toContain(
      `state      ${kind}\nerror      REMOTE_TASK_LOST: no such task\nheld by    no run under way\n`,
    );
    expect(answer.out).toContain('only the 500 newest runs under way were searched');
  });

  it('ends with 1 if no server has that name, and with 2 without a task', async () => {
    const error = { code: 'REMOTE_TASK_NOT_FOUND', message: 'no server is named "reports"; known servers: none' };
    answers[path] = [404, { error }];
    expect(await ask('get', 'reports', 'x')).toMatchObject({
      code: 1,
      err: `outwait: ${error.message} (REMOTE_TASK_NOT_FOUND)\n`,
    });
    asked = [];
    expect((await ask('get', 'reports')).code).toBe(2);
    expect(asked).toEqual([]);
  });
});

describe('outwait remote cancel and poll', () => {
  it('say what came of it (GB-32, GB-36)', async () => {
    answers[`/runs/${runId}/waits/2/cancel-remote`] = [200, { cancelled: true }];
    answers[`/runs/${runId}/waits/2/poll`] = [202, { accepted: true }];
    expect(await ask('cancel', runId, '2')).toMatchObject({ code: 0, out: 'cancelled\n' });
    expect(await ask('poll', runId, '2')).toMatchObject({ code: 0, out: 'accepted\n' });
  });

  it.each([
    ['refused', 'not cancelled: the server refused: it has ended\n'],
    ['unanswered', 'not cancelled: the server gave no usable answer: it has ended\n'],
  ])('end with 1 when the server %s', async (reason, out) => {
    const error = { code: 'REMOTE_UNREACHABLE', message: 'it has ended' };
    answers[`/runs/${runId}/waits/2/cancel-remote`] = [200, { cancelled: false, reason, error }];
    expect(await ask('cancel', runId, '2')).toMatchObject({ code: 1, out });
  });

  it('end with 1 if the task is not waited for or does not exist', async () => {
    answers[`/runs/${runId}/waits/2/poll`] = [202, { accepted: false }];
    const none = { code: 'REMOTE_TASK_NOT_FOUND', message: 'no remote task is known for this wait of this run' };
    answers[`/runs/${runId}/waits/3/poll`] = [404, { error: none }];
    expect(await ask('poll', runId, '2')).toMatchObject({
      code: 1,
      out: 'not accepted: the run no longer waits for the task\n',
    });
    expect((await ask('poll', runId, '3')).err).toBe(`outwait: ${none.message} (${none.code})\n`);
  });

  it.each([['', '1'], [runId, 'first'], [runId]])('end with 2 for %s %s', async (...args) => {
    expect((await ask('cancel', ...args)).code).toBe(2);
    expect(asked).toEqual([]);
  });
});

describe('outwait waits', () => {
  it('asks for the waits for tasks of a server, or for one task, and keeps the page', async () => {
    answers['/activities/external'] = [200, { waits: [] }];
    const waits = (...args: readonly string[]) => run('waits', ...args, '--url', url);
    await waits('--server', 'reports');
    await waits('--server', 'reports', '--task', 'a b', '--after', 'x0');
    await waits('--run', runId, '--server', 'reports');
    expect(asked).toEqual([
      'GET /activities/external?server=reports',
      'GET /activities/external?server=reports&taskId=a+b&after=x0',
      `GET /activities/external?run=${runId}&server=reports`,
    ]);
    const message = 'the query is not valid: takes taskId only with server';
    answers['/activities/external'] = [400, { error: { code: 'INPUT_INVALID', message } }];
    expect(await waits('--task', 'a')).toMatchObject({ code: 1, err: `outwait: ${message} (INPUT_INVALID)\n` });
  });
});
