import { defineWorkflow } from 'outwait';

export const twoQuotes = defineWorkflow({
  name: 'twoQuotes',
  run: async (ctx) => {
    const suppliers = ['supplier', 'otherSupplier', 'thirdSupplier'] as const;
    const quotes = await ctx.some(
      2,
      suppliers.map((server) => async (branch) => branch.callRemoteTask({ server, skill: 'quote' })),
    );
    return quotes.map(({ index }) => suppliers[index] ?? '');
  },
});
