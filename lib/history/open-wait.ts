// The state of a wait between its request and its end, one type for each kind, as the fold of the log makes it.

import type { StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { ParentClosePolicy, RemoteTaskHandle } from './event.js';
import type { Question } from './question.js';
import type { AskedQuestion, RemoteAnswer } from './remote-question.js';

/** What all kinds of open waits have. */
export interface Open {
  readonly waitId: WaitId;
  /** Step, tool, skill, signal, workflow of a child, or what a token is for. */
  readonly name: string;
  readonly requestedAtMs: EpochMs;
}
interface Retried {
  /** Attempts that failed so far. */
  readonly failedAttempts: number;
  readonly retryAtMs?: EpochMs;
  readonly lastError?: StoredError;
}
export interface MayTimeOut {
  readonly deadlineAtMs?: EpochMs;
}

export type OpenStep = { readonly kind: 'step' } & Open &
  Retried & {
    /** Starts of the attempt that were recorded before it ran. */
    readonly begun: number;
    /** How many of them have no end in the log and were not handed over: each one died with its process. */
    readonly interrupted: number;
    /** What the last attempt reported. */
    readonly progress?: JsonValue;
  };
/** A step that a worker of its own runs; how its attempts stand is on its token item. */
export type OpenLongStep = {
  readonly kind: 'longStep';
  /** When somebody last asked that whatever waits for its next attempt be tried now. */
  readonly retryNowAtMs?: EpochMs;
} & Open &
  MayTimeOut;
export type OpenTimer = { readonly kind: 'timer'; readonly firesAtMs: EpochMs } & Open;
export type OpenSignal = { readonly kind: 'signal' } & Open & MayTimeOut;
export type OpenRemoteTask = { readonly kind: 'remoteTask' } & Open &
  Retried & {
    readonly server: string;
    readonly deadlineAtMs: EpochMs;
    readonly handle?: RemoteTaskHandle;
    /** A start that failed was sent: a task may be running. */
    readonly mayRun?: true;
    /** The fate of the last start is unknown; at `retryAtMs` the server is asked for the task, for the `look`-th time. */
    readonly look?: number | undefined;
    /** True: a follower of the run follows the task too. */
    readonly watch: boolean;
    /** The last word on its start is that the server is left alone. */
    readonly isHeld?: boolean;
    /** How often the server has asked before it makes a task. */
    readonly rounds: number;
    /** Questions that the log has, by their ids, and the answers that it has. */
    readonly asked: ReadonlyMap<string, AskedQuestion>;
    readonly answers: ReadonlyMap<string, RemoteAnswer>;
  };
/** An answer on its way to a remote server. */
export type OpenRemoteAnswer = {
  readonly kind: 'remoteAnswer';
  /** The wait of the call. */
  readonly callId: WaitId;
  readonly questionId: string;
  readonly answer: RemoteAnswer;
} & Open &
  Retried;
export type OpenExternal = { readonly kind: 'external'; readonly issued: boolean; readonly form?: Question } & Open &
  MayTimeOut;
export type OpenChild = {
  readonly kind: 'child';
  readonly childRunId: RunId;
  readonly parentClose: ParentClosePolicy;
  readonly started: boolean;
} & Open &
  MayTimeOut;

/** What a wait waits for. */
export type WaitKind = 'step' | 'longStep' | 'timer' | 'signal' | 'remoteTask' | 'remoteAnswer' | 'external' | 'child';

/** A wait that the log asked for and that has no end in the log. */
export type OpenWait =
  OpenRemoteAnswer | OpenStep | OpenLongStep | OpenTimer | OpenSignal | OpenRemoteTask | OpenExternal | OpenChild;
/** A wait that ends by the settlement of its token. */
export type OpenTokenWait = OpenLongStep | OpenRemoteTask | OpenExternal | OpenChild;
