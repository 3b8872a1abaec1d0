import type { WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { Traced } from '../base/trace-context.js';
import type { RunHead, Settlement } from '../history/records.js';

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
