import { describe, expect, it } from 'vitest';
import { defined } from '../../../lib/base/defined.js';
import { EngineError } from '../../../lib/base/errors.js';
import { mcpServer } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aClient, errorOf, startedRun } from './client.js';
import { aWorld } from './world.js';

interface Page {
  readonly waits: readonly { readonly runId: string; readonly waitId: string; readonly token: string }[];
  readonly nextAfter?: string;
}

describe('GET /activities/external without a run (EN-5, S0-66)', () => {
  it('lists the open waits of all runs under way, the newest first, with what settles them', async () => {
    const client = aClient();
    const remote = await startedRun(client, 'waits');
    client.world.clock.atMs += 1_000;
    const promise = await startedRun(client, 'talks');
    await client.ask('POST', `/runs/${promise}/signals/say`);
    await client.world.runTurns();
    await startedRun(client, 'echo');
    const { status, body } = await client.ask('GET', '/activities/external');
    expect(status).toBe(200);
    expect(body).toEqual({
      waits: [
        {
          runId: promise,
          waitId: '2',
          kind: 'external',
          name: 'approval',
          sinceMs: 1_800_000_001_000,
          token: client.world.deps.tokens.settleToken({ runId: promise, waitId: '2' }),
        },
        {
          runId: remote,
          waitId: '1',
          kind: 'remoteTask',
          server: 'reports',
          name: 'export',
          taskId: expect.any(String) as string,
          sinceMs: 1_800_000_000_000,
          deadlineAtMs: 1_800_003_600_000,
          token: client.world.deps.tokens.settleToken({ runId: remote, waitId: '1' }),
        },
      ],
    });
    const [{ token } = { token: '' }] = (body as Page).waits;
    await client.ask('POST', `/activities/external/${token}/complete`, { body: { output: { result: 1 } } });
    expect(((await client.ask('GET', '/activities/external')).body as Page).waits).toHaveLength(1);
  });

  it('pages through the runs, and a page without waits still says where to go on', async () => {
    const client = aClient();
    const oldest = await startedRun(client, 'waits');
    for (let n = 0; n < 50; n++) {
      client.world.clock.atMs += 1;
      await startedRun(client, 'talks');
    }
    const found: string[] = [];
    const counts: number[] = [];
    let after: string | undefined;
    do {
      const path = `/activities/external${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`;
      const page = (await client.ask('GET', path)).body as Page;
      counts.push(page.waits.length);
      found.push(...page.waits.map(({ runId }) => runId));
      after = page.nextAfter;
    } while (after !== undefined);
    expect(counts).toEqual([0, 0, 1]);
    expect(found).toEqual([oldest]);
  });

  it('leaves out a run that cannot be read, with a warning (S0-63)', async () => {
    const client = aClient();
    const broken = await startedRun(client, 'waits');
    const fine = await startedRun(client, 'waits');
    const readRun = client.world.deps.store.runs.read.bind(client.world.deps.store.runs);
    client.world.deps.store.runs.read = async (runId) => {
      if (runId === broken) throw new EngineError('PAYLOAD_UNREADABLE', 'a stored payload cannot be read: no key');
      return readRun(runId);
    };
    const { waits } = (await client.ask('GET', '/activities/external')).body as Page;
    expect(waits.map(({ runId }) => runId)).toEqual([fine]);
    expect(client.world.lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        event: 'run skipped: it cannot be read',
        fields: { runId: broken, code: 'PAYLOAD_UNREADABLE', reason: 'a stored payload cannot be read: no key' },
      },
    ]);
  });

  it('gives tokens only to callers that may manage runs (S0-62)', async () => {
    const client = aClient(undefined, { managementTokens: () => ['canary-s3cret'] });
    const answer = await client.ask('GET', '/activities/external');
    expect([answer.status, errorOf(answer).code]).toEqual([401, 'UNAUTHORIZED']);
  });
});

/** Waits for a task that somebody else has begun, under the same id at two servers. */
const attaching = (server: string) =>
  defineWorkflow({ name: `at-${server}`, run: (ctx) => ctx.attachRemoteTask({ server, taskId: 'job-7' }) });

function twoServers() {
  const labs = mcpServer({ url: 'https://labs.example.com/mcp' });
  const world = aWorld([attaching('reports'), attaching('labs')], { labs });
  world.reports.begin('job-7', { never: true });
  return aClient(world);
}

