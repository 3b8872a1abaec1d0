import type { Clock, EpochMs } from '../../lib/base/time.js';
import { Heap } from '../../lib/queue/heap.js';

interface Sleeper {
  readonly atMs: EpochMs;
  readonly number: number;
  readonly wake: () => void;
}

/** A clock that moves from one delay to the next; a delay costs O(log n), so that thousands may be under way. */
export class EventClock implements Clock {
  #nowMs: EpochMs;
  #count = 0;
  readonly #sleepers = new Heap<Sleeper>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number));

  constructor(startMs: EpochMs) {
    this.#nowMs = startMs;
  }

  nowMs(): EpochMs {
    return this.#nowMs;
  }

  at(atMs: EpochMs, wake: () => void): void {
    this.#sleepers.push({ atMs, number: this.#count++, wake });
  }

  /** Resolves when the clock has moved on by `delayMs`, or when `signal` aborts. */
  delay(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true || delayMs <= 0) {
        resolve();
        return;
      }
      signal?.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
      this.at(this.#nowMs + delayMs, resolve);
    });
  }

  nextAtMs(): EpochMs {
    return this.#sleepers.peek()?.atMs ?? Infinity;
  }

  /** Moves forward, never back, and ends the delays that are due. */
  moveTo(nowMs: EpochMs): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    while ((this.#sleepers.peek()?.atMs ?? Infinity) <= this.#nowMs) this.#sleepers.pop()?.wake();
  }
}
