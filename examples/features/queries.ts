import { defineWorkflow } from 'outwait';
import { z } from 'zod';

export const checkout = defineWorkflow({
  name: 'checkout',
  async run(ctx) {
    const items: string[] = [];
    ctx.onQuery('items', () => items);
    while (items.length < 3) {
      items.push(await ctx.signal('add', { schema: z.string() }));
      ctx.progress({ items: items.length, of: 3 });
    }
    return items;
  },
});
