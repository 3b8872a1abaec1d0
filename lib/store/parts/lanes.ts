import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { LanePlace, RunHead } from '../../history/records.js';
import { hasNotEnded, itemExists, markerNotNewerThan, noBlockSince, statusIs } from '../conditions.js';
import { toCommit } from '../items/commit.js';
import { failureAttributes, headFields } from '../items/head.js';
import { marker } from '../items/indexes.js';
import { commitKey, headKey } from '../items/keys.js';
import type { Table } from '../table.js';

/** Lanes: runs of one workflow with the same concurrency key, each of which waits for the one before. */
export class Lanes {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Returns whether the log of a run begins with the start of its code. */
  async hasBegun(runId: RunId): Promise<boolean> {
    const item = await this.#table.get(commitKey(runId, 1));
    return item !== undefined && toCommit(item).events.some(({ type }) => type === 'RunStarted');
  }

  /**
   * Lets a run wait behind another one of its lane: the head of the other names it, and its own marker moves to
   * `dueAtMs`, both or neither. `ended`: the other has ended, so it may not have seen that there is a next one.
   * `blocked`: the run was blocked since its head was read with `blocks`.
   */
  async waitBehind(
    { runId, dueSeq, blocks }: Pick<RunHead, 'runId' | 'dueSeq' | 'blocks'>,
    { key }: Pick<LanePlace, 'key'>,
    { runId: otherRunId, createdAtMs: afterCreatedAtMs }: Pick<RunHead, 'runId' | 'createdAtMs'>,
    dueAtMs: EpochMs,
  ): Promise<'waiting' | 'ended' | 'blocked'> {
    const result = await this.#table.transact([
      {
        kind: 'update',
        key: headKey(runId),
        // Later looks begin at the run that is waited for, whatever lies between.
        set: {
          ...headFields.write({ lane: { key, afterRunId: otherRunId, afterCreatedAtMs } }),
          ...marker(runId, dueAtMs),
        },
        remove: failureAttributes,
        conditions: [itemExists, markerNotNewerThan(dueSeq), noBlockSince(blocks)],
      },
      {
        kind: 'update',
        key: headKey(otherRunId),
        set: headFields.write({ lane: { key, nextRunId: runId } }),
        conditions: [itemExists, hasNotEnded],
      },
    ]);
    if (result.ok) return 'waiting';
    return result.refused[1] === undefined ? 'blocked' : 'ended';
  }

  /** Marks a run that waits as due at once. A run that does not wait any more has an additional turn. */
  async markDue(runId: RunId, dueAtMs: EpochMs): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: headKey(runId),
      set: marker(runId, dueAtMs),
      conditions: [itemExists, statusIs('running')],
    });
  }
}
