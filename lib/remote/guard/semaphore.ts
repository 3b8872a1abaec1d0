import type { Clock, EpochMs } from '../../base/time.js';

export interface SemaphoreOptions {
  /** Callers admitted at a time. */
  readonly places: number;
  /** Callers waiting at a time; others are turned away at once. */
  readonly waiters: number;
  readonly waitMaxMs: number;
  readonly clock: Clock;
  readonly delay: (delayMs: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * Admits a limited number of callers at a time, and turns callers away rather than let many wait for long: if none has
 * left for as long as a caller would wait, new ones are turned away at once.
 */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  #inside = 0;
  #movedAtMs: EpochMs = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** Returns true if admitted, to be followed by `leave`; false if turned away. */
  async enter(): Promise<boolean> {
    const { places, waiters, waitMaxMs, clock, delay } = this.#options;
    const nowMs = clock.nowMs();
    if (this.#inside < places) {
      this.#inside++;
      this.#movedAtMs = nowMs;
      return true;
    }
    if (this.#waiting.length >= waiters || nowMs - this.#movedAtMs >= waitMaxMs) return false;
    const called = new AbortController();
    const call = (): void => {
      called.abort('called');
    };
    this.#waiting.push(call);
    await delay(waitMaxMs, called.signal);
    if (called.signal.aborted) return true;
    this.#waiting.splice(this.#waiting.indexOf(call), 1);
    return false;
  }

  /** Gives the place to the caller that has waited longest. */
  leave(): void {
    this.#movedAtMs = this.#options.clock.nowMs();
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside--;
    else next();
  }
}
