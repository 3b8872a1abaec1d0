import type { EpochMs } from '../../../lib/base/time.js';
import { toSchedule } from '../../../lib/store/items/schedule.js';
import type { Item } from '../../../lib/store/table.js';
import type { Process, World } from '../world.js';
import type { Known } from './known.js';

const S = 1_000;

/** Checks that no tick of a schedule is lost. */
export class ScheduleOracles {
  readonly #known: Known;
  readonly #world: World;
  readonly #ticks = new Map<string, EpochMs>();
  /** Instants at which sweeps failed. */
  readonly #sweepTroubles: EpochMs[] = [];

  constructor(known: Known) {
    this.#known = known;
    this.#world = known.world;
  }

  /** Called when a process is over. */
  onOver(process: Process): void {
    if (process.name.startsWith('sweep') && process.troubledAtMs > 0) this.#sweepTroubles.push(process.troubledAtMs);
  }

  onSchedule(pk: string, item: Item): void {
    const { tickAtMs, fromMs, pausedAtMs } = toSchedule(item);
    const before = this.#ticks.get(pk) ?? fromMs;
    if (tickAtMs === undefined) return;
    this.#ticks.set(pk, tickAtMs);
    // A tick that is refused is tried again until its time is over, and so may be that of those behind it.
    if (this.#known.given.limits?.kids === 'refuse') return;
    const { every = 1, catchUp = 10 } = this.#known.given.schedule ?? {};
    // A tick can be too old to be made up for before it is even due, if the clocks are this far apart.
    if (catchUp * 60 * S < 2 * this.#known.skewMs + 180 * S) return;
    const everyMs = every * 60 * S;
    if (before === undefined || pausedAtMs !== undefined || tickAtMs <= before) return;
    // The first tick after `fromMs` may be up to a whole interval later. If each sweep fails, the time to make up for
    // it passes.
    const hanging = [...this.#world.processes].filter(({ name }) => name.startsWith('sweep'));
    const troubles = [...this.#sweepTroubles, ...hanging.map(({ troubledAtMs }) => troubledAtMs)];
    const troubled = troubles.filter((atMs) => atMs > before).length;
    if (tickAtMs - before > everyMs && troubled < catchUp && !this.#isStoreTroubled(before, this.#world.nowMs))
      this.#fail(
        'ticks-lost',
        `after the tick of second ${this.#world.secondsOf(before)} comes that of second ${this.#world.secondsOf(tickAtMs)}`,
      );
  }

  /** Returns whether writes were refused for longer than a sweep in between. */
  #isStoreTroubled(fromMs: EpochMs, untilMs: EpochMs): boolean {
    return this.#known.given.entries.some((entry) => {
      if (entry.what !== 'throttle') return false;
      const beginMs = this.#world.nowMs - this.#world.seconds * S + entry.at * S;
      return beginMs < untilMs && beginMs + entry.for * S > fromMs && entry.for >= 60;
    });
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}
