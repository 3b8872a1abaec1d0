import type { WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { RemoteRequest } from '../workflow/remote-request.js';
import type { StepContext } from '../workflow/context.js';

export interface StepPolicy {
  readonly maxAttempts: number;
  readonly initialIntervalMs: number;
  readonly maxIntervalMs: number;
  readonly timeoutMs: number;
}

export interface RunStep {
  readonly kind: 'runStep';
  readonly waitId: WaitId;
  readonly name: string;
  readonly work: (step: StepContext) => unknown;
  readonly policy: StepPolicy;
}
export interface StartTimer {
  readonly kind: 'startTimer';
  readonly waitId: WaitId;
  readonly durationMs: number;
}
export interface StartRemoteTask {
  readonly kind: 'startRemoteTask';
  readonly waitId: WaitId;
  readonly server: string;
  /** Tool, skill, or `message`. */
  readonly name: string;
  readonly request: RemoteRequest;
  /** Of server, request and everything else that makes it another call. */
  readonly digest: string;
  /** The arguments where they are small. */
  readonly input?: JsonValue;
  readonly timeoutMs: number;
  readonly retrySafe: boolean;
}

/** What a workflow asks for. It takes effect when the commit that records it is in the log. */
export type Command = RunStep | StartTimer | StartRemoteTask;
