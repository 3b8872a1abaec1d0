import { defined } from '../base/defined.js';
import type { EngineErrorCode } from '../base/errors.js';
import { inputIdOf, type RunId, type WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { Commit, HistoryEvent, RunOutcome } from './event.js';
import { isPublishable, RunState, type OpenWait } from './run-state.js';
import type { OutcomeKind, SettledBy, Settlement } from './settlement.js';
import type { RemoteProtocol } from './remote-protocol.js';

// Events of a run's life, for subscribers. Names and fields are published and never renamed. They hold no payloads,
// tokens, addresses or foreign texts.

/** The fields of every lifecycle event. */
export interface RunEventFields {
  /**
   * `<runId>:<seq>:<position in the commit>`, followed by `:<waitId>` for a wait that the end of its run closed;
   * `<runId>:<seq>:blocked:<number>` for a block. An event may be published more than once, each time with the same id.
   */
  readonly eventId: string;
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Caller who started the run, and its tenant. Missing if no caller with a name, or no tenant, is known. */
  readonly owner?: string;
  readonly tenant?: string;
  /** The commit of the history: of two events of a run, the one with the smaller number came first. */
  readonly seq: number;
  /** When it happened, which may be long before its publication. */
  readonly atMs: EpochMs;
}
/** The fields of an event about a call of a remote task. */
export interface RemoteTaskEventFields extends RunEventFields {
  readonly waitId: WaitId;
  readonly server: string;
  /** Tool, skill, or `message`. */
  readonly name: string;
}

/** The first turn began. Not published for a run that is cancelled before a delayed start. */
export type RunStartedEvent = RunEventFields & {
  readonly type: 'RunStarted';
  /** The run whose child this is. */
  readonly parentRunId?: RunId;
  /** The run that continued as this one. */
  readonly previousRunId?: RunId;
};
export type RunCompletedEvent = RunEventFields & { readonly type: 'RunCompleted' };
export type RunFailedEvent = RunEventFields & { readonly type: 'RunFailed'; readonly code: EngineErrorCode };
export type RunCancelledEvent = RunEventFields & { readonly type: 'RunCancelled' };
export type RunTerminatedEvent = RunEventFields & { readonly type: 'RunTerminated' };
/** The run continued as another run (`ctx.continueAsNew`). */
export type RunContinuedEvent = RunEventFields & { readonly type: 'RunContinued'; readonly nextRunId: RunId };
/** The run cannot continue until another deployment. Not part of the history. */
export type RunBlockedEvent = RunEventFields & { readonly type: 'RunBlocked'; readonly code: EngineErrorCode };
/** The server made a task. */
export type RemoteTaskStartedEvent = RemoteTaskEventFields & {
  readonly type: 'RemoteTaskStarted';
  readonly protocol: RemoteProtocol;
};
/**
 * The task of a call with `onProgress` has changed: the last change of its commit, at most once a minute. State and
 * message, which are the server's words, are shown with the run.
 */
export type RemoteTaskProgressedEvent = RemoteTaskEventFields & {
  readonly type: 'RemoteTaskProgressed';
  /** Number of the change among those of the task. */
  readonly number: number;
  /** Progress as a number, if the server reports one, and its value at the end. */
  readonly progress?: number;
  readonly total?: number;
};
/** The wait for a remote task ended, whether the task had been started or not. */
export type RemoteTaskSettledEvent = RemoteTaskEventFields & {
  readonly type: 'RemoteTaskSettled';
  readonly outcome: OutcomeKind;
  /** With `completed`: whether the server says that the work failed. */
  readonly isError?: boolean;
  /** With `failed`: the code of the error. */
  readonly code?: EngineErrorCode;
  readonly settledBy: SettledBy;
};
/** A question waits for a person, who reads and answers it under its id. */
export type InputRequiredEvent = RunEventFields & {
  readonly type: 'InputRequired';
  readonly inputId: string;
  readonly waitId: WaitId;
  /** The remote server that the question names, if any. */
  readonly server?: string;
  readonly deadlineAtMs?: EpochMs;
};

export type LifecycleEvent =
  | RunStartedEvent
  | RunCompletedEvent
  | RunFailedEvent
  | RunCancelledEvent
  | RunTerminatedEvent
  | RunContinuedEvent
  | RunBlockedEvent
  | RemoteTaskStartedEvent
  | RemoteTaskProgressedEvent
  | RemoteTaskSettledEvent
  | InputRequiredEvent;

/** The data of a run from which its lifecycle events are made. */
export interface RunIdentity {
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly owner?: string;
  readonly tenant?: string;
  readonly parent?: { readonly runId: RunId };
  readonly previousRunId?: RunId;
}

/** Returns the settlement on the token item of a wait, to which the history only refers. */
export type SettlementOf = (waitId: WaitId) => Settlement | undefined;

/** Returns the lifecycle events of the commits after `afterSeq`; `commits` is the whole log of the run. */
export function lifecycleEventsAfter(
  afterSeq: number,
  run: RunIdentity,
  commits: readonly Commit[],
  settlementOf: SettlementOf,
): readonly LifecycleEvent[] {
  if ((commits.at(-1)?.seq ?? 0) <= afterSeq) return [];
  const state = new RunState();
  return commits.flatMap((commit) => {
    const events = commit.seq > afterSeq ? lifecycleEventsOf(run, state, commit, settlementOf) : [];
    state.applyCommit(commit.seq, commit.events);
    return events;
  });
}

/**
 * Returns the lifecycle events of one commit in the order of its events; `before` is the state of the log without it.
 * The same log always gives the same events with the same ids: the settlements that it refers to never change.
 */
export function lifecycleEventsOf(
  run: RunIdentity,
  before: RunState,
  { seq, events }: Commit,
  settlementOf: SettlementOf,
): readonly LifecycleEvent[] {
  const openAtEnd = (): OpenWait[] =>
    [...before.openTokens.values()].filter(
      ({ waitId }) => !events.some((event) => event.type === 'TokenSettled' && event.waitId === waitId),
    );
  const outcome = before.ending ?? events.find((event) => event.type === 'RunEnding')?.outcome;
  return events.flatMap((event, position) => {
    const base = ofRun(run, seq, event.atMs, `${seq}:${position}`);
    if (event.type === 'RunStarted') return [{ type: 'RunStarted', ...base, ...originOf(run) }];
    if (event.type === 'RunEnded' && outcome !== undefined) {
      const closed = openAtEnd().flatMap((wait) =>
        settledOf({ ...base, eventId: `${base.eventId}:${wait.waitId}` }, wait, settlementOf(wait.waitId)),
      );
      return [...closed, endedOf(base, outcome)];
    }
    const wait = 'waitId' in event ? before.open.get(event.waitId) : undefined;
    // The changes of one commit have the same time: only the last is published.
    if (event.type === 'RemoteTaskProgressed' && events.slice(position + 1).some(isOfSameTask(event))) return [];
    return wait === undefined ? [] : eventsOfWait(base, event, wait, settlementOf);
  });
}

/**
 * Returns the event of a block, the `number`-th that the head counts. The number alone is no unique id: another process
 * may continue the run before the head records the block.
 */
export function runBlocked(
  run: RunIdentity,
  block: { readonly seq: number; readonly atMs: EpochMs; readonly number: number; readonly code: EngineErrorCode },
): RunBlockedEvent {
  const { seq, atMs, number, code } = block;
  return { type: 'RunBlocked', ...ofRun(run, seq, atMs, `${seq}:blocked:${number}`), code };
}

function ofRun(
  { runId, workflow, version, tags, owner, tenant }: RunIdentity,
  seq: number,
  atMs: EpochMs,
  id: string,
): RunEventFields {
  return {
    eventId: `${runId}:${id}`,
    runId,
    workflow,
    version,
    ...defined({ tags, owner, tenant }),
    seq,
    atMs,
  };
}

function originOf({ parent, previousRunId }: RunIdentity): Pick<RunStartedEvent, 'parentRunId' | 'previousRunId'> {
  return {
    ...defined({ parentRunId: parent?.runId, previousRunId }),
  };
}

function endedOf(base: RunEventFields, outcome: RunOutcome): LifecycleEvent {
  switch (outcome.status) {
    case 'completed':
      return { type: 'RunCompleted', ...base };
    case 'failed':
      return { type: 'RunFailed', ...base, code: outcome.error.code };
    case 'cancelled':
      return { type: 'RunCancelled', ...base };
    case 'terminated':
      return { type: 'RunTerminated', ...base };
    case 'continued':
      return { type: 'RunContinued', ...base, nextRunId: outcome.nextRunId };
  }
}

function eventsOfWait(
  base: RunEventFields,
  event: HistoryEvent,
  wait: OpenWait,
  settlementOf: SettlementOf,
): readonly LifecycleEvent[] {
  const { waitId } = wait;
  if (event.type === 'TokenSettled') return settledOf(base, wait, settlementOf(waitId));
  if (event.type === 'RemoteTaskStarted' && wait.kind === 'remoteTask') {
    const { server, name } = wait;
    return [{ type: 'RemoteTaskStarted', ...base, waitId, server, name, protocol: event.handle.protocol }];
  }
  if (event.type === 'RemoteTaskProgressed' && wait.kind === 'remoteTask' && isPublishable(wait, event.atMs)) {
    const { server, name } = wait;
    const { progress, total } = event.shown;
    const { number } = event;
    return [{ type: 'RemoteTaskProgressed', ...base, waitId, server, name, number, ...defined({ progress, total }) }];
  }
  // Published when the item exists, not at the request: only now the question can be found under its id.
  if (event.type === 'ExternalWaitIssued' && wait.kind === 'external' && wait.form !== undefined) {
    const { form, deadlineAtMs } = wait;
    return [
      {
        type: 'InputRequired',
        ...base,
        inputId: inputIdOf(base.runId, waitId),
        waitId,
        ...defined({ server: form.server, deadlineAtMs }),
      },
    ];
  }
  return [];
}

function isOfSameTask({ type, waitId }: { readonly type: string; readonly waitId: WaitId }) {
  return (other: HistoryEvent): boolean => other.type === type && 'waitId' in other && other.waitId === waitId;
}

function settledOf(
  base: RunEventFields,
  wait: OpenWait,
  settlement: Settlement | undefined,
): readonly LifecycleEvent[] {
  if (wait.kind !== 'remoteTask' || settlement === undefined) return [];
  const { waitId, server, name } = wait;
  const { outcome, by } = settlement;
  return [
    {
      type: 'RemoteTaskSettled',
      ...base,
      waitId,
      server,
      name,
      outcome: outcome.kind,
      ...defined({
        isError: outcome.kind === 'completed' ? outcome.isError : undefined,
        code: outcome.kind === 'failed' ? outcome.error.code : undefined,
      }),
      settledBy: by,
    },
  ];
}
