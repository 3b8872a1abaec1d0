import type { RunId, WaitId } from '../base/ids.js';
import type { LifecycleEvent } from '../history/lifecycle-event.js';
import type { RunState } from '../history/run-state.js';
import type { Execution } from '../replay/execution.js';
import type { InboxRecord, TokenRecord } from '../history/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';

/** Runs that a process keeps between turns, and their events together: about 10 MB, without what their code holds. */
const warmRunsMax = 50;
const warmEventsMax = 50_000;
/** Ids of ended runs that a process keeps: the remaining wakes of a run arrive within minutes. */
const endedRunsMax = 1_000;

/**
 * A run as its last turn in this process left it: nothing under way, and all that the workflow requested in the log.
 */
export interface WarmRun {
  /** The workflow whose code the execution has run. */
  readonly workflow: AnyWorkflow;
  readonly execution: Execution;
  readonly state: RunState;
  /** Tokens of the waits that are open in the log. The execution looks settlements up here. */
  readonly tokens: Map<WaitId, TokenRecord>;
  /** Number of blocks so far. A process that blocks a run removes the markers of what has come. */
  readonly blocks: number;
  /** Requests that are not taken in. The execution looks payloads up here. */
  readonly inbox: Map<string, InboxRecord>;
  /** Lifecycle events not published yet, because the bus failed or time ran out. */
  readonly unpublished: readonly LifecycleEvent[] | undefined;
}

export interface WarmRunsOptions {
  /** Default 50. */
  readonly runs?: number;
  /** Total of all runs. Default 50,000. */
  readonly events?: number;
  /**
   * Returns whether the process has memory to spare: what the code of a run holds is not counted here. Default: true.
   */
  readonly hasRoom?: () => boolean;
}

/**
 * Runs that one process remembers between turns, evicted least recently used. Only a cache: the user of a run checks
 * that the log has not grown since, and a run that is not here is read and replayed. NewEvents a run removes it; only a
 * turn that ended well puts it back.
 */
export class WarmRuns {
  readonly #maxRuns: number;
  readonly #maxEvents: number;
  readonly #hasRoom: () => boolean;
  /** In the order in which they were kept. */
  readonly #runs = new Map<RunId, WarmRun>();
  #events = 0;
  /** Ids of ended runs whose last wakes may still come. */
  readonly #ended = new Set<RunId>();

  constructor({ runs = warmRunsMax, events = warmEventsMax, hasRoom = () => true }: WarmRunsOptions = {}) {
    this.#maxRuns = runs;
    this.#maxEvents = events;
    this.#hasRoom = hasRoom;
  }

  /** Notes that a turn of this process has found or made the run ended. */
  noteEnded(runId: RunId): void {
    this.#ended.delete(runId);
    this.#ended.add(runId);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= endedRunsMax) return;
      this.#ended.delete(oldest);
    }
  }

  hasEnded(runId: RunId): boolean {
    return this.#ended.has(runId);
  }

  take(runId: RunId): WarmRun | undefined {
    const run = this.#runs.get(runId);
    if (run === undefined) return undefined;
    this.#runs.delete(runId);
    this.#events -= run.state.eventCount;
    return run;
  }

  /** Keeps a run. It must not be changed until it is taken. */
  keep(runId: RunId, run: WarmRun): void {
    this.take(runId);
    if (!this.#hasRoom()) this.#forgetAll();
    else if (run.state.eventCount <= this.#maxEvents) this.#add(runId, run);
  }

  #add(runId: RunId, run: WarmRun): void {
    this.#runs.set(runId, run);
    this.#events += run.state.eventCount;
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= this.#maxRuns && this.#events <= this.#maxEvents) return;
      this.take(oldest);
    }
  }

  #forgetAll(): void {
    this.#runs.clear();
    this.#events = 0;
  }
}
