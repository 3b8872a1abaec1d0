import { contextOfSpan, toTraceparent, type Traced } from '../base/trace-context.js';
import type { WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { RunOutcome } from '../history/event.js';
import type { RunHead, Settlement, TokenRecord } from '../history/records.js';
import type { Deps } from './deps.js';

// Records work for spans. The id of a span is a function of the run and of what it is about, so spans refer to each
// other across processes without anything being stored. `lib/tracing` makes the spans.

/** What a span is about. */
export const about = {
  /** From the put of the item of a wait to its settlement: starts, polls and a child run are within it. */
  wait: (waitId: WaitId) => `wait ${waitId}`,
  start: (waitId: WaitId, attempt: number) => `start ${waitId} ${attempt}`,
} as const;

/**
 * Returns the `traceparent` to send with what a span is about. Without spans, passes on the one that came with the run.
 */
export function sentTraceparent({ spans, digest }: Pick<Deps, 'spans' | 'digest'>, run: Traced, what: string) {
  return spans === undefined ? run.traceparent : toTraceparent(contextOfSpan(digest, run, what));
}

/** Records the span of a run that has ended. */
export function recordRun(
  { spans }: Pick<Deps, 'spans'>,
  { runId, workflow, version, createdAtMs, previousRunId, traceparent }: RunHead,
  endMs: EpochMs,
  end: RunOutcome['status'],
): void {
  const run = { runId, workflow, version, previousRunId, traceparent };
  spans?.record({ kind: 'run', run, end, startMs: createdAtMs, endMs, error: end === 'failed' ? end : undefined });
}

/** Records the span of a wait that this process has settled. */
export function recordSettlement({ spans }: Pick<Deps, 'spans'>, token: TokenRecord, settlement: Settlement): void {
  const { runId, traceparent, waitId, attempt, createdAtMs, handle, server } = token;
  const { by, atMs, outcome } = settlement;
  spans?.record({
    kind: 'settlement',
    run: { runId, traceparent },
    ...{ waitId, attempt, server, by },
    isStarted: handle !== undefined,
    outcome: outcome.kind,
    startMs: createdAtMs,
    endMs: atMs,
    error: outcome.kind === 'failed' ? outcome.error.code : undefined,
  });
}
