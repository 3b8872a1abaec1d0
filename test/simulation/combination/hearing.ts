import type { HistoryEvent } from '../../../lib/history/event.js';
import type { SaidOfTask, TaskProgress } from '../../../lib/history/task-trail.js';
import type { RemoteTask } from '../world.js';

/**
 * Returns what is wrong with the changes of remote tasks in a finished history, and with what the handlers of its calls
 * have heard in a replay: the history has what the server said, in order and each once, and handlers hear that.
 */
export function hearingProblems(
  events: readonly HistoryEvent[],
  heardOf: readonly (readonly TaskProgress[])[],
  tasks: readonly RemoteTask[],
): readonly string[] {
  const problems: string[] = [];
  const recorded = new Map<string, TaskProgress[]>();
  const numbers = new Map<string, number>();
  const settled = new Set<string>();
  for (const event of events) {
    if (event.type === 'TokenSettled') settled.add(event.waitId);
    if (event.type !== 'RemoteTaskProgressed') continue;
    const { waitId, number, shown } = event;
    if (settled.has(waitId)) problems.push(`wait ${waitId} changed after its end`);
    if (number <= (numbers.get(waitId) ?? 0)) problems.push(`change ${number} of wait ${waitId} came twice`);
    numbers.set(waitId, number);
    recorded.set(waitId, [...(recorded.get(waitId) ?? []), shown]);
  }
  for (const [waitId, shown] of recorded) {
    const words = shown.map(wordsOf);
    if (!tasks.some(({ said }) => isWithin(words, said.map(wordsOf))))
      problems.push(`wait ${waitId} has changes that its server did not show in that order: ${words.join(' | ')}`);
  }
  const all = [...recorded.values()].map((shown) => shown.map((one) => JSON.stringify(one)));
  for (const heard of heardOf) {
    const words = heard.map((one) => JSON.stringify(one));
    if (words.length > 0 && !all.some((one) => isWithin(words, one)))
      problems.push(`a handler heard what the history does not have: ${words.join(' | ')}`);
  }
  return problems;
}

function wordsOf({ state, progress, ...texts }: SaidOfTask | TaskProgress): string {
  const message = 'atMs' in texts ? texts.message : 'note' in texts ? texts.note : undefined;
  return `${state} ${message ?? '-'} ${progress ?? '-'}`;
}

/** Whether all of `some` are in `all`, in their order. */
function isWithin(some: readonly string[], all: readonly string[]): boolean {
  let at = 0;
  for (const one of all) if (at < some.length && some[at] === one) at++;
  return at === some.length;
}
