import type { TransportDeps } from '../endpoint/transport-deps.js';

/** Runs work in order of arrival, each piece when the one before has ended or has used up its time. */
export class OneByOne {
  readonly #delay: TransportDeps['delay'];
  readonly #timeMs: number;
  #last: Promise<void> = Promise.resolve();

  constructor(timeMs: number, delay: TransportDeps['delay']) {
    this.#timeMs = timeMs;
    this.#delay = delay;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.#last;
    let leave = (): void => undefined;
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    const ended = new AbortController();
    const inTime = this.#delay?.(this.#timeMs, ended.signal);
    inTime?.then(leave, leave);
    try {
      return await work();
    } finally {
      leave();
      ended.abort();
    }
  }
}
