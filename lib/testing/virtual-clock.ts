import type { Clock, EpochMs } from '../base/time.js';

interface Sleeper {
  readonly atMs: EpochMs;
  readonly wake: () => void;
}

/** A clock that moves only when it is told to, with the delays that depend on it. */
export class VirtualClock implements Clock {
  #nowMs: EpochMs;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startMs: EpochMs) {
    this.#nowMs = startMs;
  }

  nowMs(): EpochMs {
    return this.#nowMs;
  }

  /** Resolves when the clock has moved on by `delayMs`, or when `signal` aborts. */
  delay(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper: Sleeper = {
        atMs: this.#nowMs + delayMs,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener('abort', sleeper.wake);
          resolve();
        },
      };
      if (signal?.aborted === true || delayMs <= 0) {
        resolve();
        return;
      }
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', sleeper.wake, { once: true });
    });
  }

  /** Returns the end of the earliest delay, if any. */
  nextDelayAtMs(): EpochMs | undefined {
    let earliest: EpochMs | undefined;
    for (const { atMs } of this.#sleepers) earliest = earliest === undefined ? atMs : Math.min(earliest, atMs);
    return earliest;
  }

  /** Moves forward, never back, and ends the delays that are due. */
  moveTo(nowMs: EpochMs): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    const due = [...this.#sleepers].filter((sleeper) => sleeper.atMs <= this.#nowMs).sort((a, b) => a.atMs - b.atMs);
    for (const sleeper of due) sleeper.wake();
  }
}
