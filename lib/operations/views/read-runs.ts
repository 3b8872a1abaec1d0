import { defined } from '../../base/defined.js';
import { EngineError, type StoredError } from '../../base/errors.js';
import { inputIdOf, isRunId, type RunId, type WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { filteredPageRows, listPagesMax } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { waitDueAtMs } from '../../decide/deadline.js';
import { historyFormat } from '../../history/codec.js';
import type { HistoryEvent, RunOutcome } from '../../history/event.js';
import type { Sightings } from '../../history/remote-end.js';
import { foldHistory, type OpenWait, type RunState } from '../../history/run-state.js';
import type { Settlement } from '../../history/settlement.js';
import {
  type InboxRecord,
  type ParentWait,
  type RunPosition,
  type RunRecords,
  type RunStatus,
  type RunSummary,
  type TokenRecord,
} from '../../history/records.js';
import type { ListPage } from '../../store/run-store.js';
import type { Deps } from '../deps.js';
import { newHandles, newRequests } from '../../decide/new-events.js';
import { isWithWorker } from '../../decide/worker-start.js';

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
  /** What somebody is asked, and the id that an answer goes to. */
  readonly question?: string;
  readonly inputId?: string;
  /** What the server of a remote task asks and has not been answered. */
  readonly questions?: readonly string[];
  /** When something happens next: the timer, the next attempt, the next read of the remote task. */
  readonly nextAtMs?: EpochMs;
  /** The run that a child wait waits for. */
  readonly childRunId?: RunId;
  readonly deadlineAtMs?: EpochMs;
  readonly failedAttempts?: number;
  readonly lastError?: StoredError;
  /** Reads of the remote task in a row that said nothing of its state. */
  readonly failedReads?: number;
  /** Replies of its server that end the wait when there are three in a row. */
  readonly sightings?: Sightings;
  /** When the attempt of a long step that is under way began; missing while none is. */
  readonly runningSinceMs?: EpochMs;
  /** Until when its worker counts as alive without another word of it. */
  readonly leaseUntilMs?: EpochMs;
  /** Attempts of a long step whose worker died, since the last one that failed. */
  readonly interrupted?: number;
  /** What the step last reported. */
  readonly progress?: JsonValue;
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
  /** The run whose place this one takes: nothing happens before that, and what it goes on as, has ended. Missing once begun. */
  readonly afterRunId?: RunId;
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
  const unreadSignals = unreadSignalsOf(records, state);
  return {
    runId,
    workflow: head.workflow,
    version: head.version,
    status: head.status,
    createdAtMs: head.createdAtMs,
    ...defined({
      endedAtMs: head.endedAtMs,
      input: head.input,
      outcome: state.ending,
      blocked: head.blocked,
      progress: state.progress,
      pausedUntilMs: state.pausedUntilMs === undefined || isOver ? undefined : state.pausedUntilMs,
      afterRunId: head.afterRunId === undefined || state.seq > 0 ? undefined : head.afterRunId,
      key: head.key,
      startAtMs: head.startAtMs,
      deadlineAtMs: head.deadlineAtMs,
      tags: head.tags,
      parent: head.parent,
      previousRunId: head.previousRunId,
      nextRunId: head.nextRunId,
      unreadSignals: unreadSignals.length === 0 ? undefined : unreadSignals,
    }),
    waits: isOver
      ? []
      : [...state.open.values()].map((wait) => toWaitView(wait, tokens.get(wait.waitId), deps.clock.nowMs())),
  };
}

/** Names of signals: unread ones in the log, then what no turn has taken in, since the run is paused, blocked or was stopped. */
function unreadSignalsOf({ inbox }: RunRecords, state: RunState): readonly string[] {
  const untaken = newRequests(new Map(inbox.map((item) => [item.inboxId, item])), state);
  return [...state.unreadSignals.values(), ...untaken.filter(isSignal)].map(({ name }) => name);
}

function isSignal(item: InboxRecord): item is InboxRecord & { readonly kind: 'signal' } {
  return item.kind === 'signal';
}

export interface HistoryView {
  /** Of the events. Missing: 1. */
  readonly format?: number;
  readonly runId: RunId;
  readonly workflow: string;
  readonly version: string;
  readonly input?: JsonValue;
  /** The run that this one has gone on as. */
  readonly nextRunId?: RunId;
  /** Of the run's random numbers: with it the history can be replayed elsewhere. */
  readonly seed: string;
  readonly events: readonly ExportedEvent[];
  /** Remote tasks that have been started and are in no commit yet: the next one takes them in, perhaps only at their end. */
  readonly uncommitted?: readonly HistoryEvent[];
}

