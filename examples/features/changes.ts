import { defineWorkflow } from 'outwait';

export const order = defineWorkflow({
  name: 'order',
  async run(ctx) {
    // Runs that passed this point with the old code keep to it.
    if (ctx.patched('check-stock')) await ctx.step('check stock', () => true);
    await ctx.step('charge', () => 'charged');
    await ctx.sleep({ days: 3 });
    return ctx.step('ship', () => 'shipped');
  },
});
