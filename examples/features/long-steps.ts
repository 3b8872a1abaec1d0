import { defineWorkflow } from 'outwait';

export const buildIndex = defineWorkflow({
  name: 'buildIndex',
  async run(ctx) {
    return ctx.step(
      'build',
      async ({ progress, report, signal }) => {
        let page = typeof progress === 'number' ? progress : 0;
        for (; page < 500 && !signal.aborted; page++) {
          await indexPage(page);
          // Saved every 20 s: if the process dies, the next attempt continues from here.
          report(page + 1);
        }
        return page;
      },
      { long: true, timeout: { minutes: 14 }, heartbeatTimeout: { minutes: 1 }, deadline: { hours: 6 } },
    );
  },
});

/** Stands for work that takes a second. */
async function indexPage(page: number): Promise<void> {
  await Promise.resolve(page);
}
