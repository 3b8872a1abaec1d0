import { describe, expect, it } from 'vitest';
import { aClient, errorOf, startedRun } from './client.js';

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
    const client = aClient(undefined, { managementTokens: () => ['secret'] });
    for (const path of ['/remote-tasks', '/remote-tasks?orphaned=true'])
      expect((await client.ask('GET', path)).status).toBe(401);
    const paths = [`/runs/${someId}/waits/1/cancel-remote`, `/runs/${someId}/waits/1/poll`];
    for (const path of paths) expect((await client.ask('POST', path)).status).toBe(401);
    const headers = { authorization: 'Bearer secret' };
    expect((await client.ask('GET', '/remote-tasks', { headers })).status).toBe(200);
  });

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
