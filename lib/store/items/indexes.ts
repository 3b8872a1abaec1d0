// The attributes that put an item into one of the sparse indexes.

import { createHash } from 'node:crypto';
import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import { defined } from '../../base/defined.js';
import type { NamedKey } from '../../history/named-key.js';
import type { TaskHint } from '../../history/task-content.js';
import type { Held, RunHead, RunPosition, RunStatus, TokenRecord } from '../../history/records.js';
import type { Item } from '../table.js';
import type { Attributes } from './fields.js';

/** Attributes of the due index; none if an item is not due. `ShardedTable` writes the partition in place of the run. */
export const marker = (runId: RunId, dueAtMs: EpochMs | undefined): Attributes =>
  dueAtMs === undefined ? {} : { dueShard: runId, dueAtMs };
export const markerAttributes = ['dueShard', 'dueAtMs'] as const;

/** A run for the lists: its position, and whose it is. */
export type ListedRun = RunPosition & Pick<RunHead, 'owner' | 'tenant' | 'held'>;

/**
 * Attributes of the list of runs of one status, and of the list of those of one tenant. The sort key also holds tenant
 * and owner, and what holds the run up, since the attributes that an index projects cannot be changed on an existing
 * table.
 */
export const runListing = (run: ListedRun, status: RunStatus): Attributes => ({
  listPartition: status,
  ...runListSort(run),
  ...tenantListing(run.tenant, status),
});

/** The attribute of a listed run that says what holds it up; its place in the list stays. */
export const runListSort = ({ runId, createdAtMs, owner, tenant, held }: ListedRun): Attributes => {
  const place = `${runId}${heldText(held)}`;
  return { listSort: listSort(owner === undefined ? place : `${place}#${tenant ?? ''}#${owner}`, createdAtMs) };
};

const heldMarks = { blocked: 'b', paused: 'p', delayed: 'd' } as const;

/** Stands behind the run id, where earlier versions do not look. */
function heldText(held: Held | undefined): string {
  if (held === undefined) return '';
  return `.${heldMarks[held.kind]}${held.kind === 'blocked' ? '' : held.untilMs}`;
}

/** Reads from a listed run what holds it up. */
export function heldInListing({ listSort: sort }: Item): Pick<RunHead, 'held'> {
  const [, mark, untilMs] = /^\d+#[^#.]+\.(b|[pd](?=\d))(\d*)(?:#|$)/.exec(String(sort ?? '')) ?? [];
  if (mark === undefined) return {};
  if (mark === 'b') return { held: { kind: 'blocked' } };
  return { held: { kind: mark === 'p' ? 'paused' : 'delayed', untilMs: Number(untilMs) } };
}

/** Reads tenant and owner from a row of the list of runs. */
export function ownerInListing({ listSort: sort }: Item): Pick<RunHead, 'owner' | 'tenant'> {
  const [, , tenant, ...owner] = String(sort ?? '').split('#');
  return owner.length === 0
    ? {}
    : { ...defined({ tenant: tenant === '' ? undefined : tenant }), owner: owner.join('#') };
}

/** A run for the list of tasks. */
export type ListedTask = Pick<RunHead, 'runId' | 'owner' | 'tenant' | 'task'>;

/** Attributes of the list of tasks of a caller; none for a run that is not the first of a task. */
export const taskListing = ({ runId, task, ...caller }: ListedTask, hint: TaskHint | undefined): Attributes =>
  task === undefined || task.firstRunId !== undefined || hint === undefined
    ? {}
    : { taskPartition: taskPartition(caller), taskSort: listSort(runId, hint.atMs) };

/** Attribute by which tasks of one context are found in the list; none for a run that is not listed there. */
export const taskContext = ({ task }: Pick<RunHead, 'task'>): Attributes =>
  task === undefined || task.firstRunId !== undefined ? {} : { taskContext: contextDigest(task.contextId) };

/** Returns the partition of the tasks of a caller. */
export const taskPartition = ({ owner, tenant }: Pick<RunHead, 'owner' | 'tenant'>): string =>
  shortDigest(JSON.stringify([tenant ?? null, owner ?? null]));
export const contextDigest = (contextId: string): string => shortDigest(contextId);
const shortDigest = (of: string): string => createHash('sha256').update(of).digest('hex').slice(0, 32);

/** Attribute of the list of what a tenant has in a list; none without a tenant. */
const tenantListing = (tenant: string | undefined, partition: string): Attributes =>
  tenant === undefined ? {} : { tenantPartition: tenantPartition(tenant, partition) };
export const tenantPartition = (tenant: string, partition: string): string => `${tenant}#${partition}`;

/** Attributes of the list of open questions to people; none for another wait. */
export const inputListing = ({ runId, waitId, createdAtMs, form, tenant }: TokenRecord): Attributes =>
  form === undefined
    ? {}
    : {
        listPartition: inputsPartition,
        listSort: listSort(`${runId}#${waitId}`, createdAtMs),
        ...tenantListing(tenant, inputsPartition),
      };
export const inputsPartition = 'input';

/** Attributes of the list of remote tasks that are not waited for and may be running; none for any other task. */
export const orphanListing = (runId: RunId, waitId: WaitId, leftAtMs: EpochMs | undefined): Attributes =>
  leftAtMs === undefined ? {} : { listPartition: orphansPartition, listSort: listSort(`${runId}#${waitId}`, leftAtMs) };
export const orphansPartition = 'orphan';

/** Attributes of the list of named keys. */
export const keyListing = ({ name, createdAtMs }: NamedKey): Attributes => ({
  listPartition: keysPartition,
  listSort: listSort(name, createdAtMs),
});
export const keysPartition = 'key';

export const listAttributes = ['listPartition', 'listSort', 'tenantPartition'] as const;

/** Pads times to a fixed number of digits, so that they sort as text. */
const listSort = (id: string, atMs: EpochMs): string => `${String(atMs).padStart(15, '0')}#${id}`;

/** Returns an inclusive upper bound for all runs after this one, without itself. */
export function listSortBelow({ runId, createdAtMs }: RunPosition): string {
  return textBelow(listSort(runId, createdAtMs));
}

/** Returns an inclusive upper bound for all sort keys below this one: the text just below it. */
export function textBelow(sort: string): string {
  const last = sort.length - 1;
  return `${sort.slice(0, last)}${String.fromCharCode(sort.charCodeAt(last) - 1)}~`;
}
