import type { WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { HistoryEvent } from '../../history/event.js';
import type { OpenWait } from '../../history/run-state.js';
import type { UnharmedStart } from '../../queue/queue.js';
import type { Deps } from '../deps.js';
import { isStoreFailure, persistWithin, type Persist } from '../persist.js';
import type { TurnLimits } from '../turn-limits.js';
import type { Effects } from './effects.js';
import { Outbox } from './outbox.js';
import type { RunInHand } from './run-in-hand.js';
import type { TurnTrace } from './turn-trace.js';

/** State that a turn keeps across its passes. */
export interface TurnOptions {
  readonly turnId: string;
  /** Writer ids under which this turn has called a remote server. */
  readonly called: Set<string>;
  readonly limits: TurnLimits;
  readonly effects: Effects;
  /** Starts of steps in the log that no process died of. */
  readonly unharmed?: readonly UnharmedStart[] | undefined;
  /** Missing if no spans are recorded. */
  readonly trace?: TurnTrace | undefined;
}

/** Shared state of the parts of one pass, including what effects leave for the pass. */
export class PassContext {
  readonly deps: Deps;
  readonly run: RunInHand;
  readonly options: TurnOptions;
  readonly effects: Effects;
  readonly limits: TurnLimits;
  /** Retries writes as long as there is time. */
  readonly persist: Persist;
  /** Missing if the lifecycle events of the run are not published. */
  readonly outbox: Outbox | undefined;
  /** Waits for which nothing more is begun: the store did not take what they need. */
  readonly givenUp = new Set<WaitId>();
  /** Long steps whose next attempt this pass has requested, with the instant of the request that it served. */
  readonly hastened = new Map<WaitId, EpochMs>();
  /** First error of an effect: never of an author's step, nor of a store that was retried long enough. */
  #effectError: Error | undefined;

  constructor(deps: Deps, run: RunInHand, options: TurnOptions) {
    this.deps = deps;
    this.run = run;
    this.options = options;
    this.effects = options.effects;
    this.limits = options.limits;
    this.persist = persistWithin(deps, options.limits);
    this.outbox = run.unpublished === undefined ? undefined : new Outbox(deps, run.unpublished, options.limits);
  }

  get effectError(): Error | undefined {
    return this.#effectError;
  }

  /** Records an error. Nothing more is begun, and the pass throws the first error when what is under way has ended. */
  failWith(error: unknown, message: string): void {
    this.#effectError ??= error instanceof Error ? error : new Error(message, { cause: error });
  }

  /** Begins `work` for a wait; its result becomes a result of the pass. */
  carryOut(
    wait: OpenWait,
    work: (signal: AbortSignal) => Promise<HistoryEvent | undefined>,
    kind: 'step' | 'outside' = 'outside',
  ): void {
    const { waitId } = wait;
    const attempt = wait.kind === 'step' ? wait.failedAttempts + 1 : 1;
    this.effects.begin({ waitId, attempt }, kind, work, (error) => {
      this.deps.log.warn('effect failed', { runId: this.run.head.runId, waitId, error });
      if (isStoreFailure(error)) this.givenUp.add(waitId);
      else this.failWith(error, 'an effect failed');
    });
  }

  nowMs(): EpochMs {
    return this.deps.clock.nowMs();
  }
}
