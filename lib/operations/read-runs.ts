import { EngineError, type StoredError } from '../base/errors.js';
import { isRunId, type RunId, type WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { listPagesMax } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import { waitDueAtMs } from '../decide/deadline.js';
import type { HistoryEvent, RunOutcome } from '../history/event.js';
import { foldHistory, type OpenWait } from '../history/run-state.js';
import type { Settlement } from '../history/settlement.js';
import {
  type ParentWait,
  type RunRecords,
  type RunStatus,
  type RunSummary,
  type TokenRecord,
} from '../store/records.js';
import type { Deps } from './deps.js';

/** What an open wait of a run waits for, for a person. */
export interface WaitView {
  readonly waitId: WaitId;
  readonly kind: OpenWait['kind'];
  /** Step, tool or skill. */
  readonly name?: string;
  readonly server?: string;
  /** The remote task, once it is known. */
  readonly taskId?: string;
  readonly sinceMs: EpochMs;
  /** When something happens next: the timer, the next attempt, the next read of the remote task. */
  readonly nextAtMs?: EpochMs;
  /** The run that a child wait waits for. */
  readonly childRunId?: RunId;
  readonly deadlineAtMs?: EpochMs;
  readonly failedAttempts?: number;
  readonly lastError?: StoredError;
}

export interface RunView {
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly status: RunStatus;
  /** Of its start, if that had one. */
  readonly key?: string;
  readonly createdAtMs: EpochMs;
  readonly endedAtMs?: EpochMs;
  readonly input?: JsonValue;
  readonly outcome?: RunOutcome;
  /** Why the run cannot go on with this deployment. */
  readonly blocked?: StoredError;
  /** What the workflow last said of how far it has come. */
  readonly progress?: JsonValue;
  readonly pausedUntilMs?: EpochMs;
  readonly startAtMs?: EpochMs;
  readonly deadlineAtMs?: EpochMs;
  readonly tags?: Readonly<Record<string, string>>;
  readonly parent?: ParentWait;
  readonly previousRunId?: RunId;
  readonly nextRunId?: RunId;
  /** Signals that no wait has been given, oldest first. */
  readonly unreadSignals?: readonly string[];
  readonly waits: readonly WaitView[];
}

/** @throws EngineError `RUN_NOT_FOUND` */
export async function showRun(deps: Deps, runId: RunId): Promise<RunView> {
  const records = await load(deps, runId);
  const { head } = records;
  const state = foldHistory(records.commits);
  const tokens = new Map(records.tokens.map((token) => [token.waitId, token]));
  const isOver = head.status !== 'running' && head.status !== 'ending';
  return {
    runId,
    workflow: head.workflow,
    version: head.version,
    status: head.status,
    createdAtMs: head.createdAtMs,
    ...(head.endedAtMs === undefined ? {} : { endedAtMs: head.endedAtMs }),
    ...(head.input === undefined ? {} : { input: head.input }),
    ...(state.ending === undefined ? {} : { outcome: state.ending }),
    ...(head.blocked === undefined ? {} : { blocked: head.blocked }),
    ...(state.progress === undefined ? {} : { progress: state.progress }),
    ...(state.pausedUntilMs === undefined || isOver ? {} : { pausedUntilMs: state.pausedUntilMs }),
    ...pick(head, ['key', 'startAtMs', 'deadlineAtMs', 'tags', 'parent', 'previousRunId', 'nextRunId']),
    ...(state.unreadSignals.size === 0
      ? {}
      : { unreadSignals: [...state.unreadSignals.values()].map(({ name }) => name) }),
    waits: isOver ? [] : [...state.open.values()].map((wait) => toWaitView(wait, tokens.get(wait.waitId))),
  };
}

export interface HistoryView {
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly input?: JsonValue;
  /** Of the run's random numbers: with it the history can be replayed elsewhere. */
  readonly seed: string;
  readonly events: readonly ExportedEvent[];
}

/** An event with the number of its commit, and what it refers to written out: a settlement, the payload of a signal. */
export type ExportedEvent = HistoryEvent & {
  readonly seq: number;
  readonly settlement?: Pick<Settlement, 'by' | 'atMs' | 'outcome'>;
  readonly payload?: JsonValue;
};

/** @throws EngineError `RUN_NOT_FOUND` */
export async function readHistory(deps: Deps, runId: RunId): Promise<HistoryView> {
  const records = await load(deps, runId);
  const { head, commits } = records;
  const references = referencesOf(records);
  return {
    runId,
    workflow: head.workflow,
    version: head.version,
    ...(head.input === undefined ? {} : { input: head.input }),
    seed: head.seed,
    events: commits.flatMap(({ seq, events }) => events.map((event) => ({ seq, ...event, ...references(event) }))),
  };
}

/** What events of a run refer to. */
function referencesOf({
  tokens,
  inbox,
}: RunRecords): (event: HistoryEvent) => Pick<ExportedEvent, 'settlement' | 'payload'> {
  const settlements = new Map(tokens.map((token) => [token.waitId, token.settlement]));
  const signals = new Map(inbox.map((item) => [item.inboxId, item]));
  return (event) => {
    if (event.type === 'TokenSettled') {
      const settlement = settlements.get(event.waitId);
      if (settlement === undefined) return {};
      const { by, atMs, outcome } = settlement;
      return { settlement: { by, atMs, outcome } };
    }
    const signal = event.type === 'SignalReceived' ? signals.get(event.inboxId) : undefined;
    return signal?.kind !== 'signal' || signal.payload === undefined ? {} : { payload: signal.payload };
  };
}

/** `ending` is none: the index has such a run under `running` until it has ended. */
export type ListStatus = Exclude<RunStatus, 'ending'>;
export const listStatuses = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'continued',
] as const satisfies readonly ListStatus[];

