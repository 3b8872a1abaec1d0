import { storedError, type StoredError } from '../base/errors.js';
import { cutUtf8, isJsonObject, type JsonValue } from '../base/json.js';
import type { HistoryEvent, RunOutcome } from '../history/event.js';
import type { TaskOfRun } from '../history/task-content.js';
import type { Execution } from '../replay/execution.js';

export type ReplayedHistory =
  /** The code matches the history. `outcome`: how it ended, if it did. */
  | { readonly kind: 'clean'; readonly outcome?: RunOutcome }
  /** The first difference, or why the history cannot be replayed. */
  | { readonly kind: 'differs'; readonly error: StoredError };

/** What is replayed: all events of a run, as far as they are recorded. */
export interface Replayed {
  readonly events: readonly HistoryEvent[];
  /** The task as which the run is served, if it is. */
  readonly task?: TaskOfRun | undefined;
  /** Whether a hook may have replaced what the run says to its caller. */
  readonly isFiltered: boolean;
}

const shownMaxBytes = 500;

/** Judges a replay to the end of a history: commands, order, result, error, and whether it ends. The one verdict of all. */
export function verdictOf({ status }: Pick<Execution, 'status'>, replayed: Replayed): ReplayedHistory {
  if (status.kind === 'blocked') return { kind: 'differs', error: status.error };
  const recorded = replayed.events.find((event) => event.type === 'RunEnding')?.outcome;
  if (recorded === undefined) {
    if (status.kind === 'waiting') return { kind: 'clean' };
    return differs(`the workflow now ends (${status.outcome.status}) where the history goes on`, {
      recorded: 'goes on',
      now: shown(status.outcome),
    });
  }
  if (isDecidedElsewhere(recorded, replayed)) return { kind: 'clean', outcome: recorded };
  if (status.kind === 'waiting')
    return differs(`the history ended ${recorded.status}, the workflow now keeps waiting`, {
      recorded: shown(recorded),
      now: 'keeps waiting',
    });
  const { outcome: now } = status;
  const place = differenceOf(asJson(recorded), asJson(now));
  if (place === undefined) return { kind: 'clean', outcome: recorded };
  return differs(
    recorded.status === now.status
      ? `the history ended ${recorded.status}, the workflow now too, but its ${place} is another`
      : `the history ended ${recorded.status}, the workflow now ${now.status}`,
    { recorded: shown(recorded), now: shown(now) },
  );
}

/** Returns true for an end that the code of the workflow did not decide. */
function isDecidedElsewhere(recorded: RunOutcome, { events, task, isFiltered }: Replayed): boolean {
  if (recorded.status === 'terminated') return true;
  if (recorded.status === 'failed' && recorded.error.code === 'RUN_TIMED_OUT') return true;
  // A cancel before a delayed start, or an invalid input.
  if (!events.some((event) => event.type === 'RunStarted')) return true;
  // A served task whose cancel was acknowledged, or whose words were replaced or withheld.
  return task !== undefined && (recorded.status === 'cancelled' || isFiltered);
}

function differs(message: string, sides: { readonly recorded: string; readonly now: string }): ReplayedHistory {
  return {
    kind: 'differs',
    error: storedError(
      'NONDETERMINISM',
      `${message}. Something in it is not the same each time: the clock, chance, the environment, state outside of the run.`,
      sides,
    ),
  };
}

/** Returns the path of the first difference, such as `result.rows[3].at`; undefined if there is none. */
function differenceOf(left: JsonValue | undefined, right: JsonValue | undefined, path = ''): string | undefined {
  if (isArray(left) && isArray(right)) {
    const places = Array.from({ length: Math.max(left.length, right.length) }, (_, at) => at);
    return firstOf(places, (at) => differenceOf(left[at], right[at], `${path}[${at}]`));
  }
  if (isJsonObject(left) && isJsonObject(right)) {
    const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
    return firstOf(keys, (key) => differenceOf(left[key], right[key], path === '' ? key : `${path}.${key}`));
  }
  return left === right ? undefined : path;
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function firstOf<Each>(all: readonly Each[], find: (each: Each) => string | undefined): string | undefined {
  for (const each of all) {
    const found = find(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Leaves out what is kept of an author's error beside its message: another version of the code throws it elsewhere, and
 * older histories do not have it.
 */
function asJson(outcome: RunOutcome): JsonValue {
  const { code, message, name } = outcome.status === 'failed' ? outcome.error : {};
  const compared = code === 'WORKFLOW_FAILED' ? { ...outcome, error: { code, message, name } } : outcome;
  return JSON.parse(JSON.stringify(compared)) as JsonValue;
}

function shown(outcome: RunOutcome): string {
  return cutUtf8(JSON.stringify(outcome), shownMaxBytes);
}
