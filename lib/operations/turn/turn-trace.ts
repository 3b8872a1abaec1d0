import { toStoredError } from '../../base/errors.js';
import type { HistoryEvent } from '../../history/event.js';
import type { RunHead } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { tracedOf } from '../line-of-run.js';

/**
 * Makes the span of a turn, if it commits something or fails. Its id is that of its first commit, so a turn that failed
 * and is retried has the same one. It is linked to the settlements that it takes in.
 */
export class TurnTrace {
  readonly #deps: Deps;
  readonly #startMs: number;
  readonly #settled: string[] = [];
  #head: RunHead | undefined;
  #firstSeq = 0;
  #commits = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#startMs = deps.clock.nowMs();
  }

  /** Notes the run, as a pass begins with it after commit `seq`. */
  began(head: RunHead, seq: number): void {
    this.#head = head;
    if (this.#commits === 0) this.#firstSeq = seq + 1;
  }

  committed(seq: number, events: readonly HistoryEvent[]): void {
    if (this.#commits++ === 0) this.#firstSeq = seq;
    for (const event of events) if (event.type === 'TokenSettled') this.#settled.push(event.waitId);
  }

  ended(error?: unknown): void {
    const head = this.#head;
    if (head === undefined || (this.#commits === 0 && error === undefined)) return;
    this.#deps.spans?.record({
      kind: 'turn',
      run: { ...tracedOf(head), workflow: head.workflow },
      firstSeq: this.#firstSeq,
      commits: this.#commits,
      settled: this.#settled,
      startMs: this.#startMs,
      endMs: this.#deps.clock.nowMs(),
      error: error === undefined ? undefined : toStoredError(error, 'INTERNAL').code,
    });
  }
}
