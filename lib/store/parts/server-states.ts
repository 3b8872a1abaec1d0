import { defined } from '../../base/defined.js';
import { lazy } from '../../base/lazy.js';
import type { ServerHealth } from '../../history/server-health.js';
import { healthy } from '../../history/server-health.js';
import type { EpochMs } from '../../base/time.js';
import { isOpen, itemExists, notFailedAfter, notHeldAfter, notOpenAfter, notProbedAfter } from '../conditions.js';
import type { Item, Key, Table, Update, WriteResult } from '../table.js';

const loadServerLimits = lazy(() => import('./server-limits.js'));

/**
 * Knowledge that the workers share about the remote servers: an item for each server about which something is known,
 * and, if limits are configured, one for its rate and one for each slot. None of it decides what becomes of a run.
 */
export class ServerStates {
  /** Permits and slots, loaded for the first server that has a limit. */
  readonly limits = lazy(async () => new (await loadServerLimits()).ServerLimits(this.#table));
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(server: string): Promise<ServerHealth> {
    return toHealth(await this.#table.get(healthKey(server)));
  }

  /** Counts a failure. More than `streakMs` after the previous one, it is the first of a new streak. */
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

  /**
   * Returns true for one caller, until `untilMs` or the end of its probe. Returns false if the breaker has been closed.
   */
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

  /** Closes the breaker after an answer of the server. */
  async noteSuccess(server: string): Promise<void> {
    await this.#note(server, {
      set: { failures: 0, trips: 0 },
      remove: ['failedAtMs', 'openUntilMs', 'probeUntilMs'],
      conditions: [itemExists],
    });
  }

  /** Records whether the server answers starts at once. */
  async notePrompt(server: string, isPrompt: boolean): Promise<void> {
    await this.#note(
      server,
      isPrompt ? { set: { prompt: 1 }, conditions: [] } : { remove: ['prompt'], conditions: [itemExists] },
    );
  }

  /** Reads how the server is spoken to, as its client recorded it. */
  async readWord(server: string): Promise<unknown> {
    return (await this.#table.get(healthKey(server)))?.['word'];
  }

  async noteWord(server: string, word: string): Promise<void> {
    await this.#note(server, { set: { word }, conditions: [] });
  }

  /** Holds back calls to the server until then, unless it asked for longer. */
  async hold(server: string, untilMs: EpochMs): Promise<ServerHealth> {
    return this.#noted(server, {
      set: { holdUntilMs: untilMs },
      conditions: [notHeldAfter(untilMs)],
    });
  }

  /** Writes to the health item of a server. */
  async #note(server: string, update: Omit<Update, 'kind' | 'key'>): Promise<WriteResult> {
    return this.#table.write({ kind: 'update', key: healthKey(server), ...update });
  }

  /** Writes to the health item of a server, and returns its current health. */
  async #noted(server: string, update: Omit<Update, 'kind' | 'key'>): Promise<ServerHealth> {
    const result = await this.#note(server, update);
    return toHealth(result.ok ? result.item : result.old);
  }
}

const partitionOf = (server: string): string => `server#${server}`;
const healthKey = (server: string): Key => ({ pk: partitionOf(server), sk: 'a' });

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
