import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import type { RemoteCall } from '../../lib/workflow/context.js';
import { dataOf } from '../../lib/workflow/outcome.js';
import { tokens } from './engine-deps.js';

/** Number of times that a step ran in this process. */
export const stepRuns = { count: 0 };

const calls: Readonly<Record<'mcp' | 'a2a', RemoteCall>> = {
  mcp: { server: 'remote', tool: 'start_export', arguments: { month: '2026-10' }, timeout: { hours: 6 } },
  a2a: { server: 'remote', skill: 'quote', arguments: { article: 'gear', quantity: 3 }, timeout: { hours: 6 } },
};

/** A step, a remote task, and a step that sees the results of both. */
export const reportWorkflow = defineWorkflow<{ readonly protocol: 'mcp' | 'a2a' }>({
  name: 'report',
  async run(ctx, { protocol }) {
    const before = await ctx.step('before', () => {
      stepRuns.count += 1;
      return 'prepared';
    });
    const outcome = await ctx.callRemoteTask(calls[protocol]);
    return ctx.step('after', () => {
      stepRuns.count += 1;
      return { before, remote: dataOf(outcome) };
    });
  },
});

/** Key of the start, which each process repeats as a caller without an answer does. */
export const startKey = 'the-run';
export const reportRunId = tokens.keyedRunId('report', startKey);
