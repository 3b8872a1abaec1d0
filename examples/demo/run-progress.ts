import { z } from 'zod';

/** The part of `GET /runs/{id}` that the demo reads. */
export const runView = z.object({
  status: z.string(),
  outcome: z.object({ status: z.string(), result: z.unknown() }).optional(),
  endedAtMs: z.number().optional(),
  waits: z.array(
    z.object({
      waitId: z.string(),
      kind: z.string(),
      name: z.string().optional(),
      server: z.string().optional(),
      sinceMs: z.number(),
    }),
  ),
});

/**
 * The part of `GET /activities/external` that the demo reads: the open waits for remote tasks. A wait has a task id
 * once its task is stored.
 */
export const externalWaits = z.object({
  waits: z.array(z.object({ waitId: z.string(), taskId: z.string().optional() })),
});

export interface RunProgress {
  /** The current activity of the run, in words. */
  readonly state: string;
  /** Instant since which it is doing that, if known. */
  readonly sinceMs: number | undefined;
  /** Whether it waits for a remote task whose id is in the store. */
  readonly isWaiting: boolean;
  readonly hasEnded: boolean;
  /** Its return value, once it has completed. */
  readonly result: unknown;
}

/** Returns the current state of a run. */
export function progressOf(
  { status, outcome, endedAtMs, waits }: z.infer<typeof runView>,
  external: z.infer<typeof externalWaits>,
): RunProgress {
  if (endedAtMs !== undefined) {
    return { state: status, sinceMs: endedAtMs, isWaiting: false, hasEnded: true, result: outcome?.result };
  }
  const [wait] = waits;
  const running = { sinceMs: wait?.sinceMs, isWaiting: false, hasEnded: false, result: undefined };
  if (wait === undefined) return { ...running, state: 'running' };
  if (wait.kind === 'step') return { ...running, state: `running the step "${wait.name ?? ''}"` };
  const server = wait.server ?? '';
  const open = external.waits.find(({ waitId }) => waitId === wait.waitId);
  // The wait is no longer open: its outcome is recorded, and the workflow is about to continue with it.
  if (open === undefined) return { ...running, state: 'running' };
  const { taskId } = open;
  if (taskId === undefined) return { ...running, state: `asking "${server}" to start a task` };
  return { ...running, isWaiting: true, state: `waiting for "${server}", task ${taskId.slice(0, 8)}` };
}

/** The part of `GET /runs/{id}/history` that the demo reads. */
export const runHistory = z.object({
  events: z.array(z.object({ type: z.string(), atMs: z.number(), waitId: z.string().optional() })),
});

/** Sums the time between the request of each remote task and the instant at which its end became known. */
export function waitedMsIn({ events }: z.infer<typeof runHistory>): number {
  const requestedAtMs = new Map<string, number>();
  let waitedMs = 0;
  for (const { type, atMs, waitId = '' } of events) {
    if (type === 'RemoteTaskRequested') requestedAtMs.set(waitId, atMs);
    if (type === 'TokenSettled') waitedMs += atMs - (requestedAtMs.get(waitId) ?? atMs);
  }
  return waitedMs;
}
