import { defineApp, defineWorkflow } from 'outwait';

const orderInMay = defineWorkflow({
  name: 'order',
  version: '2026-05',
  run: async (ctx) => {
    await ctx.sleep({ days: 3 });
    return ctx.step('ship', () => 'shipped by post');
  },
});

export const order = defineWorkflow({
  name: 'order',
  version: '2026-11',
  run: async (ctx) => {
    const carrier = await ctx.step('choose a carrier', () => 'bicycle');
    return ctx.step('ship', () => `shipped by ${carrier}`);
  },
});

export const appInMay = defineApp({ workflows: [orderInMay] });

export default defineApp({
  workflows: [order],
  // Runs that were started with this version continue with it. Remove it when none of them is left.
  earlier: [orderInMay],
});
