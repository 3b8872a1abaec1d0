// The attributes that put an item into one of the two sparse indexes.

import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RunPosition, RunStatus, TokenRecord } from '../../history/records.js';
import type { Attributes } from './fields.js';

/** Attributes of the due index; none if an item is not due. `ShardedTable` writes the partition in place of the run. */
export const marker = (runId: RunId, dueAtMs: EpochMs | undefined): Attributes =>
  dueAtMs === undefined ? {} : { dueShard: runId, dueAtMs };
export const markerAttributes = ['dueShard', 'dueAtMs'] as const;

/** Attributes of the list of runs of one status. */
export const runListing = ({ runId, createdAtMs }: RunPosition, status: RunStatus): Attributes => ({
  listPartition: status,
  listSort: listSort(runId, createdAtMs),
});

/** Attributes of the list of open questions to people; none for another wait. */
export const inputListing = ({ runId, waitId, createdAtMs, form }: TokenRecord): Attributes =>
  form === undefined ? {} : { listPartition: inputsPartition, listSort: listSort(`${runId}#${waitId}`, createdAtMs) };
export const inputsPartition = 'input';

/** Attributes of the list of remote tasks that are not waited for and may be running; none for any other task. */
export const orphanListing = (runId: RunId, waitId: WaitId, leftAtMs: EpochMs | undefined): Attributes =>
  leftAtMs === undefined ? {} : { listPartition: orphansPartition, listSort: listSort(`${runId}#${waitId}`, leftAtMs) };
export const orphansPartition = 'orphan';

export const listAttributes = ['listPartition', 'listSort'] as const;

/** Pads times to a fixed number of digits, so that they sort as text. */
const listSort = (id: string, atMs: EpochMs): string => `${String(atMs).padStart(15, '0')}#${id}`;

/** Returns an inclusive upper bound for all runs after this one, without itself: the text just below its own. */
export function listSortBelow({ runId, createdAtMs }: RunPosition): string {
  const sort = listSort(runId, createdAtMs);
  const last = sort.length - 1;
  return `${sort.slice(0, last)}${String.fromCharCode(sort.charCodeAt(last) - 1)}~`;
}
