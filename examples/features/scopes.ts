import { defineWorkflow } from 'outwait';

export const search = defineWorkflow({
  name: 'search',
  async run(ctx) {
    const found = await ctx.scope(async (inner, scope) => {
      const calls = ['a', 'b', 'c'].map((tool) => inner.callRemoteTask({ server: 'reports', tool }));
      const first = await Promise.any(calls);
      scope.cancel();
      return first.result;
    });
    // A cancel of the run does not interrupt this; it takes effect at the next wait outside.
    await ctx.shield((inner) => inner.step('store what was found', () => found));
    return found;
  },
});
