import { defineWorkflow } from 'outwait';
import { z } from 'zod';

/** A workflow that others call: it asks its caller half-way, and hands out what it has as it goes. */
export const ledger = defineWorkflow({
  name: 'ledger',
  input: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/) }),
  run: async (ctx, { month }) => {
    ctx.progress(`Counting the bookings of ${month}.`);
    const pages = await ctx.step('count', () => 3);
    const answer = await ctx.ask({
      to: 'caller',
      message: `There are ${pages} pages. For which cost centre?`,
      schema: z.object({ costCentre: z.number().int() }),
    });
    if (answer.action !== 'accept') return ctx.reject('A ledger needs a cost centre.');
    const { costCentre } = answer.content;
    for (let page = 1; page <= pages; page++) {
      if (page > 1) await ctx.sleep({ seconds: 2 });
      const text = await ctx.step('read', () => `${month}-0${page};${costCentre};${page}00.00`);
      ctx.artifact({ artifactId: 'ledger', text, append: true, lastChunk: page === pages });
    }
    return { month, costCentre, pages };
  },
});
