// The attributes that put an item into one of the two sparse indexes.

import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RunPosition, RunStatus, TokenRecord } from '../../history/records.js';
import type { Attributes } from './fields.js';

/** The due index. `ShardedTable` writes the partition in place of the run. Nothing where an item is not due. */
export const marker = (runId: RunId, dueAtMs: EpochMs | undefined): Attributes =>
  dueAtMs === undefined ? {} : { dueShard: runId, dueAtMs };
export const markerAttributes = ['dueShard', 'dueAtMs'] as const;

/** The list of runs of one status. */
export const runListing = ({ runId, createdAtMs }: RunPosition, status: RunStatus): Attributes => ({
  listPartition: status,
  listSort: listSort(runId, createdAtMs),
});

/** The list of questions for people, in which one is as long as it is open. Nothing for another wait. */
export const inputListing = ({ runId, waitId, createdAtMs, form }: TokenRecord): Attributes =>
  form === undefined ? {} : { listPartition: inputsPartition, listSort: listSort(`${runId}#${waitId}`, createdAtMs) };
export const inputsPartition = 'input';

/** The list of remote tasks that nobody waits for and that may be running. Nothing for a task that is not left alone. */
export const orphanListing = (runId: RunId, waitId: WaitId, leftAtMs: EpochMs | undefined): Attributes =>
  leftAtMs === undefined ? {} : { listPartition: orphansPartition, listSort: listSort(`${runId}#${waitId}`, leftAtMs) };
export const orphansPartition = 'orphan';

export const listAttributes = ['listPartition', 'listSort'] as const;

/** Times have a fixed number of digits, so that their texts sort as they do. */
const listSort = (id: string, atMs: EpochMs): string => `${String(atMs).padStart(15, '0')}#${id}`;

/** An upper bound, included, that takes in every run which comes after this one, and not itself: its text is just below. */
export function listSortBelow({ runId, createdAtMs }: RunPosition): string {
  const sort = listSort(runId, createdAtMs);
  const last = sort.length - 1;
  return `${sort.slice(0, last)}${String.fromCharCode(sort.charCodeAt(last) - 1)}~`;
}
