import { createHash } from 'node:crypto';
import { drainMicrotasks } from '../process/drain.js';
import type { HistoryView } from '../operations/views/read-history.js';
import type { ReplayedHistory } from '../operations/replay-verdict.js';
import { replayHistory as replay } from '../operations/views/replay-history.js';
import type { App } from '../workflow/app.js';

/**
 * Replays an exported history against the code of an app. Runs no steps and makes no calls.
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs';
 * import { defineApp, defineWorkflow } from 'outwait';
 * import { replayHistory, type HistoryView } from 'outwait/testing';
 *
 * const nap = defineWorkflow({ name: 'nap', run: async (ctx) => ctx.sleep({ days: 3 }) });
 * const history = JSON.parse(readFileSync('history.json', 'utf8')) as HistoryView;
 * const replayed = await replayHistory(defineApp({ workflows: [nap] }), history);
 * if (replayed.kind === 'differs') throw new Error(replayed.error.message);
 * ```
 */
export function replayHistory(app: App, history: HistoryView): Promise<ReplayedHistory> {
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  return replay({ drain: drainMicrotasks, digest }, app, history);
}
