import { defineWorkflow, hasCode } from 'outwait';
import { randomInt } from 'node:crypto';
import { z } from 'zod';

/** The data that the skill `quote` puts into its artifact. */
const quoted = z.object({ totalCents: z.int(), currency: z.string() });

/** Asks a supplier's agent for a price, which may take days, and compares it with the budget. */
export const supplierQuote = defineWorkflow({
  name: 'supplierQuote',
  input: z.object({ article: z.string().min(1), quantity: z.int(), budgetCents: z.int() }),
  async run(ctx, { article, quantity, budgetCents }) {
    // Random, so it belongs in a step: every replay sees the recorded number.
    const reference = await ctx.step('number the request', () => `RFQ-${randomInt(100_000, 1_000_000)}`);

    try {
      const { data } = await ctx.callRemoteTask({
        server: 'supplier',
        skill: 'quote',
        arguments: { reference, article, quantity },
        timeout: { days: 2 },
        output: quoted,
      });
      const { totalCents, currency } = data;
      return { status: totalCents <= budgetCents ? 'within budget' : 'too dear', reference, totalCents, currency };
    } catch (error) {
      if (hasCode(error, 'REMOTE_TASK_REJECTED')) return { status: 'declined', reference };
      throw error;
    }
  },
});
