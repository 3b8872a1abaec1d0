import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { PushConfigRecord, PushState } from '../../history/push-config.js';
import {
  cursorIs,
  isDue,
  isDueBy,
  isNotDue,
  itemAbsent,
  itemExists,
  notClaimedAfter,
  notClosed,
  notOwedBeyond,
  notRemoved,
  writerIs,
} from '../conditions.js';
import { marker, markerAttributes } from '../items/indexes.js';
import { partitionOf, pushConfigKey, pushConfigPrefix } from '../items/keys.js';
import {
  pushClaimAttributes,
  pushConfigItem,
  pushFailureAttributes,
  pushFields,
  pushStateAttributes,
  removedPushAttributes,
  toPushConfig,
  toPushState,
} from '../items/push-config.js';
import type { Table, Update } from '../table.js';

/** Names a claim: what its writer does is done only as long as the claim is its own. */
export interface PushClaim {
  readonly taskId: RunId;
  readonly configId: string;
  readonly writerId: string;
}

/**
 * Where news of tasks are pushed, and how far they have been, in the partition of the first run of each task.
 *
 * N1  A config is put with a marker: an event may have been committed between the read of its generation and the put.
 * N2  A sender claims a config, if no claim stands, and sends only within its claim.
 * N3  The cursor moves only from where it was read, and only under the own claim: a config that was replaced or removed
 *     has none.
 * N4  A marker goes only if nothing beyond the cursor is owed.
 */
export class PushConfigItems {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Puts a config in place of one with its id. `onlyNew`: leaves that one as it is. */
  async put(record: PushConfigRecord & { readonly dueAtMs: EpochMs }, onlyNew = false): Promise<void> {
    const conditions = onlyNew ? [itemAbsent] : [];
    await this.#table.write({ kind: 'put', item: pushConfigItem(record), conditions });
  }

  async read(taskId: RunId, configId: string): Promise<PushConfigRecord | undefined> {
    const item = await this.#table.get(pushConfigKey(taskId, configId));
    return item && toPushConfig(item);
  }

  /** Reads the configs of a task, in the order of their ids. */
  async readAll(taskId: RunId): Promise<readonly PushConfigRecord[]> {
    const found = await this.#table.queryPartition(partitionOf(taskId), pushConfigPrefix);
    return found.map(toPushConfig).filter((config) => config !== undefined);
  }

  /** Returns how many ids of configs a task has, those of removed configs among them. */
  async countIds(taskId: RunId): Promise<number> {
    return (await this.#table.queryPartition(partitionOf(taskId), pushConfigPrefix, undefined, ['wire'])).length;
  }

  /** Reads how far the configs of a task are that are neither closed nor removed, without their receivers. */
  async readOpen(taskId: RunId): Promise<readonly PushState[]> {
    const found = await this.#table.queryPartition(
      partitionOf(taskId),
      pushConfigPrefix,
      undefined,
      pushStateAttributes,
    );
    return found.map(toPushState).filter((state) => state.closedAtMs === undefined && state.removedAtMs === undefined);
  }

  /** Removes a config with its secrets. Returns false if there is none. */
  async remove(taskId: RunId, configId: string, removedAtMs: EpochMs): Promise<boolean> {
    const { ok } = await this.#update(
      { taskId, configId },
      {
        set: pushFields.write({ removedAtMs }),
        remove: [...removedPushAttributes, ...markerAttributes],
        conditions: [itemExists, notRemoved],
      },
    );
    return ok;
  }

  /**
   * Notes what is owed, and marks the config as due unless it has a marker: a claim, or the pause after a failure, stays.
   * Returns false if the config is not as it was read.
   */
  async owe({ taskId, configId, dueAtMs }: PushState, owed: number, atMs: EpochMs): Promise<boolean> {
    const isMarked = dueAtMs !== undefined;
    const result = await this.#update(
      { taskId, configId },
      {
        set: { ...pushFields.write({ owed }), ...marker(taskId, isMarked ? undefined : atMs) },
        conditions: [itemExists, notRemoved, notClosed, notOwedBeyond(owed - 1), isMarked ? isDue : isNotDue],
      },
    );
    return result.ok;
  }

  /** Claims a config that is due at `atMs`, until `claimUntilMs`. Returns it, or undefined if it is not to be had. */
  async claim(
    { taskId, configId, writerId }: PushClaim,
    { atMs, claimUntilMs }: { readonly atMs: EpochMs; readonly claimUntilMs: EpochMs },
  ): Promise<PushConfigRecord | undefined> {
    const result = await this.#update(
      { taskId, configId },
      {
        set: { ...pushFields.write({ writerId, claimUntilMs }), ...marker(taskId, claimUntilMs) },
        conditions: [itemExists, notRemoved, notClosed, ...isDueBy(atMs), notClaimedAfter(atMs)],
      },
    );
    if (result.ok) return toPushConfig(result.item);
    // An answer that was lost: the claim is its own.
    return result.old?.['writerId'] === writerId ? toPushConfig(result.old) : undefined;
  }

  /** Moves the cursor and extends the claim. Returns false if the claim is not its own any more. */
  async advance(
    claim: PushClaim,
    moved: { readonly from: number; readonly cursor: number; readonly claimUntilMs: EpochMs },
  ): Promise<boolean> {
    const { from, cursor, claimUntilMs } = moved;
    const result = await this.#update(claim, {
      set: { ...pushFields.write({ cursor, claimUntilMs }), ...marker(claim.taskId, claimUntilMs) },
      remove: pushFailureAttributes,
      conditions: [writerIs(claim.writerId), cursorIs(from)],
    });
    return result.ok || (result.old?.['writerId'] === claim.writerId && result.old['cursor'] === cursor);
  }

  /** Ends the claim until another try is due. */
  async putOff(
    claim: PushClaim,
    next: { readonly failures: number; readonly refusals: number; readonly dueAtMs: EpochMs },
  ): Promise<void> {
    const { failures, refusals, dueAtMs } = next;
    await this.#update(claim, {
      set: { ...pushFields.write({ failures, refusals }), ...marker(claim.taskId, dueAtMs) },
      remove: pushClaimAttributes,
      conditions: [writerIs(claim.writerId)],
    });
  }

  /** Ends all pushes of a config: its receiver has refused for good. */
  async close(claim: PushClaim, closedAtMs: EpochMs): Promise<void> {
    await this.#update(claim, {
      set: pushFields.write({ closedAtMs }),
      remove: [...pushClaimAttributes, ...markerAttributes],
      conditions: [writerIs(claim.writerId)],
    });
  }

  /** Ends the claim and removes the marker, unless more is owed. Returns false if it is, or the claim is lost. */
  async rest(claim: PushClaim, { from, cursor }: { readonly from: number; readonly cursor: number }): Promise<boolean> {
    const result = await this.#update(claim, {
      set: pushFields.write({ cursor }),
      remove: [...pushClaimAttributes, ...markerAttributes],
      conditions: [writerIs(claim.writerId), cursorIs(from), notOwedBeyond(cursor)],
    });
    return result.ok || (result.old?.['writerId'] === undefined && result.old?.['cursor'] === cursor);
  }

  #update(
    { taskId, configId }: Pick<PushState, 'taskId' | 'configId'>,
    update: Omit<Update, 'kind' | 'key'>,
  ): ReturnType<Table['write']> {
    return this.#table.write({ kind: 'update', key: pushConfigKey(taskId, configId), ...update });
  }
}
