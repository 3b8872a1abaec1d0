import { laneBoundMax } from './more.js';
import { flowBound } from './program-bounds.js';
import type { Case } from './timetable.js';
import { momentsEndS } from './troubles.js';

/** Returns the second after which actions from outside and faults have ended. */
export function quietOf({ faults, deploy, schedule, entries }: Case): number {
  const lastOf = (entry: Case['entries'][number]): number => {
    const longS =
      entry.what === 'watch' ? entry.leaves.reduce((sum, one) => sum + one, 0) : 'for' in entry ? entry.for : 0;
    return entry.at + longS + (entry.after === undefined ? 0 : momentsEndS);
  };
  return (
    5 +
    Math.max(
      faults.kind === 'dice' ? faults.end : 600,
      deploy?.until ?? 0,
      schedule === undefined ? 0 : 700,
      ...entries.map(lastOf),
    )
  );
}

/** Returns the second by which everything has come to its end. */
export function endOf(given: Case): number {
  const { main, kid } = given.flows;
  return quietOf(given) - 5 + flowBound(main) + flowBound(kid) * 2 + queueBound(given) + contextBound(given) + 4_000;
}

/** Returns an upper bound of the time that the tasks of one context wait for one another. */
function contextBound({ served, entries }: Case): number {
  if (served === undefined) return 0;
  const starts = entries.filter(({ what }) => what === 'task').length;
  return (starts + 1) * (Math.max(flowBound(served.desk), flowBound(served.chat)) + 600);
}

/** Returns an upper bound of the time that runs wait for one another. */
function queueBound({ flows, limits, entries }: Case): number {
  if (limits === undefined) return 0;
  const starts = entries.filter(({ what }) => what === 'startLimited' || what === 'deliver').length;
  const { flow, throttle, debounce, kids } = limits;
  const each =
    flowBound(flow) +
    Math.min(flowBound(flows.main), laneBoundMax) +
    (throttle?.period ?? 0) +
    (debounce?.maxWait ?? 0);
  return starts * (each + 600) + (kids === undefined ? 0 : 30 * flowBound(flows.kid));
}

/** Returns the share of the invocations that another version of the code gets at a second. */
export function shareAt({ kind, from, until }: Case['deploy'] & object, second: number): number {
  if (second < from) return 0;
  if (kind === 'missing') return second < until ? 1 : 0;
  return second >= until ? 1 : (second - from) / (until - from);
}
