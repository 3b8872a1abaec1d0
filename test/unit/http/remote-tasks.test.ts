import { describe, expect, it } from 'vitest';
import { mcpServer } from '../../../lib/workflow/app.js';
import { aClient, errorOf, startedRun } from './client.js';
import { aWorld } from './world.js';

const someId = '0'.repeat(32);

describe('GET /remote-tasks', () => {
  it('lists the remote tasks of runs under way', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const { status, body } = await client.ask('GET', '/remote-tasks');
    expect(status).toBe(200);
    const task = { state: 'working', stateSinceMs: 1_800_000_000_000, changedAtMs: 1_800_000_000_000 };
    const place = { runId, waitId: '1', server: 'reports', taskId: 'task-1' };
    expect(body).toEqual({ tasks: [{ ...place, state: 'open', sinceMs: 1_800_000_000_000, task }] });
    expect((await client.ask('GET', '/remote-tasks?server=archive')).body).toEqual({ tasks: [] });
    expect((await client.ask('GET', '/remote-tasks?orphaned=true')).body).toEqual({ tasks: [] });
  });

  it('needs the management token (GB-32)', async () => {
    const client = aClient(undefined, { managementTokens: () => ['canary-secret'] });
    for (const path of ['/remote-tasks', '/remote-tasks?orphaned=true'])
      expect((await client.ask('GET', path)).status).toBe(401);
    const paths = [`/runs/${someId}/waits/1/cancel-remote`, `/runs/${someId}/waits/1/poll`];
    for (const path of paths) expect((await client.ask('POST', path)).status).toBe(401);
    const headers = { authorization: 'Bearer canary-secret' };
    expect((await client.ask('GET', '/remote-tasks', { headers })).status).toBe(200);
  });

  it('lists the stale ones alone, by the time of their server or by that of the request (S2-17)', async () => {
    const reports = mcpServer({ url: 'https://reports.example.com/mcp', staleAfter: { minutes: 10 } });
    const client = aClient(aWorld([], { reports }));
    const runId = await startedRun(client);
    const minutesLater = async (minutes: number, ...queries: readonly string[]): Promise<unknown> => {
      client.world.clock.atMs += minutes * 60_000;
      const answers = queries.map((query) => client.ask('GET', `/remote-tasks?${query}`));
      return (await Promise.all(answers)).map(({ body }) =>
        (body as { tasks: { runId: string; stale?: true }[] }).tasks.map((task) => [task.runId, task.stale]),
      );
    };
    expect(await minutesLater(9, 'stale=true', 'stale=true&staleAfter=540', 'stale=false')).toEqual([
      [],
      [[runId, undefined]],
      [[runId, undefined]],
    ]);
    expect(await minutesLater(1, 'stale=true', 'stale=true&staleAfter=601', '')).toEqual([
      [[runId, true]],
      [],
      [[runId, true]],
    ]);
    expect(await minutesLater(0, 'stale=true&server=archive')).toEqual([[]]);
  });

  it.each(['yes', 'staleAfter=0', 'staleAfter=1.5', 'staleAfter=-1', 'staleAfter=315360001', 'staleAfter='])(
    'refuses the query stale=%s',
    async (query) => {
      const path = `/remote-tasks?stale=${query === 'yes' ? query : `true&${query}`}`;
      const answer = await aClient().ask('GET', path);
      expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    },
  );

  it.each(['orphaned=yes', 'limit=0', 'limit=101', 'after=', 'state=open', 'orphaned=true&after=nonsense', 'after=x'])(
    'refuses the query %s',
    async (query) => {
      const answer = await aClient().ask('GET', `/remote-tasks?${query}`);
      expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    },
  );
});

describe('POST /runs/{id}/waits/{waitId}/cancel-remote and /poll', () => {
  it('ask the server to cancel, and have the task read', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const polled = await client.ask('POST', `/runs/${runId}/waits/1/poll`);
    expect([polled.status, polled.body]).toEqual([202, { accepted: true }]);
    const cancelled = await client.ask('POST', `/runs/${runId}/waits/1/cancel-remote`, { body: {} });
    expect([cancelled.status, cancelled.body]).toEqual([200, { cancelled: true }]);
    expect(client.world.reports.cancels).toBe(1);
  });

  it.each(['cancel-remote', 'poll'])('answer 404 for a wait without a remote task: %s', async (what) => {
    const client = aClient();
    const runId = await startedRun(client);
    for (const path of [`/runs/${runId}/waits/9`, `/runs/${runId}/waits/x`, `/runs/${someId}/waits/1`]) {
      const answer = await client.ask('POST', `${path}/${what}`);
      expect([answer.status, errorOf(answer).code]).toEqual([404, 'REMOTE_TASK_NOT_FOUND']);
    }
    const answer = await client.ask('POST', `/runs/nonsense/waits/1/${what}`);
    expect([answer.status, errorOf(answer).code]).toEqual([404, 'RUN_NOT_FOUND']);
  });

  it.each(['cancel-remote', 'poll'])('take no query and no fields: %s', async (what) => {
    const client = aClient();
    const runId = await startedRun(client);
    const before = client.world.dump();
    for (const [path, body] of [
      [`/runs/${runId}/waits/1/${what}?force=1`, {}],
      [`/runs/${runId}/waits/1/${what}`, { force: true }],
    ] as const) {
      const answer = await client.ask('POST', path, { body });
      expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    }
    expect(client.world.dump()).toBe(before);
    expect(client.world.reports.cancels).toBe(0);
  });
});