/** An event with the number of its commit, and what it refers to written out: a settlement, the payload of a signal. */
export type ExportedEvent = HistoryEvent & {
  readonly seq: number;
  readonly settlement?: Pick<Settlement, 'by' | 'atMs' | 'outcome'>;
  readonly payload?: JsonValue;
  /** The signal is in the history and nowhere else: what it brought is lost, and the history cannot be replayed. */
  readonly isMissing?: true;
};

/** @throws EngineError `RUN_NOT_FOUND` */
export async function readHistory(deps: Deps, runId: RunId): Promise<HistoryView> {
  const records = await load(deps, runId);
  const { head, tokens } = records;
  const state = foldHistory(records.commits);
  const handles = newHandles({ state, tokens: new Map(tokens.map((token) => [token.waitId, token])) });
  return {
    format: historyFormat,
    runId,
    workflow: head.workflow,
    version: head.version,
    ...defined({ input: head.input }),
    ...defined({ nextRunId: head.nextRunId }),
    seed: head.seed,
    events: exportEvents(records),
    ...defined({ uncommitted: handles.length === 0 || state.ending !== undefined ? undefined : handles }),
  };
}

/** The events of the commits, each with what it refers to. */
export function exportEvents(records: RunRecords): readonly ExportedEvent[] {
  const references = referencesOf(records);
  return records.commits.flatMap(({ seq, events }) => events.map((event) => ({ seq, ...event, ...references(event) })));
}

