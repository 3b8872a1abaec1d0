import { describe, expect, it } from 'vitest';
import { aClient, errorOf, startedRun } from './client.js';

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

  it('answers 404 for no run, and 400 for a wait that is none', async () => {
    const { ask } = aClient();
    expect((await ask('GET', `/runs/${'0'.repeat(32)}/result`)).status).toBe(404);
    const refused = await ask('GET', `/runs/${'0'.repeat(32)}/result?wait=21`);
    expect([refused.status, errorOf(refused).code]).toEqual([400, 'INPUT_INVALID']);
  });
});
