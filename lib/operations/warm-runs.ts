import type { RunId, WaitId } from '../base/ids.js';
import { warmEventsMax, warmRunsMax } from '../base/limits.js';
import type { RunState } from '../history/run-state.js';
import type { Execution } from '../replay/execution.js';
import type { InboxRecord, TokenRecord } from '../store/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';

/** A run as its last turn in this process left it: nothing under way, and all that the workflow asked for in the log. */
export interface WarmRun {
  /** Whose code the execution has run. */
  readonly workflow: AnyWorkflow;
  readonly execution: Execution;
  readonly state: RunState;
  /** Those that the log waits for. The execution looks settlements up here. */
  readonly tokens: Map<WaitId, TokenRecord>;
  /** Those that are not taken in. The execution looks payloads up here. */
  readonly inbox: Map<string, InboxRecord>;
}

export interface WarmRunsLimits {
  readonly runs: number;
  /** Of all runs together. */
  readonly events: number;
}

/**
 * Runs that one process remembers between turns, least recently used out. Only a help: whoever takes one checks that the
 * log has not grown since, and a run that is not here is read and replayed. Who takes a run has it alone; it comes back
 * only from a turn that ended well.
 */
export class WarmRuns {
  readonly #limits: WarmRunsLimits;
  /** In the order in which they were kept. */
  readonly #runs = new Map<RunId, WarmRun>();
  #events = 0;

  /** Default: 50 runs, 50,000 events. */
  constructor(limits: WarmRunsLimits = { runs: warmRunsMax, events: warmEventsMax }) {
    this.#limits = limits;
  }

  take(runId: RunId): WarmRun | undefined {
    const run = this.#runs.get(runId);
    if (run === undefined) return undefined;
    this.#runs.delete(runId);
    this.#events -= run.state.eventCount;
    return run;
  }

  /** The run must not be changed from now on, until somebody takes it. */
  keep(runId: RunId, run: WarmRun): void {
    this.take(runId);
    if (run.state.eventCount > this.#limits.events) return;
    this.#runs.set(runId, run);
    this.#events += run.state.eventCount;
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= this.#limits.runs && this.#events <= this.#limits.events) return;
      this.take(oldest);
    }
  }
}
