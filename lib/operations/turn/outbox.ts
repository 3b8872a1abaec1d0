import { publishReserveMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { lifecycleEventsAfter, type LifecycleEvent } from '../../history/lifecycle-event.js';
import type { RunHead, RunRecords } from '../../history/records.js';
import type { Deps } from '../deps.js';
import type { TurnLimits } from '../turn-limits.js';

/** Events published between two looks at the time that is left, which fill a request. */
const publishedAtOnce = 10;

/**
 * Lifecycle events that are in the log of a run and that nobody has been told of yet.
 *
 * O1  The head says up to which commit they have been published, and says so only afterwards.
 * O2  As long as some are not, the head has a marker that is due: the sweep brings the run back, and a turn repeats it.
 * O3  A bus that fails holds nothing else up.
 */
export class Outbox {
  readonly #deps: Deps;
  readonly #limits: TurnLimits;
  #events: LifecycleEvent[];
  #publishedSeq: number | undefined;

  constructor(deps: Deps, events: readonly LifecycleEvent[], limits: TurnLimits) {
    this.#deps = deps;
    this.#limits = limits;
    this.#events = [...events];
  }

  add(events: readonly LifecycleEvent[]): void {
    this.#events.push(...events);
  }

  /** What is left. */
  get events(): readonly LifecycleEvent[] {
    return this.#events;
  }

  /** What the head is to say, if that has changed: the last commit of which everything has been published here. */
  get publishedSeq(): number | undefined {
    return this.#publishedSeq;
  }

  /** Publishes what is left, some commits at a time and while there is time. False: not all of it. */
  async publish(): Promise<boolean> {
    const hasTime = (): boolean => this.#limits.remainingMs() >= publishReserveMs;
    while (this.#events.length > 0) {
      const next = wholeCommits(this.#events);
      if (!hasTime() || !(await tryToPublish(this.#deps, next, hasTime))) return false;
      this.#events = this.#events.slice(next.length);
      this.#publishedSeq = next.at(-1)?.seq;
    }
    return true;
  }
}

/** Whether anybody is told of what happens to the run. */
export function isToldOf(deps: Deps, { publishedSeq }: RunHead): boolean {
  return deps.bus !== undefined && publishedSeq !== undefined;
}

/** What a run that was read whole is still to tell; undefined when it tells nobody. */
export function unpublishedOf(
  deps: Deps,
  { head, commits, tokens }: Pick<RunRecords, 'head' | 'commits' | 'tokens'>,
): readonly LifecycleEvent[] | undefined {
  if (deps.bus === undefined || head.publishedSeq === undefined) return undefined;
  const settlements = new Map(tokens.map(({ waitId, settlement }) => [waitId, settlement]));
  return lifecycleEventsAfter(head.publishedSeq, head, commits, (waitId) => settlements.get(waitId));
}

/**
 * The marker of a head with something left to publish: it stays where it is while it is due, so that its age shows for how
 * long the bus has not taken anything.
 */
export function dueSince({ dueAtMs }: RunHead, nowMs: EpochMs): EpochMs {
  return Math.min(dueAtMs ?? nowMs, nowMs);
}

/** Never throws. False: the bus has not taken all of them. */
export async function tryToPublish(
  deps: Deps,
  events: readonly LifecycleEvent[],
  hasTime?: () => boolean,
): Promise<boolean> {
  try {
    await deps.bus?.publish(events, hasTime);
    return true;
  } catch (error) {
    deps.log.error('lifecycle events not published', { runId: events[0]?.runId, count: events.length, error });
    return false;
  }
}

/** The first ones, up to the end of a commit: the head counts commits. */
function wholeCommits(events: readonly LifecycleEvent[]): readonly LifecycleEvent[] {
  const last = events[Math.min(publishedAtOnce, events.length) - 1];
  return events.filter(({ seq }) => seq <= (last?.seq ?? 0));
}
