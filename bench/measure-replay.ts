import { system } from '../lib/process/system.js';
import { silentLog } from '../lib/base/log.js';
import type { HistoryEvent } from '../lib/history/event.js';
import { Execution } from '../lib/replay/execution.js';
import { defineWorkflow, type AnyWorkflow } from '../lib/workflow/define-workflow.js';

const atMs = Date.UTC(2026, 0, 1);
const started: HistoryEvent = { type: 'RunStarted', atMs, workflow: 'bench', version: '1', behaviors: 1 };

/** Returns a history of `events` events: one step after the other, and the code waits for one more. */
export function sequentialHistory(events: number): readonly HistoryEvent[] {
  const history: HistoryEvent[] = [started];
  for (let step = 1; history.length < events; step++) {
    history.push({ type: 'StepRequested', atMs, waitId: String(step), name: 'step' });
    if (history.length < events)
      history.push({ type: 'StepCompleted', atMs, waitId: String(step), attempt: 1, result: step });
  }
  return history;
}

/** Returns a history in which all steps are requested at once and then end. */
export function parallelHistory(events: number): readonly HistoryEvent[] {
  const steps = Array.from({ length: Math.floor((events - 1) / 2) }, (_, index) => index + 1);
  return [
    started,
    ...steps.map((step): HistoryEvent => ({ type: 'StepRequested', atMs, waitId: String(step), name: 'step' })),
    ...steps.map((step): HistoryEvent => ({
      type: 'StepCompleted',
      atMs,
      waitId: String(step),
      attempt: 1,
      result: step,
    })),
  ];
}

export const sequentialSteps: AnyWorkflow = defineWorkflow<number, number>({
  name: 'bench',
  run: async (ctx, steps) => {
    let sum = 0;
    for (let step = 1; step <= steps; step++) sum += await ctx.step('step', () => step);
    return sum;
  },
});

export const parallelSteps: AnyWorkflow = defineWorkflow<number, number>({
  name: 'bench',
  run: async (ctx, steps) => {
    const results = await Promise.all(Array.from({ length: steps }, (_, index) => ctx.step('step', () => index)));
    return results.length;
  },
});

/** Measures the milliseconds until the code has reached the end of the history. */
export async function replayMs(workflow: AnyWorkflow, history: readonly HistoryEvent[]): Promise<number> {
  const execution = new Execution({
    workflow,
    runId: '0'.repeat(32),
    input: Math.ceil(history.length / 2),
    seed: 'bench',
    start: { version: '1' },
    settlementOf: () => undefined,
    drain: system.drain,
    digest: system.digest,
    log: silentLog,
  });
  const startMs = performance.now();
  for (const event of history) await execution.apply(event);
  const tookMs = performance.now() - startMs;
  if (execution.status.kind === 'blocked') throw new Error(execution.status.error.message);
  return tookMs;
}
