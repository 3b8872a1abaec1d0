import { describe, expect, it } from 'vitest';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aClient, errorOf, startedRun } from './client.js';
import { aWorld } from './world.js';

const asks = defineWorkflow({
  name: 'asks',
  run: (ctx) =>
    ctx.ask({
      message: 'Which cost centre?',
      schema: {
        type: 'object',
        properties: { costCentre: { type: 'string', maxLength: 4 } },
        required: ['costCentre'],
      },
      timeout: { hours: 1 },
    }),
});

const aClientThatAsks = () => aClient(aWorld([asks]));

async function asked(client: ReturnType<typeof aClient>) {
  const runId = await startedRun(client, 'asks');
  return { runId, inputId: `${runId}.1` };
}

const accept = (costCentre: unknown) => ({ body: { action: 'accept', content: { costCentre } } });

describe('GET /inputs', () => {
  it('lists what waits for a person, oldest first, page by page', async () => {
    const client = aClientThatAsks();
    const first = await asked(client);
    client.world.clock.atMs += 1_000;
    const second = await asked(client);
    const page = (await client.ask('GET', '/inputs?limit=1')).body as { inputs: object[]; cursor: string };
    expect(page.inputs).toEqual([
      {
        inputId: first.inputId,
        runId: first.runId,
        message: 'Which cost centre?',
        schema: {
          type: 'object',
          properties: { costCentre: { type: 'string', maxLength: 4 } },
          required: ['costCentre'],
        },
        sinceMs: 1_800_000_000_000,
        deadlineAtMs: 1_800_003_600_000,
      },
    ]);
    const next = await client.ask('GET', `/inputs?limit=1&cursor=${encodeURIComponent(page.cursor)}`);
    expect((next.body as typeof page).inputs).toMatchObject([{ inputId: second.inputId }]);
    expect((await client.ask('GET', `/inputs/${second.inputId}`)).body).toMatchObject({ runId: second.runId });
  });
});

describe('POST /inputs/{id}', () => {
  it('answers once; a second answer is told so and changes nothing', async () => {
    const client = aClientThatAsks();
    const { runId, inputId } = await asked(client);
    expect(await client.ask('POST', `/inputs/${inputId}`, accept('4711'))).toMatchObject({
      status: 200,
      body: { answered: true },
    });
    const before = client.world.dump();
    expect((await client.ask('POST', `/inputs/${inputId}`, { body: { action: 'decline' } })).body).toEqual({
      answered: false,
      reason: 'already_settled',
    });
    expect(client.world.dump()).toBe(before);
    await client.world.runTurns();
    expect((await client.ask('GET', `/runs/${runId}`)).body).toMatchObject({
      outcome: { status: 'completed', result: { action: 'accept', content: { costCentre: '4711' } } },
    });
    expect((await client.ask('GET', '/inputs')).body).toEqual({ inputs: [] });
    expect((await client.ask('POST', `/inputs/${inputId}`, accept('4711'))).body).toMatchObject({ answered: false });
  });

  it.each([
    ['content of the wrong type', accept(7), /costCentre/],
    ['content that is too long', accept('47110'), /costCentre/],
    ['no content where some is required', { body: { action: 'accept' } }, /costCentre/],
    ['an unknown action', { body: { action: 'maybe' } }, /action/],
    ['content with a decline', { body: { action: 'decline', content: 1 } }, /content/],
    ['a list', { body: [] }, /./],
  ])('answers 400 for %s, and the question stays open', async (_, init, message) => {
    const client = aClientThatAsks();
    const { inputId } = await asked(client);
    const before = client.world.dump();
    const refused = await client.ask('POST', `/inputs/${inputId}`, init);
    expect([refused.status, errorOf(refused).code]).toEqual([400, 'INPUT_INVALID']);
    expect(errorOf(refused).message).toMatch(message);
    expect(client.world.dump()).toBe(before);
  });

  it.each(['x', '1.1', `${'0'.repeat(32)}.1`, `${'0'.repeat(32)}.1.2`])(
    'answers 404 for the id %s',
    async (inputId) => {
      const refused = await aClientThatAsks().ask('POST', `/inputs/${inputId}`, { body: { action: 'decline' } });
      expect([refused.status, errorOf(refused).code]).toEqual([404, 'INPUT_NOT_FOUND']);
    },
  );

  it('answers 404 for a wait that is not a question', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const refused = await client.ask('POST', `/inputs/${runId}.1`, { body: { action: 'decline' } });
    expect([refused.status, errorOf(refused).code]).toEqual([404, 'INPUT_NOT_FOUND']);
  });
});
