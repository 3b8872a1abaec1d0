import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../lib/aws/metrics.js';
import type { RouteOptions } from '../../../lib/http/routes.js';
import { aClient, startedRun } from './client.js';
import { aWorld } from './world.js';

/** Creates a client of an API whose metrics are kept as the lines that they are written in. */
function aCountedClient(options: RouteOptions = {}) {
  const lines: string[] = [];
  const world = aWorld();
  const metrics = createMetrics({
    table: 'outwait-1',
    clock: world.deps.clock,
    write: (line) => void lines.push(line),
  });
  return { client: aClient({ ...world, deps: { ...world.deps, metrics } }, options), lines, world };
}

const line = (name: string) => ({
  _aws: {
    Timestamp: 1_800_000_000_000,
    CloudWatchMetrics: [{ Namespace: 'Outwait', Dimensions: [['Table']], Metrics: [{ Name: name, Unit: 'Count' }] }],
  },
  Table: 'outwait-1',
  [name]: 1,
});

const parsed = (lines: readonly string[]): readonly unknown[] => lines.map((text) => JSON.parse(text) as unknown);

describe('a request that is refused for its token', () => {
  it.each(['complete', 'fail', 'heartbeat'])(
    'to %s is one line of a metric, which holds nothing of the request (I14)',
    async (route) => {
      const { client, lines, world } = aCountedClient();
      const runId = await startedRun(client);
      const token = world.deps.tokens.settleToken({ runId, waitId: '1' });
      const forged = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
      const unknownKey = token.replace('.k1.', '.k9.');
      for (const wrong of ['canary', forged, unknownKey]) {
        const { status } = await client.ask('POST', `/activities/external/${wrong}/${route}`, {
          body: { canary: 'x' },
        });
        expect(status).toBe(404);
        expect(parsed(lines.splice(0))).toEqual([line('PushAuthFailures')]);
      }
    },
  );

  it('is not one whose token is ours, whatever else is wrong with it', async () => {
    const { client, lines, world } = aCountedClient();
    const runId = await startedRun(client);
    const gone = world.deps.tokens.settleToken({ runId, waitId: '77' });
    const token = world.deps.tokens.settleToken({ runId, waitId: '1' });
    const statuses: number[] = [];
    for (const [path, body] of [
      [`/activities/external/${gone}/complete`, { output: { result: 1 } }],
      [`/activities/external/${token}/complete`, {}],
      [`/activities/external/${token}/complete`, { output: { result: {} } }],
      [`/activities/external/${token}/complete`, { output: { result: {} } }],
    ] as const)
      statuses.push((await client.ask('POST', path, { body })).status);
    expect(statuses).toEqual([404, 400, 200, 200]);
    expect(lines).toEqual([]);
  });

  it('of the management counts as one of those, also without any, and as a refusal (I14)', async () => {
    const { client, lines } = aCountedClient({ managementTokens: () => ['canary-right'] });
    const asked = (headers: Record<string, string>) => client.ask('GET', '/runs', { headers });
    expect((await asked({ authorization: 'Bearer canary-right' })).status).toBe(200);
    expect(lines).toEqual([]);
    for (const headers of [{}, { authorization: 'Bearer canary' }, { authorization: 'Basic canary' }]) {
      expect((await asked(headers)).status).toBe(401);
      // `Refusals` has a label, so it is summed up until the end of the invocation.
      expect(parsed(lines.splice(0))).toEqual([line('ManagementAuthFailures')]);
    }
  });

  it('is not counted when the token itself could not be read: that is our failure', async () => {
    const { client, lines } = aCountedClient({ managementTokens: () => Promise.reject(new Error('no secret')) });
    expect((await client.ask('GET', '/runs', { headers: { authorization: 'Bearer canary-right' } })).status).toBe(500);
    expect(lines).toEqual([]);
  });

  it('on an unknown path or with an unknown method is not an attempt to use a token', async () => {
    const { client, lines } = aCountedClient({ managementTokens: () => ['canary-right'] });
    const statuses = [
      (await client.ask('GET', '/admin')).status,
      (await client.ask('GET', '/activities/external/canary/complete')).status,
      (await client.ask('DELETE', '/runs')).status,
    ];
    expect(statuses).toEqual([404, 405, 405]);
    expect(lines).toEqual([]);
  });
});
