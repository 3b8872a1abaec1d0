import { defineWorkflow, textOf } from 'outwait';
import { z } from 'zod';

const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'a month is written YYYY-MM');
/** The `structuredContent` of the tool `start_export`. */
const exported = z.object({ rows: z.int(), file: z.string() });

/** Lets the reporting system export the bookings of a month, which takes hours, and returns who receives the file. */
export const monthlyReport = defineWorkflow({
  name: 'monthlyReport',
  input: z.object({ month }),
  async run(ctx, input) {
    // The list may change while the export runs; the step records who was on it when the report was ordered.
    const recipients = await ctx.step('find recipients', () => recipientsOf(input.month));

    const outcome = await ctx.callRemoteTask({
      server: 'reports',
      tool: 'start_export',
      arguments: { month: input.month },
      timeout: { hours: 6 },
      output: exported,
    });
    // The tool ran and reports that it could not do it. That is a result, not an exception.
    if (outcome.isError) return { status: 'no report', month: input.month, reason: textOf(outcome) };

    const { rows, file } = outcome.data;
    return { status: 'ready', month: input.month, rows, file, recipients };
  },
});

/**
 * Returns who receives the report; the last one of a quarter also goes to the board. Stands for a look-up in a
 * directory.
 */
function recipientsOf(ofMonth: string): string[] {
  const endsQuarter = Number(ofMonth.slice(5)) % 3 === 0;
  return endsQuarter ? ['finance@example.com', 'board@example.com'] : ['finance@example.com'];
}
