import { createHash } from 'node:crypto';
import { a2aAgent, defineApp, defineWorkflow, secretsManager, ssmParameter } from 'outwait';

// Uses each right of a function at least once.

/** Hex that compresses to half of its size, which is still more than one item holds. */
const large = createHash('shake256', { outputLength: 400_000 }).update('large').digest('hex');

const patient = defineWorkflow({ name: 'patient', run: (ctx) => ctx.signal('never') });

const child = defineWorkflow({ name: 'child', run: (ctx) => ctx.step('nothing', () => 1) });

const everything = defineWorkflow({
  name: 'everything',
  async run(ctx) {
    await ctx.step('large', () => large);
    await ctx.callRemoteTask({ server: 'supplier', skill: 'quote' });
    await ctx.step('long', failingAtFirst, { long: true, retry: { initialInterval: { seconds: 1 } } });
    await ctx.child(child, null);
    await ctx.signal('go');
    const { promise } = await ctx.promise({ name: 'approval' });
    return promise;
  },
});

/** Has something of each kind that a sweep finds. */
const waiting = defineWorkflow({
  name: 'waiting',
  async run(ctx) {
    await Promise.all([
      ctx.callRemoteTask({ server: 'supplier', skill: 'forever' }),
      // Later than the next sweep, and before the one after it.
      ctx.step('long', failingAtFirst, { long: true, retry: { initialInterval: { seconds: 85 } } }),
    ]);
  },
});

function failingAtFirst({ attempt }: { readonly attempt: number }): string {
  if (attempt === 1) throw new Error('not yet');
  return large;
}

export default defineApp({
  workflows: [everything, waiting, patient, child],
  servers: {
    supplier: a2aAgent({
      url: process.env['SUPPLIER_URL'] ?? 'http://127.0.0.1:4102/a2a',
      allowPrivateAddresses: true,
      auth: {
        bearer: secretsManager('prod/supplier'),
        headers: { 'x-api-key': ssmParameter('/prod/supplier/key') },
      },
      limits: { concurrency: 2, perMinute: 60 },
    }),
  },
  schedules: [
    { name: 'large', workflow: child, input: large, every: { minutes: 1 } },
    { name: 'replaced', workflow: patient, every: { minutes: 1 }, overlap: 'terminate' },
  ],
});
