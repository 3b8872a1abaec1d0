import { z } from 'zod';

/** The part of `GET /runs/{id}/history` that the demo reads. */
export const runHistory = z.object({
  events: z.array(
    z.looseObject({
      type: z.string(),
      atMs: z.number(),
      waitId: z.string().optional(),
      name: z.string().optional(),
      server: z.string().optional(),
      outcome: z.looseObject({ status: z.string(), result: z.unknown() }).optional(),
    }),
  ),
});
export type HistoryEvents = z.infer<typeof runHistory>['events'];

export interface RunProgress {
  /** What the run does now, in words. */
  readonly state: string;
  /** When it began to do that. */
  readonly sinceMs: number | undefined;
  readonly isWaiting: boolean;
  readonly hasEnded: boolean;
  /** What it returned, once it has completed. */
  readonly result: unknown;
  /** Time from the start of each remote task to the moment its outcome was written down. */
  readonly waitedMs: number;
}

/** Where a run stands, told from its history alone. */
export function progressOf(events: HistoryEvents): RunProgress {
  const serverOf = new Map<string, string>();
  const startedAtMs = new Map<string, number>();
  let state = 'accepted';
  let result: unknown;
  let waitedMs = 0;
  let hasEnded = false;

  for (const { type, atMs, waitId = '', name = '', server = '', outcome } of events) {
    switch (type) {
      case 'RunStarted':
        state = 'running';
        break;
      case 'StepRequested':
        state = `running the step "${name}"`;
        break;
      case 'StepCompleted':
        state = 'running';
        break;
      case 'RemoteTaskRequested':
        serverOf.set(waitId, server);
        state = `asking "${server}" to start a task`;
        break;
      case 'RemoteTaskStarted':
        startedAtMs.set(waitId, atMs);
        state = `waiting for "${serverOf.get(waitId) ?? ''}"`;
        break;
      case 'TokenSettled': {
        waitedMs += atMs - (startedAtMs.get(waitId) ?? atMs);
        startedAtMs.delete(waitId);
        state = 'running with the outcome';
        break;
      }
      case 'RunEnding':
        state = outcome?.status ?? 'ending';
        result = outcome?.result;
        break;
      case 'RunEnded':
        hasEnded = true;
        break;
    }
  }
  return { state, sinceMs: events.at(-1)?.atMs, isWaiting: startedAtMs.size > 0, hasEnded, result, waitedMs };
}
