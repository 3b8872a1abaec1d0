import { describe, expect, it } from 'vitest';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aClient } from './client.js';
import { aWorld } from './world.js';

const run = async (): Promise<null> => null;
const period = { seconds: 10 };
const workflows = [
  defineWorkflow({ name: 'any', run: async (ctx) => ctx.signal('done') }),
  defineWorkflow({ name: 'one', concurrency: { key: () => 'k', whenBusy: 'refuse' }, run }),
  defineWorkflow({ name: 'few', throttle: { limit: 1, period, whenExceeded: 'refuse' }, run }),
  defineWorkflow({ name: 'last', debounce: { period }, run }),
];

interface Order {
  readonly customer: string;
}

const key = ({ customer }: Order): string => customer;
const keyed = [
  defineWorkflow<Order>({ name: 'concurrency', concurrency: { key }, run }),
  defineWorkflow<Order>({ name: 'throttle', throttle: { key, limit: 1, period }, run }),
  defineWorkflow<Order>({ name: 'debounce', debounce: { key, period }, run }),
];

function newClient() {
  const { ask } = aClient(aWorld(workflows));
  return (body: object) => ask('POST', '/runs', { body });
}

describe('POST /runs of limited starts', () => {
  it('takes a concurrency key, and shows it', async () => {
    const client = aClient(aWorld(workflows));
    const body = { workflow: 'any', concurrencyKey: 'k' };
    const [first, second] = [
      await client.ask('POST', '/runs', { body }),
      await client.ask('POST', '/runs', { body }),
    ].map((answer) => (answer.body as { runId: string }).runId);
    expect((await client.ask('GET', `/runs/${second}`)).body).toMatchObject({
      concurrencyKey: 'k',
      afterRunId: first,
    });
    expect((await client.ask('GET', `/runs/${second}/why`)).body).toMatchObject({ afterRunId: first });
  });

  it('answers 409 while a run with the key is under way', async () => {
    const start = newClient();
    const { runId } = (await start({ workflow: 'one' })).body as { runId: string };
    expect(await start({ workflow: 'one' })).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'CONCURRENCY_KEY_BUSY',
          message: `run ${runId} with this concurrency key is under way`,
          details: { runId, status: 'running' },
        },
      },
    });
  });

  it('answers 429 and says when to ask again', async () => {
    const start = newClient();
    await start({ workflow: 'few' });
    const refused = await start({ workflow: 'few' });
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'START_THROTTLED' } } });
    const { error } = refused.body as { error: { message: string; details: { retryAtMs: number } } };
    expect(error.message).toContain(`no more runs before ${new Date(error.details.retryAtMs).toISOString()}: `);
    expect(refused.headers.get('retry-after')).toBe('10');
  });

  it('answers 200 for a debounced start', async () => {
    const start = newClient();
    const first = await start({ workflow: 'last' });
    const { runId } = first.body as { runId: string };
    expect(first.status).toBe(201);
    expect(await start({ workflow: 'last' })).toMatchObject({ status: 200, body: { runId, debounced: true } });
  });

  it.each(keyed)('answers 400 for an input from which no key of a $name can be computed', async ({ name }) => {
    const { ask } = aClient(aWorld(keyed));
    for (const input of [undefined, null, { customer: 5 }, { customer: null }, { customer: ['a'] }]) {
      // JSON leaves out an input that is undefined.
      const body = { workflow: name, input };
      expect(await ask('POST', '/runs', { body })).toMatchObject({
        status: 400,
        body: { error: { code: 'INPUT_INVALID' } },
      });
    }
  });
});
