import { describe, expect, it } from 'vitest';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aClient, errorOf, startedRun } from './client.js';
import { aWorld } from './world.js';

describe('GET /runs/{id}/result (S0-189)', () => {
  it('answers 204 and says when to ask again while the run is under way', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const answer = await client.ask('GET', `/runs/${runId}/result`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([204, '5']);
  });

  it('answers with the outcome when the run has ended', async () => {
    const client = aClient();
    const runId = await startedRun(client, 'echo');
    expect(await client.ask('GET', `/runs/${runId}/result?wait=5`)).toMatchObject({
      status: 200,
      body: { runId, outcome: { status: 'completed', result: { said: 'x' } } },
    });
  });

  it('waits for the end', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    let looks = 0;
    const { deps } = client.world;
    const waiting = { ...client.world, deps: { ...deps, delay: async (delayMs: number) => end(delayMs) } };
    async function end(delayMs: number): Promise<void> {
      client.world.clock.atMs += delayMs;
      if (++looks < 3) return;
      await client.ask('POST', `/runs/${runId}/terminate`);
      await client.world.runTurns();
    }
    const answer = await aClient(waiting).ask('GET', `/runs/${runId}/result?wait=20`);
    expect(answer).toMatchObject({ status: 200, body: { outcome: { status: 'terminated' } } });
    expect(looks).toBe(3);
  });

  it('answers 404 for an unknown run, and 400 for an invalid wait', async () => {
    const { ask } = aClient();
    expect((await ask('GET', `/runs/${'0'.repeat(32)}/result`)).status).toBe(404);
    const refused = await ask('GET', `/runs/${'0'.repeat(32)}/result?wait=21`);
    expect([refused.status, errorOf(refused).code]).toEqual([400, 'INPUT_INVALID']);
  });
});

describe('F14 GET of a run that has gone on as others', () => {
  const rounds = defineWorkflow<{ round: number }>({
    name: 'rounds',
    run: async (ctx, { round }) => {
      ctx.onQuery('round', () => round);
      if (round < 3) return ctx.continueAsNew({ round: round + 1 });
      const { promise } = await ctx.promise({ name: 'approval' });
      return promise;
    },
  });

  async function aChain() {
    const client = aClient(aWorld([rounds]));
    const body = { workflow: 'rounds', input: { round: 1 }, id: 'r' };
    const { runId } = (await client.ask('POST', '/runs', { body })).body as { runId: string };
    await client.world.runTurns();
    const next = async (id: string): Promise<string> =>
      ((await client.ask('GET', `/runs/${id}`)).body as { nextRunId: string }).nextRunId;
    const lastRunId = await next(await next(runId));
    return { client, body, runId, lastRunId };
  }

  it('its result is that of the last, which is named beside it', async () => {
    const { client, runId, lastRunId } = await aChain();
    expect((await client.ask('GET', `/runs/${runId}/result`)).status).toBe(204);
    await client.ask('POST', `/runs/${runId}/cancel`);
    await client.world.runTurns();
    expect((await client.ask('GET', `/runs/${runId}/result`)).body).toEqual({
      runId,
      lastRunId,
      outcome: { status: 'cancelled' },
    });
    expect((await client.ask('GET', `/runs/${lastRunId}/result`)).body).not.toHaveProperty('lastRunId');
  });

  it('its queries are answered by the last, which is named', async () => {
    const { client, runId, lastRunId } = await aChain();
    expect((await client.ask('POST', `/runs/${runId}/queries/round`)).body).toEqual({ result: 3, lastRunId });
    expect((await client.ask('POST', `/runs/${lastRunId}/queries/round`)).body).toEqual({ result: 3 });
  });

  it('its waits are those of the last, and its events name the next run', async () => {
    const { client, runId, lastRunId } = await aChain();
    expect((await client.ask('GET', `/activities/external?run=${runId}`)).body).toMatchObject({
      waits: [{ runId: lastRunId, name: 'approval' }],
    });
    const { nextRunId } = (await client.ask('GET', `/runs/${runId}`)).body as { nextRunId: string };
    for (const view of ['events', 'history', 'why'])
      expect((await client.ask('GET', `/runs/${runId}/${view}`)).body).toMatchObject({ nextRunId });
  });

  it('its id finds the last, and a start that replaces it says for whom it waits', async () => {
    const { client, body, lastRunId } = await aChain();
    expect((await client.ask('POST', '/runs', { body })).body).toEqual({ runId: lastRunId, deduplicated: true });
    const replacing = await client.ask('POST', '/runs', { body: { ...body, whenRunning: 'terminate' } });
    const { runId } = replacing.body as { runId: string };
    expect(replacing.status).toBe(201);
    expect((await client.ask('GET', `/runs/${runId}`)).body).toMatchObject({
      status: 'running',
      afterRunId: lastRunId,
    });
    expect((await client.ask('GET', `/runs/${runId}/why`)).body).toMatchObject({ afterRunId: lastRunId });
  });
});

describe('F24 POST /runs with a known key', () => {
  const body = { workflow: 'echo', input: { text: 'x' }, key: 'k' };

  it('answers 409 for another body, with digests and no content', async () => {
    const { ask } = aClient();
    const { runId } = (await ask('POST', '/runs', { body })).body as { runId: string };
    const refused = await ask('POST', '/runs', { body: { ...body, input: { text: 'secret' } } });
    expect(refused).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'KEY_REUSED',
          details: {
            runId,
            usedDigest: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
            sentDigest: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
          },
        },
      },
    });
    expect(JSON.stringify(refused.body)).not.toContain('secret');
    expect((await ask('POST', '/runs', { body })).status).toBe(200);
  });

  it.each([
    ['is no JSON', '{"workflow":'],
    ['has an unknown field', { ...body, colour: 'red' }],
    ['has a tag that is none', { ...body, tags: { a: 1 } }],
  ])('answers 400 for one that %s, whether the key is known or not', async (_, broken) => {
    const { ask } = aClient();
    const headers = { 'idempotency-key': 'k' };
    expect((await ask('POST', '/runs', { body: broken, headers })).status).toBe(400);
    await ask('POST', '/runs', { body });
    expect((await ask('POST', '/runs', { body: broken, headers })).status).toBe(400);
  });

  it('answers 409 for a cancel with a known request id and another reason', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const cancel = (reason: string) =>
      client.ask('POST', `/runs/${runId}/cancel`, { body: { requestId: 'r', reason } });
    expect((await cancel('one')).status).toBe(202);
    expect((await cancel('one')).status).toBe(202);
    expect(await cancel('two')).toMatchObject({ status: 409, body: { error: { code: 'KEY_REUSED' } } });
  });
});
