import { contextOfSpan, toTraceparent, type Traced } from '../base/trace-context.js';
import type { WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { RunOutcome } from '../history/event.js';
import type { RunHead, Settlement, TokenRecord } from '../history/records.js';
import type { Deps } from './deps.js';

// Work that spans are made of, and what each span is about. The id of a span is a function of the run and of what it is
// about, so spans refer to each other across processes without anything being stored. `lib/tracing` makes the spans.

/** Work of the engine that has ended: small parts of what is known, since it is kept to the end of the invocation. */
export type Work = { readonly startMs: EpochMs; readonly endMs: EpochMs; readonly error?: string | undefined } & (
  | { readonly kind: 'run'; readonly run: Traced & Pick<RunHead, 'workflow' | 'version'>; readonly end: string }
  | {
      readonly kind: 'turn';
      readonly run: Traced & Pick<RunHead, 'workflow'>;
      readonly firstSeq: number;
      readonly commits: number;
      /** Waits whose settlements the turn took in. */
      readonly settled: readonly WaitId[];
    }
  | (OfWait & { readonly kind: 'step'; readonly name: string; readonly isLong: boolean; readonly result: string })
  | (OfWait & { readonly kind: 'start'; readonly server: string; readonly result: string })
  | (OfWait & {
      readonly kind: 'poll';
      readonly server: string;
      readonly result: string;
      /** Due instant that was claimed, and how often the worker has delayed itself within the claim. */
      readonly claimedDueAtMs: EpochMs;
      readonly hop: number;
      /** Trace context of the push that asked for it. */
      readonly traceparent: string | undefined;
    })
  | (OfWait & {
      readonly kind: 'settlement';
      readonly server: string | undefined;
      readonly isStarted: boolean;
      readonly by: Settlement['by'];
      readonly outcome: string;
    })
);

interface OfWait {
  readonly run: Traced;
  readonly waitId: WaitId;
  readonly attempt: number;
}

/** Receives what spans are made of. */
export interface Spans {
  record(work: Work): void;
  /** Sends the spans. Never rejects: a lost span holds nothing up. Called at the end of each invocation. */
  flush(): Promise<void>;
}

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
