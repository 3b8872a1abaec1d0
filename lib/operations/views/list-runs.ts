import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { EpochMs } from '../../base/time.js';
import type { Held, RunPosition, RunStatus, RunSummary } from '../../history/records.js';
import type { ListPage } from '../../store/run-store.js';
import type { Deps } from '../deps.js';

/** Most pages of the index that one `GET /runs` reads: a filter with few matches must not scan the table. */
const listPagesMax = 10;
/** Rows of such a page if a filter may exclude most of them. */
const filteredPageRows = 100;

/** Statuses in the index. A run that is `ending` is under `running` until it has ended. */
export type ListStatus = Exclude<RunStatus, 'ending'>;
const storedStatuses = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'continued',
] as const satisfies readonly ListStatus[];

/** What holds up runs that are `running`: statuses to ask for, not to store. */
const heldStatuses = ['blocked', 'paused', 'delayed'] as const satisfies readonly Held['kind'][];
/** Statuses by which runs are listed. */
export const listStatuses = [...storedStatuses, ...heldStatuses] as const satisfies readonly AskedStatus[];
/** A status to ask a list for. */
export type AskedStatus = ListStatus | Held['kind'];

export interface ListQuery {
  /** Default: all. */
  readonly status?: AskedStatus;
  readonly workflow?: string;
  /** Only runs that carry all of these. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Only runs whose id begins with this. */
  readonly idPrefix?: string;
  /** 1 to 100. */
  readonly limit: number;
  /** `cursor` of the previous page. */
  readonly cursor?: string;
}

/** A run in a list. */
export interface ListedRun extends Omit<RunSummary, 'held'> {
  /** Whether the run waits for code that fits it. */
  readonly blocked?: true;
  readonly pausedUntilMs?: EpochMs;
  /** When a run that has not begun is to begin. */
  readonly startAtMs?: EpochMs;
}

export interface RunList {
  readonly runs: readonly ListedRun[];
  /**
   * Set if there may be more. A page can be shorter than the limit, or empty: a call searches a limited number of runs.
   */
  readonly cursor?: string;
}

/**
 * Lists runs, newest first; for a caller with a tenant, those of its tenant. Read from an index, so a run that has just
 * changed may show its former state.
 * @throws EngineError `INPUT_INVALID` for a cursor that no page has returned
 */
export async function listRuns(deps: Deps, query: ListQuery): Promise<RunList> {
  const runs: ListedRun[] = [];
  const nowMs = deps.clock.nowMs();
  let statuses: readonly ListStatus[] = storedStatusesOf(query.status);
  let before = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  const isFiltered =
    [query.workflow, query.tags, query.idPrefix].some((filter) => filter !== undefined) || isHeldStatus(query.status);
  for (let pagesRead = 0; statuses.length > 0 && pagesRead < listPagesMax;) {
    pagesRead += statuses.length;
    const newest = await readNewest(deps, statuses, isFiltered ? filteredPageRows : query.limit - runs.length, before);
    for (const [at, run] of newest.rows.entries()) {
      before = run;
      const listed = toListed(run, nowMs);
      if (matches(run, query) && (!isHeldStatus(query.status) || statusOf(listed) === query.status)) runs.push(listed);
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

function isHeldStatus(status: ListQuery['status']): status is Held['kind'] {
  return heldStatuses.some((held) => held === status);
}

function storedStatusesOf(status: ListQuery['status']): readonly ListStatus[] {
  if (status === undefined) return storedStatuses;
  return isHeldStatus(status) ? ['running'] : [status];
}

/** Returns a row as it is now: a pause or delay may have passed, and a run that has ended is held up by nothing. */
function toListed({ held, ...run }: RunSummary, nowMs: EpochMs): ListedRun {
  if (held === undefined || (run.status !== 'running' && run.status !== 'ending')) return run;
  if (held.kind === 'blocked') return { ...run, blocked: true };
  if (held.untilMs <= nowMs) return run;
  return held.kind === 'paused' ? { ...run, pausedUntilMs: held.untilMs } : { ...run, startAtMs: held.untilMs };
}

/** Returns the status of a run for a person: what holds it up, or else the stored one. */
export function statusOf({ status, blocked, pausedUntilMs, startAtMs }: ListedRun): RunStatus | Held['kind'] {
  if (blocked === true) return 'blocked';
  if (pausedUntilMs !== undefined) return 'paused';
  return startAtMs === undefined ? status : 'delayed';
}

/** Reads the newest rows of each status (a partition of the index), merged. `statuses`: those with more rows. */
async function readNewest(
  deps: Deps,
  statuses: readonly ListStatus[],
  limit: number,
  before: RunPosition | undefined,
): Promise<{ readonly rows: readonly RunSummary[]; readonly statuses: readonly ListStatus[] }> {
  const pages = await Promise.all(
    statuses.map(async (status) => ({
      status,
      ...(await deps.store.lists.runs({ status, tenant: deps.caller?.tenant }, limit, before)),
    })),
  );
  const unfinished = pages.filter((page) => page.cursor !== undefined);
  // Beyond the end of a page with more rows, runs of its status may be missing between those of other statuses.
  const ends = unfinished.flatMap(({ rows }) => rows.at(-1) ?? []).sort(byNewest);
  const [end] = ends;
  const rows = pages.flatMap((page) => page.rows).sort(byNewest);
  return {
    rows: end === undefined ? rows : rows.filter((run) => byNewest(run, end) <= 0),
    // A status that was read to its end may have rows that were left out here.
    statuses: end === undefined ? [] : pages.filter((page) => hasMore(page, end)).map(({ status }) => status),
  };
}

function hasMore(page: ListPage<RunSummary>, end: RunPosition): boolean {
  const last = page.rows.at(-1);
  return page.cursor !== undefined || (last !== undefined && byNewest(last, end) > 0);
}

/** Compares runs as the index does: of two runs started in one millisecond, the one with the greater id comes first. */
function byNewest(a: RunPosition, b: RunPosition): number {
  return b.createdAtMs - a.createdAtMs || (a.runId < b.runId ? 1 : -1) * Number(a.runId !== b.runId);
}

function matches(run: RunSummary, { workflow, tags, idPrefix }: ListQuery): boolean {
  if (idPrefix !== undefined && !run.runId.startsWith(idPrefix)) return false;
  if (workflow !== undefined && run.workflow !== workflow) return false;
  return Object.entries(tags ?? {}).every(([name, value]) => run.tags?.[name] === value);
}

function formatCursor({ createdAtMs, runId }: RunPosition): string {
  return `${createdAtMs}.${runId}`;
}

function parseCursor(cursor: string): RunPosition {
  const [, createdAtMs, runId] = /^(0|[1-9][0-9]{0,14})\.([0-9a-f]{32})$/.exec(cursor) ?? [];
  if (createdAtMs === undefined || runId === undefined)
    throw new EngineError('INPUT_INVALID', 'cursor must come from a page of this list');
  return { createdAtMs: Number(createdAtMs), runId };
}
