import pLimit from 'p-limit';
import { settleToken } from '../lib/operations/requests/settle-token.js';
import { startRun } from '../lib/operations/requests/start-run.js';
import type { Table } from '../lib/store/table.js';
import { defineWorkflow } from '../lib/workflow/define-workflow.js';
import { startLocalEngine } from './local-engine.js';
import { scriptedRemote } from './remote.js';

/** Poll interval that is too long for a poll to happen in between. */
const hourMs = 3_600_000;
/** Starts in parallel; the stand-in must answer each within the timeout of a request. */
const startsAtOnce = 16;

/**
 * Starts `waits` runs that each wait for a remote task, then settles them one by one: returns for each the milliseconds
 * from the call that settles until the workflow's code continues.
 */
export async function wakeLatenciesMs(table: Table, waits: number): Promise<readonly number[]> {
  const goesOn = new Map<string, () => void>();
  const workflow = defineWorkflow({
    name: 'bench',
    run: async (ctx) => {
      await ctx.callRemoteTask({ server: 'reports', tool: 'start_export' });
      goesOn.get(ctx.runId)?.();
    },
  });
  const engine = startLocalEngine({ workflow, table, transports: scriptedRemote({ pollAfterMs: hourMs }) });
  const limit = pLimit(startsAtOnce);
  const runs = await Promise.all(
    Array.from({ length: waits }, () => limit(() => startRun(engine.deps, { workflow: 'bench' }))),
  );
  await engine.idle();
  const latenciesMs: number[] = [];
  for (const { runId } of runs) {
    const token = engine.deps.tokens.settleToken({ runId, waitId: '1' });
    const wentOn = new Promise<number>((resolve) => {
      goesOn.set(runId, () => {
        resolve(performance.now());
      });
    });
    const settledMs = performance.now();
    const { settled } = await settleToken(engine.deps, {
      token,
      outcome: { kind: 'completed', result: null, isError: false },
    });
    if (!settled) throw new Error('the token was settled before');
    latenciesMs.push((await wentOn) - settledMs);
    // The next run is measured alone.
    await engine.idle();
  }
  engine.stop();
  return latenciesMs;
}
