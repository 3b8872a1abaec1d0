import { describe, expect, it } from 'vitest';
import { aClient, errorOf, startedRun } from './client.js';

describe('POST /runs with an id of the caller', () => {
  const order = { workflow: 'echo', input: { text: 'hi' }, id: 'order 4711' };

  it('answers 201 for the first and 200 with the same run for the next', async () => {
    const { ask } = aClient();
    const first = await ask('POST', '/runs', { body: order });
    const second = await ask('POST', '/runs', { body: order });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body).toEqual({ ...(first.body as object), deduplicated: true });
  });

  it('answers 409 with the run where the policy says fail', async () => {
    const { ask } = aClient();
    const first = await ask('POST', '/runs', { body: order });
    const refused = await ask('POST', '/runs', { body: { ...order, whenRunning: 'fail' } });
    expect(refused.status).toBe(409);
    expect(errorOf(refused)).toMatchObject({
      code: 'RUN_EXISTS',
      details: { ...(first.body as object), status: 'running' },
    });
  });

  it.each([
    ['an id and a key', { ...order, key: 'k' }],
    ['a policy without an id', { workflow: 'echo', whenRunning: 'fail' }],
    ['an unknown policy', { ...order, whenEnded: 'never' }],
  ])('answers 400 for %s, and changes nothing', async (_, body) => {
    const { ask, world } = aClient();
    const refused = await ask('POST', '/runs', { body });
    expect([refused.status, errorOf(refused).code]).toEqual([400, 'INPUT_INVALID']);
    expect(world.dump()).toBe('[]');
  });
});

describe('POST /activities/external/{token}/heartbeat', () => {
  it.each([
    ['text', { extendBySeconds: '60' }],
    ['nothing', {}],
    ['less than a second', { extendBySeconds: 0.5 }],
    ["a remote task, whose deadline is the workflow's", { extendBySeconds: 60 }],
  ])('answers 400 for %s, and changes nothing', async (_, body) => {
    const client = aClient();
    const runId = await startedRun(client);
    const waits = (await client.ask('GET', `/activities/external?run=${runId}`)).body as { waits: { token: string }[] };
    const before = client.world.dump();
    const refused = await client.ask('POST', `/activities/external/${waits.waits[0]!.token}/heartbeat`, { body });
    expect([refused.status, errorOf(refused).code]).toEqual([400, 'INPUT_INVALID']);
    expect(client.world.dump()).toBe(before);
  });

  it('answers 404 for a forged token', async () => {
    const refused = await aClient().ask('POST', '/activities/external/forged/heartbeat', {
      body: { extendBySeconds: 60 },
    });
    expect([refused.status, errorOf(refused).code]).toEqual([404, 'TOKEN_INVALID']);
  });
});
