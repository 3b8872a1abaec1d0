import { lazy } from '../base/lazy.js';
import type { Deps } from '../operations/deps.js';
import { inTime } from '../operations/in-time.js';
import type { Spans, Work } from '../operations/spans.js';
import type { Tracing } from '../workflow/tracing.js';

/** Most spans kept until they are sent; more are dropped. */
const spansMax = 2_000;
/** Time that sending may take at the end of an invocation. */
const sendMaxMs = 5_000;

type Parts = Pick<Deps, 'digest' | 'delay' | 'log'>;

/**
 * Keeps what spans are made of until they are sent. What makes them, and OpenTelemetry from the app, is loaded at the
 * first sending.
 */
export class BufferedSpans implements Spans {
  readonly #parts: Parts;
  readonly #load: () => Promise<(work: readonly Work[]) => Promise<void>>;
  #work: Work[] = [];
  #dropped = 0;

  constructor(tracing: Tracing, parts: Parts) {
    this.#parts = parts;
    this.#load = lazy(async () => (await import('./span-sender.js')).senderTo(tracing, parts.digest));
  }

  record(work: Work): void {
    if (this.#work.length < spansMax) this.#work.push(work);
    else this.#dropped++;
  }

  async flush(): Promise<void> {
    const work = this.#work;
    const dropped = this.#dropped;
    if (work.length === 0) return;
    this.#work = [];
    this.#dropped = 0;
    const { log } = this.#parts;
    try {
      if (dropped > 0) log.warn('spans dropped: there were too many', { dropped });
      const sending = this.#load().then((send) => send(work));
      await inTime(this.#parts, sendMaxMs, sending, () => {
        throw new Error(`the spans were not sent within ${sendMaxMs / 1_000} s`);
      });
    } catch (error) {
      log.warn('spans not sent', { spans: work.length, error });
    }
  }
}
