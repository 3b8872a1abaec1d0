import type { WaitId } from '../../base/ids.js';
import type { HistoryEvent } from '../../history/event.js';
import type { OpenStep, RunState } from '../../history/run-state.js';
import type { UnharmedStart } from '../../queue/queue.js';

/** Work of a turn that is under way. `outside`: it must be waited for, since what it does must be recorded. */
interface Effect {
  readonly kind: 'step' | 'outside';
  /** Number of the step's attempt. */
  readonly attempt: number;
  readonly abandon: AbortController;
  readonly done: Promise<void>;
}

/** A start that this turn has recorded. */
interface Announced extends UnharmedStart {
  /** Whether the attempt has not begun, or may be repeated. */
  readonly isHarmless: boolean;
}

/**
 * Work that a turn has in hand and no item holds: steps under way, and results that are not committed. It outlives a
 * pass that lost its commit: the next pass takes in whatever the log then still waits for, at the same attempt.
 */
export class Effects {
  readonly #underWay = new Map<WaitId, Effect>();
  readonly #announced = new Map<WaitId, Announced>();
  /** Results of effects that are not committed yet. */
  readonly results: HistoryEvent[] = [];

  get isEmpty(): boolean {
    return this.#underWay.size === 0 && this.results.length === 0;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  has(waitId: WaitId): boolean {
    return this.#underWay.has(waitId);
  }

