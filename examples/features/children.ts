import { defineWorkflow } from 'outwait';

interface Region {
  readonly region: string;
}

export const regionReport = defineWorkflow<Region, number>({
  name: 'regionReport',
  run: async (ctx, { region }) => ctx.step('count', () => region.length),
});

export const worldReport = defineWorkflow<{ readonly regions: readonly string[] }>({
  name: 'worldReport',
  async run(ctx, { regions }) {
    // At most four run at a time; the results are in the order of the regions.
    const counts = await ctx.map(
      regions,
      (region) => ctx.child(regionReport, { region }, { timeout: { hours: 6 }, parentClose: 'terminate' }),
      { concurrency: 4 },
    );
    return counts.reduce((sum, count) => sum + count, 0);
  },
});
