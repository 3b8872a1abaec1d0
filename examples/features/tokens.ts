import { defineWorkflow } from 'outwait';

export const payment = defineWorkflow({
  name: 'payment',
  async run(ctx) {
    const { token, outcome } = await ctx.externalToken({ name: 'bank', timeout: { days: 2 } });
    await ctx.step('ask the bank', ({ idempotencyKey }) => askBank(token, idempotencyKey));
    const { result, isError } = await outcome;
    return isError ? 'refused' : result;
  },
});

/** Stands for a call of the bank's API; the bank posts its answer to `/activities/external/complete`. */
async function askBank(token: string, idempotencyKey: string): Promise<void> {
  await Promise.resolve([token, idempotencyKey]);
}
