import type { Clock, EpochMs } from '../../base/time.js';

export interface SemaphoreOptions {
  /** Inside at a time. */
  readonly places: number;
  /** Waiting at a time; whoever comes beyond that is turned away at once. */
  readonly waiters: number;
  readonly waitMaxMs: number;
  readonly clock: Clock;
  readonly delay: (delayMs: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * Lets some in at a time, and turns away rather than have many wait for long: when nobody has come out for as long as one
 * would wait, whoever comes is turned away at once.
 */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  #inside = 0;
  #movedAtMs: EpochMs = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** True: inside, to be followed by `leave`. False: turned away. */
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

  /** The place goes to whoever has waited longest. */
  leave(): void {
    this.#movedAtMs = this.#options.clock.nowMs();
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside--;
    else next();
  }
}
