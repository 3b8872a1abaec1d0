import { defineWorkflow } from 'outwait';

export const fastestQuote = defineWorkflow({
  name: 'fastestQuote',
  run: async (ctx) =>
    ctx.race([
      async (branch) => branch.callRemoteTask({ server: 'supplier', skill: 'quote' }),
      async (branch) => branch.callRemoteTask({ server: 'otherSupplier', skill: 'quote' }),
      async (branch) => branch.sleep({ days: 1 }).then(() => 'no quote within a day'),
    ]),
});
