import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import { aClient, errorOf, startedRun } from './client.js';

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
    const client = aClient(undefined, { managementTokens: () => ['s3cret'] });
    const answer = await client.ask('GET', '/activities/external');
    expect([answer.status, errorOf(answer).code]).toEqual([401, 'UNAUTHORIZED']);
  });
});
