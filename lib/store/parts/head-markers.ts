import type { StoredError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { FailedTurns } from '../../history/records.js';
import { dueStill, hasEnded, itemExists, markerNotNewerThan, noBlockSince, notPublishedBeyond } from '../conditions.js';
import type { TaskHint } from '../../history/task-content.js';
import type { Attributes } from '../items/fields.js';
import { blocksOf, headFields, failureAttributes, hintAttributes } from '../items/head.js';
import { type ListedRun, type ListedTask, marker, markerAttributes, runListSort } from '../items/indexes.js';
import { headKey } from '../items/keys.js';
import type { Table, Update, WriteResult } from '../table.js';
import { clearMarker } from './clear-marker.js';

/** A marker of the head, computed from commit `seq`. `dueAtMs` undefined: none. */
interface HeadMarker {
  readonly seq: number;
  readonly dueAtMs: EpochMs | undefined;
  /** Last commit whose lifecycle events have been published, if any. */
  readonly publishedSeq?: number | undefined;
}

/** A served run whose task has changed since its head said so. */
export interface RestingTask {
  readonly head: ListedTask;
  readonly hint: TaskHint;
}
const taskAttributes = (task: RestingTask | undefined): Attributes =>
  task === undefined ? {} : hintAttributes(task.head, task.hint);

/** Changes what the lists say of the run. Where it is listed stays, so a run that has ended meanwhile stays there. */
const listAttribute = (run: ListedRun | undefined): Attributes => (run === undefined ? {} : runListSort(run));

/** When the head of a run must next be looked at, what holds the run up, and how far it has been published. */
export class HeadMarkers {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Sets or removes the head's marker as computed from commit `seq`, unless a newer commit's marker is set. Clears
   * `blocked`. `listed`: what the lists say of the run from now on, if that has changed. Returns false, and changes nothing, if the run has been blocked since its head was read with `blocks`:
   * the process that blocked it may have seen what this turn has not, and has left no other marker for it.
   */
  async set(
    runId: RunId,
    {
      seq,
      dueAtMs,
      blocks,
      publishedSeq,
      task,
      listed,
    }: HeadMarker & { readonly blocks: number; readonly task?: RestingTask; readonly listed?: ListedRun },
  ): Promise<boolean> {
    const result = await this.#update(runId, {
      set: {
        ...headFields.write({ dueSeq: seq, publishedSeq }),
        ...marker(runId, dueAtMs),
        ...taskAttributes(task),
        ...listAttribute(listed),
      },
      remove: [...failureAttributes, ...(dueAtMs === undefined ? markerAttributes : [])],
      conditions: [itemExists, markerNotNewerThan(seq), noBlockSince(blocks)],
    });
    return result.ok || result.old === undefined || blocksOf(result.old) <= blocks;
  }

  /**
   * Records on the head why the run cannot go on, and when to retry. Returns false if a newer commit's marker is set.
   */
  async block(
    runId: RunId,
    {
      seq,
      dueAtMs,
      publishedSeq,
      blocked,
      listed,
    }: HeadMarker & { readonly dueAtMs: EpochMs; readonly blocked: StoredError; readonly listed?: ListedRun },
  ): Promise<boolean> {
    const result = await this.#update(runId, {
      set: {
        ...headFields.write({ dueSeq: seq, blocked, publishedSeq }),
        ...marker(runId, dueAtMs),
        ...listAttribute(listed),
      },
      increment: { blocks: 1 },
      conditions: [itemExists, markerNotNewerThan(seq)],
    });
    return result.ok;
  }

  /** Records that a turn of a run has thrown, and how many times in a row in this way. */
  async noteFailedTurn(runId: RunId, failedTurns: FailedTurns): Promise<void> {
    await this.#update(runId, { set: headFields.write({ failedTurns }), conditions: [itemExists] });
  }

  /** Removes the marker of a run that has ended, if it is the one that was read. */
  async clear(runId: RunId, seenDueAtMs: EpochMs, publishedSeq?: number): Promise<void> {
    const conditions = [hasEnded, dueStill(seenDueAtMs)];
    await clearMarker(this.#table, headKey(runId), conditions, headFields.write({ publishedSeq }));
  }

  /** Marks a run that has ended as due, so that the sweep brings it back for the remaining end effects. */
  async markEnded(runId: RunId, dueAtMs: EpochMs): Promise<void> {
    await this.#update(runId, { set: marker(runId, dueAtMs), conditions: [hasEnded] });
  }

  /** Records up to which commit lifecycle events have been published, if no marker is moved. */
  async setPublished(runId: RunId, publishedSeq: number): Promise<void> {
    await this.#update(runId, {
      set: headFields.write({ publishedSeq }),
      conditions: [itemExists, notPublishedBeyond(publishedSeq)],
    });
  }

  async #update(runId: RunId, update: Omit<Update, 'kind' | 'key'>): Promise<WriteResult> {
    return this.#table.write({ kind: 'update', key: headKey(runId), ...update });
  }
}