  count(kind: Effect['kind']): number {
    let count = 0;
    for (const effect of this.#underWay.values()) if (effect.kind === kind) count++;
    return count;
  }

  /** Begins `work`; its result is collected, unless it has been abandoned by then. Errors go to `onError`. */
  begin(
    wait: { readonly waitId: WaitId; readonly attempt: number },
    kind: Effect['kind'],
    work: (signal: AbortSignal) => Promise<HistoryEvent | undefined>,
    onError: (error: unknown) => void,
  ): void {
    const { waitId, attempt } = wait;
    const abandon = new AbortController();
    const isWanted = (): boolean => !abandon.signal.aborted;
    const done = work(abandon.signal)
      .then(
        (result) => {
          if (result !== undefined && isWanted()) this.results.push(result);
        },
        (error: unknown) => {
          if (isWanted()) onError(error);
        },
      )
      .finally(() => {
        if (isWanted()) this.#underWay.delete(waitId);
      });
    this.#underWay.set(waitId, { kind, attempt, abandon, done });
  }

  /** Resolves when one effect has ended, or with `delay`, which is aborted afterwards. */
  async someEnd(delay: (cut: AbortSignal) => Promise<void>): Promise<void> {
    const cut = new AbortController();
    await Promise.race([...[...this.#underWay.values()].map(({ done }) => done), delay(cut.signal)]);
    cut.abort('done');
  }

  /** Resolves when all effects have ended, or all of one kind. */
  async allEnd(kind?: Effect['kind']): Promise<void> {
    const some = [...this.#underWay.values()].filter((effect) => kind === undefined || effect.kind === kind);
    await Promise.all(some.map(({ done }) => done));
  }

  /** Aborts unwanted steps by their signals and forgets them: whatever they still do is ignored. */
  abandonSteps(isWanted: (waitId: WaitId, attempt: number) => boolean = () => false): void {
    for (const [waitId, { kind, attempt, abandon }] of this.#underWay) {
      if (kind !== 'step' || isWanted(waitId, attempt)) continue;
      this.#underWay.delete(waitId);
      // An explicit reason: without one an error with a stack is built, which is never used.
      abandon.abort('the step is no longer waited for');
    }
  }

  /** Begins a pass with the state of the log: drops what is no longer waited for, at that attempt. */
  goOnFrom(state: RunState): void {
    this.abandonSteps((waitId, attempt) => stepAt(state, waitId, attempt) !== undefined);
    const standing = this.results.filter((event) => stillStands(state, event));
    this.results.splice(0, this.results.length, ...standing);
  }

  /** Takes back the events of a lost commit, as far as no item holds them. */
  takeBack(events: readonly HistoryEvent[]): void {
    this.results.unshift(...events.filter(({ type }) => isOnlyKnownHere.has(type)));
  }

  /** Records a commit that succeeded; `state` is the log after it. */
  committed(events: readonly HistoryEvent[], state: RunState): void {
    for (const event of events) {
      if (event.type === 'StepStarted') {
        const { waitId, attempt } = event;
        const wait = stepAt(state, waitId, attempt);
        if (wait !== undefined) this.#announced.set(waitId, { waitId, attempt, begun: wait.begun, isHarmless: true });
      } else if (isEndOfAttempt.has(event.type) && 'waitId' in event) {
        this.#announced.delete(event.waitId);
      }
    }
  }

  /** Returns true if the last start of this attempt in the log was recorded by this turn, and not made yet. */
  isAnnounced({ waitId, failedAttempts, begun }: OpenStep): boolean {
    const announced = this.#announced.get(waitId);
    return announced?.isHarmless === true && announced.attempt === failedAttempts + 1 && announced.begun === begun;
  }

  /** Marks a recorded start as made. `mayRepeat`: it may be repeated if its end cannot be recorded. */
  begun({ waitId }: OpenStep, mayRepeat: boolean): void {
    const announced = this.#announced.get(waitId);
    if (announced !== undefined) this.#announced.set(waitId, { ...announced, isHarmless: mayRepeat });
  }

  /** Returns starts in the log without an end that no process died of, as far as the next turn may repeat them. */
  unharmed(): readonly UnharmedStart[] {
    return [...this.#announced.values()]
      .filter(({ isHarmless }) => isHarmless)
      .map(({ waitId, attempt, begun }) => ({ waitId, attempt, begun }));
  }
}

/** Events that only the turn that did the work knows of. */
export const isOnlyKnownHere: ReadonlySet<HistoryEvent['type']> = new Set([
  'StepCompleted',
  'StepFailed',
  'StepAttemptFailed',
  'RemoteTaskStartFailed',
  'RemoteTaskStartLost',
  'RemoteTaskStartAsked',
  'RemoteAnswerFailed',
  'RemoteAnswerDelivered',
  'RemoteAnswerRefused',
] as const);

const isEndOfAttempt: ReadonlySet<HistoryEvent['type']> = new Set([
  'StepCompleted',
  'StepFailed',
  'StepAttemptFailed',
] as const);

function stepAt(state: RunState, waitId: WaitId, attempt: number): OpenStep | undefined {
  const wait = state.open.get(waitId);
  return wait?.kind === 'step' && wait.failedAttempts + 1 === attempt ? wait : undefined;
}

/** Returns true if the log still waits for the event. Events of other types can be found again by any process. */
function stillStands(state: RunState, event: HistoryEvent): boolean {
  if (!isOnlyKnownHere.has(event.type) || !('waitId' in event)) return false;
  const { waitId } = event;
  if ('attempt' in event && isEndOfAttempt.has(event.type)) return stepAt(state, waitId, event.attempt) !== undefined;
  const wait = state.open.get(waitId);
  if (wait?.kind === 'remoteAnswer') return event.type !== 'RemoteAnswerFailed' || isNext(wait, event);
  if (wait?.kind !== 'remoteTask') return false;
  if (event.type === 'RemoteTaskStartAsked') return isNext(wait, event);
  if (event.type === 'RemoteTaskStartLost') return isNext(wait, event) && event.look === (wait.look ?? 0) + 1;
  if (event.type !== 'RemoteTaskStartFailed') return false;
  // A start that was not made, since its server must not be called, has the number of the last one that was.
  return isNext(wait, event) || (event.attempt === wait.failedAttempts && wait.isHeld !== true);
}

function isNext(wait: { readonly failedAttempts: number }, event: { readonly attempt: number }): boolean {
  return event.attempt === wait.failedAttempts + 1;
}
