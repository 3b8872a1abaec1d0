import { defined } from '../../base/defined.js';
import type { ServerHealth } from '../../history/server-health.js';
import { healthy } from '../../history/server-health.js';
import type { EpochMs } from '../../base/time.js';
import { fewerRequestsThan, holderIs, isOpen, itemExists, minuteBefore, minuteIs } from '../conditions.js';
import { notFailedAfter, notHeldAfter, notOpenAfter, notProbedAfter, notTakenAfter } from '../conditions.js';
import type { Item, Key, Table, Update, WriteResult } from '../table.js';

/**
 * Word among the workers of how the remote servers stand: one item for each server of which anything is known, and where
 * limits are configured one for its rate and one for each slot. None of it decides what becomes of a run.
 */
export class ServerStates {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(server: string): Promise<ServerHealth> {
    return toHealth(await this.#table.get(healthKey(server)));
  }

  /** Counts a failure; one that comes more than `streakMs` after the last is the first of a new row. */
  async noteFailure(
    server: string,
    { atMs, streakMs, seen }: { readonly atMs: EpochMs; readonly streakMs: number; readonly seen: ServerHealth },
  ): Promise<ServerHealth> {
    if ((seen.failedAtMs ?? 0) <= atMs - streakMs) {
      const first = await this.#note(server, {
        set: { failures: 1, failedAtMs: atMs },
        conditions: [notFailedAfter(atMs - streakMs)],
      });
      if (first.ok) return toHealth(first.item);
    }
    return this.#noted(server, {
      set: { failedAtMs: atMs },
      increment: { failures: 1 },
      conditions: [],
    });
  }

  /** Opens the breaker, unless it is open. */
  async open(
    server: string,
    { atMs, untilMs }: { readonly atMs: EpochMs; readonly untilMs: EpochMs },
  ): Promise<ServerHealth> {
    return this.#noted(server, {
      set: { openUntilMs: untilMs, failedAtMs: atMs },
      increment: { trips: 1 },
      remove: ['probeUntilMs'],
      conditions: [notOpenAfter(atMs)],
    });
  }

  /** True for one caller, until `untilMs` or the end of its probe. False also when somebody has closed the breaker. */
  async claimProbe(
    server: string,
    { atMs, untilMs }: { readonly atMs: EpochMs; readonly untilMs: EpochMs },
  ): Promise<boolean> {
    const result = await this.#note(server, {
      set: { probeUntilMs: untilMs },
      conditions: [isOpen, notOpenAfter(atMs), notProbedAfter(atMs)],
    });
    return result.ok;
  }

  /** The server has answered: closes the breaker. */
  async noteSuccess(server: string): Promise<void> {
    await this.#note(server, {
      set: { failures: 0, trips: 0 },
      remove: ['failedAtMs', 'openUntilMs', 'probeUntilMs'],
      conditions: [itemExists],
    });
  }

  /** Notes that the server answers starts at once, or no longer does. */
  async notePrompt(server: string, isPrompt: boolean): Promise<void> {
    await this.#note(
      server,
      isPrompt ? { set: { prompt: 1 }, conditions: [] } : { remove: ['prompt'], conditions: [itemExists] },
    );
  }

  /** How the server is spoken to, as its client put it down. */
  async readWord(server: string): Promise<unknown> {
    return (await this.#table.get(healthKey(server)))?.['word'];
  }

  async noteWord(server: string, word: string): Promise<void> {
    await this.#note(server, { set: { word }, conditions: [] });
  }

  /** Leaves the server alone until then, unless it asked for longer. */
  async hold(server: string, untilMs: EpochMs): Promise<ServerHealth> {
    return this.#noted(server, {
      set: { holdUntilMs: untilMs },
      conditions: [notHeldAfter(untilMs)],
    });
  }

  /** Writes to the one item that each server has. */
  async #note(server: string, update: Omit<Update, 'kind' | 'key'>): Promise<WriteResult> {
    return this.#table.write({ kind: 'update', key: healthKey(server), ...update });
  }

  /** The same, and how the server stands now. */
  async #noted(server: string, update: Omit<Update, 'kind' | 'key'>): Promise<ServerHealth> {
    const result = await this.#note(server, update);
    return toHealth(result.ok ? result.item : result.old);
  }

  /** Takes one of the requests of this minute. False: there is none left. */
  async takePermit(
    server: string,
    { atMs, perMinute }: { readonly atMs: EpochMs; readonly perMinute: number },
  ): Promise<boolean> {
    const minute = Math.floor(atMs / 60_000);
    const key = { pk: partitionOf(server), sk: 'rate' };
    const counted = await this.#table.write({
      kind: 'update',
      key,
      increment: { requests: 1 },
      conditions: [minuteIs(minute), fewerRequestsThan(perMinute)],
    });
    if (counted.ok) return true;
    const first = await this.#table.write({
      kind: 'update',
      key,
      set: { minute, requests: 1 },
      conditions: [minuteBefore(minute)],
    });
    if (first.ok) return true;
    // Another worker may have begun the minute between the two, and there is room in it.
    const seen = first.old?.['minute'];
    return seen === minute && counted.old?.['minute'] !== minute ? this.takePermit(server, { atMs, perMinute }) : false;
  }

  /** A lease on one of `slots`, by its number; undefined when all are taken. */
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
      if (result.ok) return number;
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
const healthKey = (server: string): Key => ({ pk: partitionOf(server), sk: 'a' });
const slotPrefix = 'slot#';
const slotKey = (server: string, number: number): Key => ({
  pk: partitionOf(server),
  sk: slotPrefix + String(number).padStart(4, '0'),
});

function toHealth(item: Item | undefined): ServerHealth {
  if (item === undefined) return healthy;
  const timeIn = (name: string): EpochMs | undefined => {
    const value = item[name];
    return typeof value === 'number' ? value : undefined;
  };
  return {
    failures: Number(item['failures'] ?? 0),
    trips: Number(item['trips'] ?? 0),
    ...defined({
      failedAtMs: timeIn('failedAtMs'),
      openUntilMs: timeIn('openUntilMs'),
      probeUntilMs: timeIn('probeUntilMs'),
      holdUntilMs: timeIn('holdUntilMs'),
      isPrompt: item['prompt'] === undefined ? undefined : true,
    }),
  };
}
