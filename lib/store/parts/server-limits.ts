import { defined } from '../../base/defined.js';
import type { LinePart, PermitLease, RateAnswer, ServerRate } from '../../history/server-rate.js';
import { fewerOfKindThan, fewerRequestsThan, lineEndsBy, lineReaches, minuteBefore, minuteIs } from '../conditions.js';
import type { Item, Key, Table, Update } from '../table.js';
import { type SlotLease, Slots } from './slots.js';

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
  async takeSlot(server: string, lease: Omit<SlotLease, 'first'>): Promise<number | undefined> {
    return (await this.#slotsOf(server).take(lease)).number;
  }

  async freeSlot(server: string, number: number, holder: string): Promise<void> {
    await this.#slotsOf(server).free(number, holder);
  }

  #slotsOf(server: string): Slots {
    return new Slots(this.#table, partitionOf(server));
  }
}

const partitionOf = (server: string): string => `server#${server}`;
const rateKey = (server: string): Key => ({ pk: partitionOf(server), sk: 'rate' });

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
