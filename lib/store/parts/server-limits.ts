import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';
import type { LinePart, PermitLease, RateAnswer, ServerRate } from '../../history/server-rate.js';
import {
  fewerOfKindThan,
  fewerRequestsThan,
  holderIs,
  lineEndsBy,
  lineReaches,
  minuteBefore,
  minuteIs,
  notTakenAfter,
} from '../conditions.js';
import type { Item, Key, Table, Update } from '../table.js';

/** Requests to remote servers that have a limit: an item for the rate of each server, and one for each slot. */
export class ServerLimits {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async readRate(server: string): Promise<ServerRate> {
    return toRate(await this.#table.get(rateKey(server)));
  }

  /**
   * Leases permits of the current minute: never more than `perMinute` of both kinds, nor than `kindMax` of this kind.
   */
  async lease(
    server: string,
    { kind, minute, count, perMinute, kindMax }: PermitLease & { readonly perMinute: number; readonly kindMax: number },
  ): Promise<RateAnswer> {
    return this.#writeRate(server, {
      increment: { requests: count, [kind]: count },
      conditions: [
        minuteIs(minute),
        fewerRequestsThan(perMinute - count + 1),
        fewerOfKindThan(kind, kindMax - count + 1),
      ],
    });
  }

  /** Leases the first permits of a minute. Fails if one that is as late has begun. */
  async openMinute(
    server: string,
    { kind, minute, count, readsBefore }: PermitLease & { readonly readsBefore: number | undefined },
  ): Promise<RateAnswer> {
    return this.#writeRate(server, {
      set: { minute, requests: count, starts: 0, reads: 0, [kind]: count, ...defined({ readsBefore }) },
      ...defined({ remove: readsBefore === undefined ? ['readsBefore'] : undefined }),
      conditions: [minuteBefore(minute)],
    });
  }

  /**
   * Reserves places at the end of a line that reaches `fromMs`: as much of it as `lengthMs`. Never fails because of
   * others, who reserve theirs before or after.
   */
  async reserve(server: string, { kind, fromMs, lengthMs }: LinePart): Promise<RateAnswer> {
    return this.#writeRate(server, {
      increment: { [`${kind}UntilMs`]: lengthMs },
      conditions: lineReaches(kind, fromMs),
    });
  }

  /** Begins a line at `fromMs`, unless it is longer already. */
  async beginLine(server: string, { kind, fromMs, lengthMs }: LinePart): Promise<RateAnswer> {
    return this.#writeRate(server, {
      set: { [`${kind}UntilMs`]: fromMs + lengthMs },
      conditions: [lineEndsBy(kind, fromMs - 1)],
    });
  }

  async #writeRate(server: string, update: Omit<Update, 'kind' | 'key'>): Promise<RateAnswer> {
    const result = await this.#table.write({ kind: 'update', key: rateKey(server), ...update });
    return { ok: result.ok, rate: toRate(result.ok ? result.item : result.old) };
  }

  /** Leases one of `slots` and returns its number; undefined if all are taken. */
  async takeSlot(
    server: string,
    slot: { readonly slots: number; readonly holder: string; readonly atMs: EpochMs; readonly untilMs: EpochMs },
  ): Promise<number | undefined> {
    const { slots, holder, atMs, untilMs } = slot;
    const items = await this.#table.queryPartition(partitionOf(server), slotPrefix);
    const taken = new Set(items.filter((item) => Number(item['untilMs'] ?? 0) > atMs).map(({ sk }) => sk));
    for (let number = 0; number < slots; number++) {
      const key = slotKey(server, number);
      if (taken.has(key.sk)) continue;
      const result = await this.#table.write({
        kind: 'update',
        key,
        set: { holder, untilMs },
        conditions: [notTakenAfter(atMs)],
      });
      // A write whose answer was lost is repeated, and finds its own lease: the next slot would be a second one.
      if (result.ok || result.old?.['holder'] === holder) return number;
    }
    return undefined;
  }

  async freeSlot(server: string, number: number, holder: string): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: slotKey(server, number),
      remove: ['untilMs'],
      conditions: [holderIs(holder)],
    });
  }
}

const partitionOf = (server: string): string => `server#${server}`;
const rateKey = (server: string): Key => ({ pk: partitionOf(server), sk: 'rate' });
const slotPrefix = 'slot#';
const slotKey = (server: string, number: number): Key => ({
  pk: partitionOf(server),
  sk: slotPrefix + String(number).padStart(4, '0'),
});

/** Reads the item; versions before kinds counted `requests` only, and left the other counts as they were. */
function toRate(item: Item | undefined): ServerRate {
  const numberIn = (name: string): number => Number(item?.[name] ?? 0);
  const readsBefore = item?.['readsBefore'];
  return {
    minute: numberIn('minute'),
    requests: numberIn('requests'),
    starts: Math.min(numberIn('starts'), numberIn('requests')),
    reads: Math.min(numberIn('reads'), numberIn('requests')),
    startsUntilMs: numberIn('startsUntilMs'),
    readsUntilMs: numberIn('readsUntilMs'),
    ...defined({ readsBefore: typeof readsBefore === 'number' ? readsBefore : undefined }),
  };
}