/** What events of a run refer to. */
function referencesOf({
  tokens,
  inbox,
}: RunRecords): (event: HistoryEvent) => Pick<ExportedEvent, 'settlement' | 'payload' | 'isMissing'> {
  const settlements = new Map(tokens.map((token) => [token.waitId, token.settlement]));
  const signals = new Map(inbox.map((item) => [item.inboxId, item]));
  return (event) => {
    if (event.type === 'TokenSettled') {
      const settlement = settlements.get(event.waitId);
      if (settlement === undefined) return {};
      const { by, atMs, outcome } = settlement;
      return { settlement: { by, atMs, outcome } };
    }
    if (event.type !== 'SignalReceived') return {};
    const signal = signals.get(event.inboxId);
    if (signal?.kind !== 'signal') return { isMissing: true };
    return signal.payload === undefined ? {} : { payload: signal.payload };
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
 * Runs, newest first. Read from an index, so a run that has just changed may show as it was.
 * @throws EngineError `INPUT_INVALID` for a cursor that is not one of ours
 */
export async function listRuns(deps: Deps, query: ListQuery): Promise<RunList> {
  const runs: RunSummary[] = [];
  let statuses: readonly ListStatus[] = query.status === undefined ? listStatuses : [query.status];
  let before = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  const isFiltered = query.workflow !== undefined || query.tags !== undefined;
  for (let pagesRead = 0; statuses.length > 0 && pagesRead < listPagesMax;) {
    pagesRead += statuses.length;
    const newest = await readNewest(deps, statuses, isFiltered ? filteredPageRows : query.limit - runs.length, before);
    for (const [at, run] of newest.rows.entries()) {
      before = run;
      if (matches(run, query)) runs.push(run);
      const isLast = at === newest.rows.length - 1 && newest.statuses.length === 0;
      if (runs.length === query.limit) return { runs, ...defined({ cursor: isLast ? undefined : formatCursor(run) }) };
    }
    statuses = newest.statuses;
  }
  return {
    runs,
    ...defined({ cursor: statuses.length === 0 || before === undefined ? undefined : formatCursor(before) }),
  };
}

/** The index has a partition for each status: the newest rows of each, merged. `statuses`: those that have more. */
async function readNewest(
  deps: Deps,
  statuses: readonly ListStatus[],
  limit: number,
  before: RunPosition | undefined,
): Promise<{ readonly rows: readonly RunSummary[]; readonly statuses: readonly ListStatus[] }> {
  const pages = await Promise.all(
    statuses.map(async (status) => ({ status, ...(await deps.store.listRuns(status, limit, before)) })),
  );
  const unfinished = pages.filter((page) => page.cursor !== undefined);
  // Beyond the end of a page that has more, runs of its status may be missing between those of others.
  const ends = unfinished.flatMap(({ rows }) => rows.at(-1) ?? []).sort(byNewest);
  const [end] = ends;
  const rows = pages.flatMap((page) => page.rows).sort(byNewest);
  return {
    rows: end === undefined ? rows : rows.filter((run) => byNewest(run, end) <= 0),
    // One that has been read to its end may have rows that were left out here.
    statuses: end === undefined ? [] : pages.filter((page) => hasMore(page, end)).map(({ status }) => status),
  };
}

function hasMore(page: ListPage<RunSummary>, end: RunPosition): boolean {
  const last = page.rows.at(-1);
  return page.cursor !== undefined || (last !== undefined && byNewest(last, end) > 0);
}

/** Of two runs started in one millisecond the one with the greater id comes first, as in the index. */
function byNewest(a: RunPosition, b: RunPosition): number {
  return b.createdAtMs - a.createdAtMs || (a.runId < b.runId ? 1 : -1) * Number(a.runId !== b.runId);
}

function matches(run: RunSummary, { workflow, tags }: ListQuery): boolean {
  if (workflow !== undefined && run.workflow !== workflow) return false;
  return Object.entries(tags ?? {}).every(([name, value]) => run.tags?.[name] === value);
}

function formatCursor({ createdAtMs, runId }: RunPosition): string {
  return `${createdAtMs}.${runId}`;
}

function parseCursor(cursor: string): RunPosition {
  const [, createdAtMs, runId] = /^(0|[1-9][0-9]{0,14})\.([0-9a-f]{32})$/.exec(cursor) ?? [];
  if (createdAtMs === undefined || runId === undefined)
    throw new EngineError('INPUT_INVALID', 'cursor must be one that a page of this list gave');
  return { createdAtMs: Number(createdAtMs), runId };
}

async function load(deps: Deps, runId: RunId): Promise<RunRecords> {
  const records = isRunId(runId) ? await deps.store.readRun(runId) : undefined;
  if (records === undefined) throw new EngineError('RUN_NOT_FOUND', 'no run has this id');
  return records;
}

function questionsOf(
  wait: OpenWait,
  token: TokenRecord | undefined,
): Pick<WaitView, 'question' | 'inputId' | 'questions'> {
  if (wait.kind === 'external' && wait.form !== undefined && token !== undefined)
    return { question: wait.form.message, inputId: inputIdOf(token.runId, token.waitId) };
  if (wait.kind !== 'remoteTask') return {};
  const open = [...wait.asked].filter(([id]) => !wait.answers.has(id));
  return open.length === 0 ? {} : { questions: open.map(([, { question }]) => question.message) };
}

function toWaitView(wait: OpenWait, token: TokenRecord | undefined, nowMs: EpochMs): WaitView {
  const { waitId, kind, name, requestedAtMs: sinceMs } = wait;
  const running = token === undefined ? undefined : (runningStep(token, nowMs) ?? runningStart(token, nowMs));
  const nextAtMs = running === undefined ? (token?.dueAtMs ?? waitDueAtMs(wait)) : undefined;
  const strikes = Math.max(0, (token?.step?.strikes ?? 0) - (running === undefined ? 0 : 1));
  const retried = 'failedAttempts' in wait ? wait : token?.step;
  // Why a worker holds the start back, if it does.
  const lastError = token?.workerStart?.held ?? retried?.lastError;
  const progress = wait.kind === 'step' ? wait.progress : token?.step?.progress;
  return {
    waitId,
    kind,
    name,
    ...defined({
      server: wait.kind === 'remoteTask' ? wait.server : undefined,
      childRunId: wait.kind === 'child' ? wait.childRunId : undefined,
    }),
    ...questionsOf(wait, token),
    ...defined({
      deadlineAtMs: 'deadlineAtMs' in wait ? wait.deadlineAtMs : undefined,
      taskId: token?.handle === undefined ? undefined : token.handle.taskId,
    }),
    sinceMs,
    ...defined({
      nextAtMs,
      failedAttempts: retried === undefined || retried.failedAttempts === 0 ? undefined : retried.failedAttempts,
      lastError,
    }),
    ...readsOf(token),
    ...running,
    ...defined({ interrupted: strikes === 0 ? undefined : strikes, progress }),
  };
}

function readsOf(token: TokenRecord | undefined): Pick<WaitView, 'failedReads' | 'sightings'> {
  if (token === undefined || token.pollErrors === 0) return {};
  const { pollErrors: failedReads, sightings } = token;
  return { failedReads, ...defined({ sightings }) };
}

/** A worker waits for the answer to a start. */
function runningStart(token: TokenRecord, nowMs: EpochMs): Pick<WaitView, 'leaseUntilMs'> | undefined {
  const { untilMs = 0, came } = token.workerStart ?? {};
  const isUnderWay = isWithWorker(token, token.attempt) && came === undefined && untilMs > nowMs;
  return isUnderWay ? { leaseUntilMs: untilMs } : undefined;
}

/** While an attempt is under way its marker is the end of the lease. A lease that has run out is a worker that died. */
function runningStep(
  { step, dueAtMs, settlement }: TokenRecord,
  nowMs: EpochMs,
): Pick<WaitView, 'runningSinceMs' | 'leaseUntilMs'> | undefined {
  if (step === undefined || step.strikes === 0 || settlement !== undefined) return undefined;
  return dueAtMs === undefined || dueAtMs <= nowMs
    ? undefined
    : { runningSinceMs: step.sinceMs, leaseUntilMs: dueAtMs };
}
