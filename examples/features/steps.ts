import { defineWorkflow, NonRetryableError } from 'outwait';

export const importRows = defineWorkflow({
  name: 'importRows',
  async run(ctx) {
    const rows = await ctx.step(
      'import',
      async (step) => {
        let row = typeof step.progress === 'number' ? step.progress : 0;
        for (; row < 1_000; row += 100) {
          await send(row, step.subKey(`${row}`), step.signal);
          step.report(row + 100);
        }
        return row;
      },
      {
        timeout: { seconds: 30 },
        deadline: { hours: 2 },
        retry: { maxAttempts: 10, initialInterval: { seconds: 5 }, jitter: 0.5, nonRetryable: ['SyntaxError'] },
      },
    );
    await ctx.step('notify', () => undefined, { atMostOnce: true });
    return rows;
  },
});

/** Stands for a request to a server that has asked for a lower rate. */
async function send(row: number, key: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new NonRetryableError(`stopped at row ${row}`);
  await Promise.resolve(key);
}
