// State of a wait between its request and its end, one type per kind, as folded from the log.

import type { StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { ParentClosePolicy, RemoteTaskHandle } from './event.js';
import type { AddressedQuestion } from './question.js';
import type { AskedQuestion, RemoteAnswer } from './remote-question.js';

/** Fields of all kinds of open waits. */
export interface Open {
  readonly waitId: WaitId;
  /** Name of the step, tool, skill, signal, workflow of a child, or token. */
  readonly name: string;
  readonly requestedAtMs: EpochMs;
}
interface Retried {
  /** Failed attempts so far. */
  readonly failedAttempts: number;
  readonly retryAtMs?: EpochMs;
  readonly lastError?: StoredError;
}
export interface MayTimeOut {
  readonly deadlineAtMs?: EpochMs;
}

export type OpenStep = { readonly kind: 'step' } & Open &
  Retried & {
    /** Recorded starts of the current attempt. */
    readonly begun: number;
    /** How many of these starts have no end in the log and were not handed over: each died with its process. */
    readonly interrupted: number;
    /** Progress that the last attempt reported. */
    readonly progress?: JsonValue;
  };
/** A step that its own worker runs; the state of its attempts is on its token item. */
export type OpenLongStep = {
  readonly kind: 'longStep';
  /** When an immediate retry of all waits was last requested. */
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
    /** A failed start had been sent: a task may be running. */
    readonly mayRun?: true;
    /**
     * The result of the last start is unknown; at `retryAtMs` the server is asked for its task for the `look`-th time.
     */
    readonly look?: number | undefined;
    /** Whether followers of the run follow the task too. */
    readonly watch: boolean;
    /** Whether the last start was not made because the server is left alone. */
    readonly isHeld?: boolean;
    /** Number of the last change of the task that the handler of the call has heard of. */
    readonly progressed?: number;
    /** When a change was last published as a lifecycle event. */
    readonly publishedAtMs?: EpochMs;
    /** How often the server has asked questions before it makes a task. */
    readonly rounds: number;
    /** Questions and answers in the log, by the id of the question. */
    readonly asked: ReadonlyMap<string, AskedQuestion>;
    readonly answers: ReadonlyMap<string, RemoteAnswer>;
  };
/** An answer on its way to a remote server. */
export type OpenRemoteAnswer = {
  readonly kind: 'remoteAnswer';
  /** Id of the call's wait. */
  readonly callId: WaitId;
  readonly questionId: string;
  readonly answer: RemoteAnswer;
} & Open &
  Retried;
export type OpenExternal = {
  readonly kind: 'external';
  readonly issued: boolean;
  readonly form?: AddressedQuestion;
} & Open &
  MayTimeOut;
export type OpenChild = {
  readonly kind: 'child';
  readonly childRunId: RunId;
  readonly parentClose: ParentClosePolicy;
  readonly started: boolean;
} & Open &
  MayTimeOut;

/** Kind of a wait. */
export type WaitKind = 'step' | 'longStep' | 'timer' | 'signal' | 'remoteTask' | 'remoteAnswer' | 'external' | 'child';

/** A wait that has a request and no end in the log. */
export type OpenWait =
  OpenRemoteAnswer | OpenStep | OpenLongStep | OpenTimer | OpenSignal | OpenRemoteTask | OpenExternal | OpenChild;
/** A wait that ends with the settlement of its token. */
export type OpenTokenWait = OpenLongStep | OpenRemoteTask | OpenExternal | OpenChild;