describe('GET /activities/external with a server (S0-103, S2-10)', () => {
  const waitsAt = async (client: ReturnType<typeof aClient>, query: string) =>
    (await client.ask('GET', `/activities/external?${query}`)).body as Page;

  it('finds the wait for a task by its server and id, where two servers use the same id', async () => {
    const client = twoServers();
    const atReports = await startedRun(client, 'at-reports');
    const atLabs = await startedRun(client, 'at-labs');
    await startedRun(client, 'waits');
    const found = await waitsAt(client, 'server=labs&taskId=job-7');
    expect(found).toMatchObject({ waits: [{ runId: atLabs, server: 'labs', taskId: 'job-7' }] });
    expect(found.waits).toHaveLength(1);
    const { token } = found.waits[0]!;
    const complete = { body: { output: { result: 1 } }, headers: { authorization: `Bearer ${token}` } };
    expect((await client.ask('POST', '/activities/external/complete', complete)).body).toEqual({ settled: true });
    await client.world.runTurns();
    const statuses = [];
    for (const runId of [atReports, atLabs])
      statuses.push(((await client.ask('GET', `/runs/${runId}`)).body as { status: string }).status);
    expect(statuses).toEqual(['running', 'completed']);
    expect((await waitsAt(client, 'server=labs&taskId=job-7')).waits).toEqual([]);
    expect((await waitsAt(client, 'server=reports&taskId=job-7')).waits).toMatchObject([{ runId: atReports }]);
  });

  it('lists the waits for all tasks of a server, or of one run', async () => {
    const client = twoServers();
    const attached = await startedRun(client, 'at-reports');
    await startedRun(client, 'at-labs');
    client.world.clock.atMs += 1;
    const called = await startedRun(client, 'waits');
    const runsOf = async (query: string) => (await waitsAt(client, query)).waits.map(({ runId }) => runId);
    expect(await runsOf('server=reports')).toEqual([called, attached]);
    expect(await runsOf('server=nobody')).toEqual([]);
    expect(await runsOf('server=reports&taskId=nothing')).toEqual([]);
    expect(await runsOf(`run=${attached}&server=reports&taskId=job-7`)).toEqual([attached]);
    expect(await runsOf(`run=${attached}&server=labs`)).toEqual([]);
    expect(await runsOf(`run=${attached}&server=reports&taskId=job-8`)).toEqual([]);
  });

  it('pages as without one, and reads the histories of no other runs', async () => {
    const client = twoServers();
    const oldest = await startedRun(client, 'at-labs');
    for (let n = 0; n < 25; n++) {
      client.world.clock.atMs += 1;
      await startedRun(client, 'at-reports');
    }
    const { runs } = client.world.deps.store;
    const readRun = runs.read.bind(runs);
    const read: string[] = [];
    runs.read = (runId) => {
      read.push(runId);
      return readRun(runId);
    };
    const first = await waitsAt(client, 'server=labs&taskId=job-7');
    expect([first.waits, read]).toEqual([[], []]);
    const query = new URLSearchParams({ server: 'labs', taskId: 'job-7', after: first.nextAfter! });
    const second = await waitsAt(client, query.toString());
    expect(second.waits.map(({ runId }) => runId)).toEqual([oldest]);
    expect([second.nextAfter, read]).toEqual([undefined, [oldest]]);
  });

  it.each([
    ['taskId=job-7', '', 'takes taskId only with server'],
    ['run=0&taskId=job-7', '', 'takes taskId only with server'],
    ['server=', 'server', undefined],
    ['server=reports&taskId=', 'taskId', undefined],
    [`server=${'x'.repeat(1_025)}`, 'server', undefined],
  ])('refuses %s', async (query, path, message) => {
    const answer = await twoServers().ask('GET', `/activities/external?${query}`);
    const issue = expect.objectContaining({ path, ...defined({ message }) }) as unknown;
    expect([answer.status, errorOf(answer)]).toMatchObject([
      400,
      { code: 'INPUT_INVALID', details: { issues: [issue] } },
    ]);
  });

  it('gives tokens only to callers that may manage runs', async () => {
    const client = aClient(undefined, { managementTokens: () => ['canary-s3cret'] });
    expect((await client.ask('GET', '/activities/external?server=reports&taskId=job-7')).status).toBe(401);
  });
});
