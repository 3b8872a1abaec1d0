import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { InboxRecord, Lane, LanePlace, RunHead } from '../../history/records.js';
import {
  generationIs,
  hasNotEnded,
  itemAbsent,
  itemExists,
  markerNotNewerThan,
  noBlockSince,
  statusIs,
} from '../conditions.js';
import { toCommit } from '../items/commit.js';
import { failureAttributes, headFields, headItem, toHead } from '../items/head.js';
import { inboxItem } from '../items/inbox.js';
import { marker } from '../items/indexes.js';
import { commitKey, headKey, laneKey, runNameKey } from '../items/keys.js';
import { runNameFields, toRunName } from '../items/run-name.js';
import type { Key, Table, Update } from '../table.js';
import { countStart } from './tenant-counts.js';

/** A pointer to a run as it was read: a lane, or an id of a caller. Generation 0: it did not exist. */
interface PointerAsRead {
  readonly key: string;
  readonly generation: number;
}

/** What is written with the head of a run that is put into a lane. */
export interface PlaceInLane {
  readonly lane: PointerAsRead;
  /** The caller's id of the run. */
  readonly name?: PointerAsRead;
  /** The first signal. */
  readonly signal?: InboxRecord;
  /** Live runs that the tenant of the run may have. */
  readonly liveMax?: number | undefined;
}

/** Lanes: runs of one workflow with the same concurrency key, each of which waits for the one before. */
export class Lanes {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(lane: string): Promise<Lane | undefined> {
    const item = await this.#table.get(laneKey(lane));
    return item === undefined ? undefined : toRunName(item);
  }

  /**
   * Puts the head of a run and makes it the last one of its lane, both or neither: so the runs of a lane have an order,
   * and each knows the one before. `moved`: another run was put first. `full`: the tenant has as many
   * live runs as it may have. A head that exists is returned.
   */
  async createRun(
    head: RunHead,
    writerId: string,
    place: PlaceInLane,
  ): Promise<'created' | 'moved' | 'full' | RunHead> {
    const { lane, name, signal, liveMax } = place;
    const counts = countStart(head, liveMax);
    const { runId } = head;
    const result = await this.#table.transact([
      {
        kind: 'put',
        item: headItem(signal === undefined ? head : { ...head, inboxCount: 1 }, writerId),
        conditions: [itemAbsent],
      },
      pointTo(runId, laneKey(lane.key), lane.generation),
      ...(name === undefined ? [] : [pointTo(runId, runNameKey(name.key), name.generation)]),
      ...(signal === undefined
        ? []
        : [{ kind: 'put', item: inboxItem({ ...signal, position: 0 }), conditions: [itemAbsent] } as const]),
      ...counts,
    ]);
    if (result.ok) return 'created';
    const old = result.refused[0]?.old;
    const isFull = counts.length > 0 && result.refused[1] === undefined && result.refused.at(-1) !== undefined;
    if (old === undefined) return isFull ? 'full' : 'moved';
    return old['writerId'] === writerId ? 'created' : toHead(old);
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
    otherRunId: RunId,
    dueAtMs: EpochMs,
  ): Promise<'waiting' | 'ended' | 'blocked'> {
    const result = await this.#table.transact([
      {
        kind: 'update',
        key: headKey(runId),
        // Later looks begin at the run that is waited for, whatever lies between.
        set: { ...headFields.write({ lane: { key, afterRunId: otherRunId } }), ...marker(runId, dueAtMs) },
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

function pointTo(runId: RunId, key: Key, generation: number): Update {
  return {
    kind: 'update',
    key,
    set: runNameFields.write({ runId, generation: generation + 1 }),
    conditions: [generation === 0 ? itemAbsent : generationIs(generation)],
  };
}