export interface ListQuery {
  /** Default: all. */
  readonly status?: ListStatus;
  readonly workflow?: string;
  /** Runs that carry all of these. */
  readonly tags?: Readonly<Record<string, string>>;
  /** 1 to 100. */
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string;
}

export interface RunList {
  readonly runs: readonly RunSummary[];
  /** There may be more. A page can be shorter than the limit, also empty: a call looks through a limited number of runs. */
  readonly cursor?: string;
}

/**
 * Runs, newest first within a status; without a status, first those that are under way. Read from an index, so a run
 * that has just changed may show as it was.
 * @throws EngineError `INPUT_INVALID` for a cursor that is not one of ours
 */
export async function listRuns(deps: Deps, query: ListQuery): Promise<RunList> {
  const statuses: readonly ListStatus[] = query.status === undefined ? listStatuses : [query.status];
  const start = parseCursor(query.cursor, statuses);
  const runs: RunSummary[] = [];
  let { cursor } = start;
  let pagesRead = 0;
  for (let at = start.at; at < statuses.length; at++) {
    const status = statuses[at];
    if (status === undefined) break;
    do {
      const page = await deps.store.listRuns(status, query.limit - runs.length, cursor);
      runs.push(...page.rows.filter((run) => matches(run, query)));
      cursor = page.cursor;
      pagesRead += 1;
      if (runs.length >= query.limit || pagesRead >= listPagesMax) return { runs, ...nextCursor(statuses, at, cursor) };
    } while (cursor !== undefined);
  }
  return { runs };
}

function matches(run: RunSummary, { workflow, tags }: ListQuery): boolean {
  if (workflow !== undefined && run.workflow !== workflow) return false;
  return Object.entries(tags ?? {}).every(([name, value]) => run.tags?.[name] === value);
}

function nextCursor(statuses: readonly ListStatus[], at: number, cursor: string | undefined): { cursor?: string } {
  if (cursor !== undefined) return { cursor: `${statuses[at] ?? ''}.${cursor}` };
  const next = statuses[at + 1];
  return next === undefined ? {} : { cursor: `${next}.` };
}

function parseCursor(
  cursor: string | undefined,
  statuses: readonly ListStatus[],
): { at: number; cursor: string | undefined } {
  if (cursor === undefined) return { at: 0, cursor: undefined };
  const dot = cursor.indexOf('.');
  const at = statuses.indexOf(cursor.slice(0, Math.max(dot, 0)) as ListStatus);
  if (at < 0) throw new EngineError('INPUT_INVALID', 'cursor must be one that a page of this list gave');
  const rest = cursor.slice(dot + 1);
  return { at, cursor: rest === '' ? undefined : rest };
}

/** An open external wait of a run, with the capability to settle it. */
export interface ExternalWait {
  readonly waitId: WaitId;
  /** Of a remote task. */
  readonly server?: string;
  readonly name: string;
  readonly taskId?: string;
  readonly deadlineAtMs?: EpochMs;
  readonly token: string;
}

/** For relays: which waits are open, and their tokens. A relay matches server and task id together. @throws EngineError `RUN_NOT_FOUND` */
export async function listExternalWaits(deps: Deps, runId: RunId): Promise<readonly ExternalWait[]> {
  const records = await load(deps, runId);
  const state = foldHistory(records.commits);
  const tokens = new Map(records.tokens.map((token) => [token.waitId, token]));
  return [...state.openTokens.values()].flatMap((wait) => {
    const token = tokens.get(wait.waitId);
    // A child settles its parent's wait itself.
    if (wait.kind === 'child' || token === undefined || token.settlement !== undefined) return [];
    return [
      {
        waitId: wait.waitId,
        ...(wait.kind === 'remoteTask' ? { server: wait.server } : {}),
        name: wait.name,
        ...(token.handle === undefined ? {} : { taskId: token.handle.taskId }),
        ...(wait.deadlineAtMs === undefined ? {} : { deadlineAtMs: wait.deadlineAtMs }),
        token: deps.tokens.settleToken({ runId, waitId: wait.waitId }),
      },
    ];
  });
}

/** The listed properties that are there. */
function pick<Source extends object, Name extends keyof Source>(
  source: Source,
  names: readonly Name[],
): Pick<Source, Name> {
  return Object.fromEntries(
    names.filter((name) => source[name] !== undefined).map((name) => [name, source[name]]),
  ) as Pick<Source, Name>;
}

async function load(deps: Deps, runId: RunId): Promise<RunRecords> {
  const records = isRunId(runId) ? await deps.store.readRun(runId) : undefined;
  if (records === undefined) throw new EngineError('RUN_NOT_FOUND', 'no run has this id');
  return records;
}

function toWaitView(wait: OpenWait, token: TokenRecord | undefined): WaitView {
  const { waitId, kind, name, requestedAtMs: sinceMs } = wait;
  const nextAtMs = token?.dueAtMs ?? waitDueAtMs(wait);
  const retried = wait.kind === 'step' || wait.kind === 'remoteTask' ? wait : undefined;
  return {
    waitId,
    kind,
    name,
    ...(wait.kind === 'remoteTask' ? { server: wait.server } : {}),
    ...(wait.kind === 'child' ? { childRunId: wait.childRunId } : {}),
    ...('deadlineAtMs' in wait ? { deadlineAtMs: wait.deadlineAtMs } : {}),
    ...(token?.handle === undefined ? {} : { taskId: token.handle.taskId }),
    sinceMs,
    ...(nextAtMs === undefined ? {} : { nextAtMs }),
    ...(retried === undefined || retried.failedAttempts === 0 ? {} : { failedAttempts: retried.failedAttempts }),
    ...(retried?.lastError === undefined ? {} : { lastError: retried.lastError }),
  };
}
