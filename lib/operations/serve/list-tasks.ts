import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isFinal, type ServedTask } from '../../serve/task/served-task.js';
import { FittedPage } from '../../serve/task/fitted.js';
import type { ListRequest, TaskPage } from '../../serve/tasks.js';
import { contextDigest, type TaskRow } from '../../store/run-store.js';
import type { Deps } from '../deps.js';
import { readTask } from './read-task.js';

/** Rows in one read of the index, and the most that one page looks at, or that a count does. */
const rowsPerRead = 100;
const rowsMax = 1_000;
/** Tasks that one page reads beyond those that it shows. */
const readsMoreMax = 100;

/**
 * Lists the tasks of the caller, newest status first. The rows of the index are hints, and each task is read before it
 * is shown. A task whose status changes between two pages moves to the front, and is on no later page. `totalSize` counts
 * hints, among the newest 1,000 tasks; it is counted for the first page, and later pages repeat it. A filter that few
 * tasks pass gives pages that are not full, or empty: the list ends where there is no token.
 * @throws EngineError `INPUT_INVALID` for a page token that is not one of this list
 */
export async function listTasks(deps: Deps, request: ListRequest): Promise<TaskPage> {
  const filter = filterOf(deps, request);
  const place = request.pageToken === undefined ? undefined : parseToken(request.pageToken, filter);
  const totalSize = place?.totalSize ?? (await count(deps, request));
  const page = new FittedPage(request.contents);
  let left = { rows: rowsMax, reads: request.pageSize + readsMoreMax };
  for await (const row of rowsOf(deps, request, place?.sort)) {
    const isSought = fits(request, row);
    const task = isSought ? await readIfListed(deps, request, row) : undefined;
    if (task !== undefined) page.add(task);
    left = { rows: left.rows - 1, reads: left.reads - Number(isSought) };
    if (page.tasks.length < request.pageSize && left.rows > 0 && left.reads > 0) continue;
    const nextPageToken = formatToken({ filter, sort: row.sort, totalSize });
    return { tasks: newestFirst(page.tasks), nextPageToken, totalSize };
  }
  return { tasks: newestFirst(page.tasks), totalSize: Math.max(totalSize, page.tasks.length) };
}

function newestFirst(tasks: readonly ServedTask[]): readonly ServedTask[] {
  return tasks.toSorted((a, b) => b.status.atMs - a.status.atMs);
}

/** Yields the rows of the caller, newest first, as far as the time of the status goes. */
async function* rowsOf(deps: Deps, request: ListRequest, after?: string): AsyncGenerator<TaskRow> {
  const servedTasks = await deps.store.servedTasks();
  const caller = defined({ owner: deps.caller?.id, tenant: deps.caller?.tenant });
  let below = after;
  for (;;) {
    const rows = await servedTasks.list(caller, rowsPerRead, below);
    for (const row of rows) {
      if (request.statusAfterMs !== undefined && row.atMs < request.statusAfterMs) return;
      yield row;
    }
    if (rows.length < rowsPerRead) return;
    below = rows.at(-1)?.sort;
  }
}

/** Returns whether a row may be in the list: the state of a task that is not final may have changed since. */
function fits({ skill, contextId, state }: ListRequest, row: TaskRow): boolean {
  if (skill !== undefined && row.skill !== skill) return false;
  if (contextId !== undefined && row.context !== contextDigest(contextId)) return false;
  return state === undefined || row.state === state || !isFinal(row.state);
}

/** Reads the task of a row; undefined if it is gone, or not what is asked for. */
async function readIfListed(deps: Deps, request: ListRequest, { taskId }: TaskRow): Promise<ServedTask | undefined> {
  const task = await readTask(deps, taskId).then(
    ({ fold }) => fold.task,
    (error: unknown) => {
      if (error instanceof EngineError && error.code === 'TASK_NOT_FOUND') return undefined;
      throw error;
    },
  );
  if (task === undefined) return undefined;
  const { state, statusAfterMs, contextId } = request;
  if (state !== undefined && task.status.state !== state) return undefined;
  if (contextId !== undefined && task.contextId !== contextId) return undefined;
  return statusAfterMs === undefined || task.status.atMs >= statusAfterMs ? task : undefined;
}

async function count(deps: Deps, request: ListRequest): Promise<number> {
  let total = 0;
  let left = rowsMax;
  for await (const row of rowsOf(deps, request)) {
    if (fits(request, row) && (request.state === undefined || row.state === request.state)) total++;
    if (--left === 0) break;
  }
  return total;
}

interface Place {
  readonly sort: string;
  readonly totalSize: number;
}

/** Returns what a token must have been made for: it goes on with the same list only. */
function filterOf({ digest, caller }: Deps, { skill, contextId, state, statusAfterMs }: ListRequest): string {
  const sought = [caller?.tenant, caller?.id, skill, contextId, state, statusAfterMs].map((one) => one ?? null);
  return digest(JSON.stringify(sought)).slice(0, 16);
}

function formatToken({ filter, sort, totalSize }: Place & { readonly filter: string }): string {
  return Buffer.from([filter, String(totalSize), sort].join(' ')).toString('base64url');
}

const tokenText = /^([0-9a-f]{16}) ([0-9]{1,9}) ([0-9]{15}#[0-9a-f]{1,64})$/;

function parseToken(token: string, filter: string): Place {
  const [, of, totalSize, sort] = tokenText.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (of !== filter || sort === undefined)
    throw new EngineError('INPUT_INVALID', 'the page token does not belong to this list');
  return { sort, totalSize: Number(totalSize) };
}
