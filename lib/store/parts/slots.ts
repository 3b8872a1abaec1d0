import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';
import { holderIs, notTakenAfter } from '../conditions.js';
import type { Key, Table } from '../table.js';

/** A slot that is asked for: one of `slots`, until `untilMs` unless it is renewed. */
export interface SlotLease {
  readonly slots: number;
  readonly holder: string;
  readonly atMs: EpochMs;
  readonly untilMs: EpochMs;
  /** The slot that is tried first, so that many who come at once try others. Default 0. */
  readonly first?: number;
  /** Who asks, and how many slots at the end are for owners that have fewer than as many. Default: none. */
  readonly owner?: string;
  readonly kept?: number;
}

export interface TakenSlot {
  /** Number of the slot; undefined if all are taken. */
  readonly number: number | undefined;
  /** Slots that are taken, with this one. */
  readonly taken: number;
}

/** The slots of a partition, an item for each. One holder has a slot at a time, until its lease is over. */
export class Slots {
  readonly #table: Table;
  readonly #partition: string;

  constructor(table: Table, partition: string) {
    this.#table = table;
    this.#partition = partition;
  }

  /** Leases a slot, if one is free. */
  async take({ slots, holder, atMs, untilMs, first = 0, owner, kept = 0 }: SlotLease): Promise<TakenSlot> {
    const items = await this.#table.queryPartition(this.#partition, slotPrefix);
    const leased = items.filter((item) => Number(item['untilMs'] ?? 0) > atMs);
    const taken = new Set(leased.map(({ sk }) => sk));
    const own = leased.filter((item) => owner !== undefined && item['owner'] === owner).length;
    if (kept > 0 && own >= kept && taken.size >= slots - kept) return { number: undefined, taken: taken.size };
    for (let tried = 0; tried < slots; tried++) {
      const number = (first + tried) % slots;
      const key = this.#keyOf(number);
      if (taken.has(key.sk)) continue;
      const result = await this.#table.write({
        kind: 'update',
        key,
        set: { holder, untilMs, ...defined({ owner }) },
        conditions: [notTakenAfter(atMs)],
      });
      // A write whose answer was lost is repeated, and finds its own lease: the next slot would be a second one.
      if (result.ok || result.old?.['holder'] === holder) return { number, taken: taken.size + 1 };
      taken.add(key.sk);
    }
    return { number: undefined, taken: taken.size };
  }

  /** Returns false if another one has the slot. */
  async renew(number: number, holder: string, untilMs: EpochMs): Promise<boolean> {
    const key = this.#keyOf(number);
    return (await this.#table.write({ kind: 'update', key, set: { untilMs }, conditions: [holderIs(holder)] })).ok;
  }

  /** Frees a slot for good: a renewal that is still on its way finds no holder. */
  async free(number: number, holder: string): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: this.#keyOf(number),
      remove: ['untilMs', 'holder', 'owner'],
      conditions: [holderIs(holder)],
    });
  }

  #keyOf(number: number): Key {
    return { pk: this.#partition, sk: slotPrefix + String(number).padStart(4, '0') };
  }
}

const slotPrefix = 'slot#';
