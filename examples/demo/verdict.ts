import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { RemoteStats } from '../servers/remote-server.js';
import type { RunProgress } from './run-progress.js';

export type ServerName = 'reports' | 'supplier';

export interface DemoRun {
  readonly title: string;
  /** The server of the task that it waits for. */
  readonly server: ServerName;
  readonly workflow: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Returns what is wrong with the result of the run, or undefined. */
  readonly problemWith: (result: unknown) => string | undefined;
}

const report = {
  status: 'ready',
  month: '2026-10',
  rows: 410,
  file: 'bookings-2026-10.csv',
  recipients: ['finance@example.com'],
};
const quote = z.strictObject({
  status: z.literal('within budget'),
  // A random value that was recorded before the crash.
  reference: z.string().regex(/^RFQ-\d{6}$/),
  totalCents: z.literal(45_000),
  currency: z.literal('EUR'),
});

export const demoRuns: readonly DemoRun[] = [
  {
    title: 'monthly report',
    server: 'reports',
    workflow: 'monthlyReport',
    input: { month: '2026-10' },
    problemWith: (result) => (isDeepStrictEqual(result, report) ? undefined : `expected ${JSON.stringify(report)}`),
  },
  {
    title: 'supplier quote',
    server: 'supplier',
    workflow: 'supplierQuote',
    input: { article: 'bolt', quantity: 200, budgetCents: 50_000 },
    problemWith: (result) => quote.safeParse(result).error?.message,
  },
];

/** Returns what went wrong, given how each of `demoRuns` ended and what the servers saw. */
export function problemsOf(
  ends: readonly Pick<RunProgress, 'state' | 'result'>[],
  servers: Readonly<Record<ServerName, RemoteStats>>,
): string[] {
  return demoRuns.flatMap(({ title, server, problemWith }, index) => {
    const problems: string[] = [];
    const end = ends[index];
    if (end?.state !== 'completed') problems.push(`${title} did not complete, it is ${end?.state ?? 'not there'}`);
    else {
      const problem = problemWith(end.result);
      if (problem !== undefined) problems.push(`${title} has another result: ${problem}`);
    }
    const starts = servers[server].startCalls.length;
    if (starts !== 1) problems.push(`${server} saw ${starts} calls to start a task, not 1`);
    return problems;
  });
}
