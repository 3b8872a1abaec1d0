import { publishReserveMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { lifecycleEventsAfter, type LifecycleEvent } from '../../history/lifecycle-event.js';
import type { RunHead, RunRecords } from '../../history/records.js';
import type { Deps } from '../deps.js';
import type { TurnLimits } from '../turn-limits.js';

/** Events published between two checks of the remaining time; they fill one request. */
const publishedAtOnce = 10;

/**
 * Lifecycle events in the log of a run that are not published yet.
 *
 * O1  The head says up to which commit they have been published; it is written afterwards.
 * O2  As long as some are not, the head has a due marker: the sweep brings the run back, and a turn retries.
 * O3  A failing bus holds nothing else up.
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

  /** Events that are left. */
  get events(): readonly LifecycleEvent[] {
    return this.#events;
  }

  /** Last commit whose events have all been published here, if there is one: the head must record it. */
  get publishedSeq(): number | undefined {
    return this.#publishedSeq;
  }

  /** Publishes the remaining events, some commits at a time, while there is time. Returns false if some are left. */
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

/** Returns true if lifecycle events of the run are published. */
export function isToldOf(deps: Deps, { publishedSeq }: RunHead): boolean {
  return deps.bus !== undefined && publishedSeq !== undefined;
}

/** Returns the unpublished events of a run that was read whole; undefined if its events are not published. */
export function unpublishedOf(
  deps: Deps,
  { head, commits, tokens }: Pick<RunRecords, 'head' | 'commits' | 'tokens'>,
): readonly LifecycleEvent[] | undefined {
  if (deps.bus === undefined || head.publishedSeq === undefined) return undefined;
  const settlements = new Map(tokens.map(({ waitId, settlement }) => [waitId, settlement]));
  return lifecycleEventsAfter(head.publishedSeq, head, commits, (waitId) => settlements.get(waitId));
}

/**
 * Returns the marker of a head with something left to publish. A due marker stays, so that its age shows how long the
 * bus has been failing.
 */
export function dueSince({ dueAtMs }: RunHead, nowMs: EpochMs): EpochMs {
  return Math.min(dueAtMs ?? nowMs, nowMs);
}

/** Publishes events. Never throws. Returns false if the bus did not take all of them. */
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

/** Returns the first events, up to the end of a commit: the head counts commits. */
function wholeCommits(events: readonly LifecycleEvent[]): readonly LifecycleEvent[] {
  const last = events[Math.min(publishedAtOnce, events.length) - 1];
  return events.filter(({ seq }) => seq <= (last?.seq ?? 0));
}
