import type { HistoryEvent, RunOutcome } from '../../lib/history/event.js';
import type { LifecycleEvent } from '../../lib/history/lifecycle-event.js';
import { toToken } from '../../lib/store/items/token.js';
import type { World } from './world.js';

interface Expected {
  readonly type: LifecycleEvent['type'];
  /** Outcome of a remote task's end. */
  readonly outcome?: string;
}

const endTypes: Readonly<Record<RunOutcome['status'], LifecycleEvent['type']>> = {
  completed: 'RunCompleted',
  failed: 'RunFailed',
  cancelled: 'RunCancelled',
  terminated: 'RunTerminated',
  continued: 'RunContinued',
};

/** Checks that each published event is in a history by then, and that a repeat is the same. */
export function checkPublished(event: LifecycleEvent, world: World): void {
  const { eventId, runId, type } = event;
  // No history contains such an event: the code did not fit it, and the head records that only afterwards.
  if (type === 'RunBlocked') return;
  const before = world.published.find((other) => other.eventId === eventId);
  if (before !== undefined && JSON.stringify(before) !== JSON.stringify(event))
    world.fail('repeat-differs', JSON.stringify([before, event]));
  const expected = expectedOf(world, runId).get(eventId);
  const outcome = type === 'RemoteTaskSettled' ? event.outcome : undefined;
  if (expected?.type !== type || expected.outcome !== outcome)
    world.fail('published-before-commit', JSON.stringify([event, expected]));
}

/**
 * Checks of every run that has ended that all lifecycle events of its history have been published, for the first time
 * in its order.
 */
export function checkEvents(world: World, runIds: readonly string[]): void {
  for (const runId of runIds) {
    const expected = [...expectedOf(world, runId).keys()];
    const published = new Set(
      world.published.filter((event) => event.runId === runId && event.type !== 'RunBlocked').map((one) => one.eventId),
    );
    const lost = expected.filter((id) => !published.has(id));
    if (lost.length > 0) world.fail('event-lost', lost.join(', '));
    else if (JSON.stringify([...published]) !== JSON.stringify(expected))
      world.fail('event-order', [...published].join(', '));
  }
}

/**
 * Returns the expected events by id, in order. Computed here again, so that a mistake in the engine is not made on both
 * sides.
 */
function expectedOf(world: World, runId: string): ReadonlyMap<string, Expected> {
  const log = world.log(runId);
  const expected = new Map<string, Expected>();
  for (const { seq, events } of world.commits(runId)) {
    events.forEach((event, position) => {
      const id = `${runId}:${seq}:${position}`;
      if (event.type === 'RunEnded') {
        for (const waitId of leftOpen(log)) expected.set(`${id}:${waitId}`, settled(world, runId, waitId));
        expected.set(id, { type: endTypes[event.status] });
      } else if (event.type === 'TokenSettled' && isRemote(log, event.waitId)) {
        expected.set(id, settled(world, runId, event.waitId));
      } else if (event.type === 'ExternalWaitIssued' && isQuestion(log, event.waitId)) {
        expected.set(id, { type: 'InputRequired' });
      } else if (event.type === 'RunStarted' || event.type === 'RemoteTaskStarted') {
        expected.set(id, { type: event.type });
      }
    });
  }
  return expected;
}

function settled(world: World, runId: string, waitId: string): Expected {
  const { settlement } = toToken(world.items.get(`run#${runId} t#${waitId}`)!);
  return { type: 'RemoteTaskSettled', ...(settlement === undefined ? {} : { outcome: settlement.outcome.kind }) };
}

function isRemote(log: readonly HistoryEvent[], waitId: string): boolean {
  return log.some((event) => event.type === 'RemoteTaskRequested' && event.waitId === waitId);
}

function isQuestion(log: readonly HistoryEvent[], waitId: string): boolean {
  return log.some(
    (event) => event.type === 'ExternalWaitRequested' && event.waitId === waitId && event.form !== undefined,
  );
}

function leftOpen(log: readonly HistoryEvent[]): readonly string[] {
  return log.flatMap((event) =>
    event.type === 'RemoteTaskRequested' &&
    !log.some((other) => other.type === 'TokenSettled' && other.waitId === event.waitId)
      ? [event.waitId]
      : [],
  );
}
