import { defined } from '../base/defined.js';
import { jsonBytes } from '../base/json-limit.js';
import type { JsonValue } from '../base/json.js';
import { remoteStateMaxChars } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { TokenRecord } from '../history/records.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { SaidOfTask, TaskProgress, TaskTrail } from '../history/task-trail.js';

/** Most changes that a trail keeps, and their most bytes as JSON: each poll writes the item that holds them. */
const trailMaxChanges = 20;
export const trailMaxBytes = 6 * 1024;
const messageMaxChars = 200;
/** Least time between two recorded changes of a message or number: as long as a claim, whose write records them. */
const messageEveryMs = 60_000;
/** Most changes of one call that its handler hears of; histories have a limit, too. */
export const progressMax = 500;

/** Returns the trail with what the server said, or undefined if that is what the trail ends with. */
export function changedTrail(trail: TaskTrail | undefined, said: SaidOfTask, nowMs: EpochMs): TaskTrail | undefined {
  const last = trail?.changes.at(-1);
  const next = shownOf(said, nowMs);
  const isSameState = last?.state === next.state;
  if (isSameState && last.message === next.message && last.progress === next.progress && last.total === next.total)
    return undefined;
  // Clocks of processes differ; the order of the trail is that of its records.
  const atMs = Math.max(nowMs, last?.atMs ?? 0);
  let changes = [...(trail?.changes ?? []), { ...next, atMs }].slice(-trailMaxChanges);
  while (changes.length > 1 && jsonBytes(changes as unknown as JsonValue) > trailMaxBytes) changes = changes.slice(1);
  return {
    changes,
    count: (trail?.count ?? 0) + 1,
    stateSinceMs: isSameState ? (trail?.stateSinceMs ?? atMs) : atMs,
  };
}

/** Whether a change may be recorded by a write that is made for it; any change may go along with another write. */
export function isWorthWriting(before: TaskTrail | undefined, after: TaskTrail, isFollowed: boolean): boolean {
  const last = before?.changes.at(-1);
  const next = after.changes.at(-1);
  return isFollowed || last?.state !== next?.state || (next?.atMs ?? 0) - (last?.atMs ?? 0) >= messageEveryMs;
}

/** Whether the handler of the call is to hear of further changes. */
export function isFollowed({ followsProgress, trail }: Pick<TokenRecord, 'followsProgress' | 'trail'>): boolean {
  return followsProgress === true && (trail?.count ?? 0) < progressMax;
}

/** Returns the state in which a task has ended. */
export function stateOfEnd(end: RemoteEnd): string {
  if (end.kind === 'completed') return 'completed';
  const state = end.error.details?.['state'];
  return typeof state === 'string' ? state : 'failed';
}

/** Returns the changes after number `taken` that the handler of a call is to hear of, each with its number. */
export function changesAfter(
  { changes, count }: TaskTrail,
  taken: number,
): readonly (readonly [number: number, change: TaskProgress])[] {
  const before = count - changes.length;
  return changes
    .map((change, index) => [before + index + 1, change] as const)
    .filter(([number]) => number > taken && number <= progressMax);
}

/** Returns what a server said, with its texts cut and cleaned, and its numbers checked. */
export function shownOf({ state, note, progress, total }: SaidOfTask, atMs: EpochMs): TaskProgress {
  const message = note === undefined ? '' : oneLine(note, messageMaxChars);
  return {
    state: oneLine(state, remoteStateMaxChars),
    ...defined({ message: message === '' ? undefined : message, progress: amount(progress), total: amount(total) }),
    atMs,
  };
}

/** Returns the first `maxChars` characters of a foreign text, without control and invisible characters. */
function oneLine(text: string, maxChars: number): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, ' ').trim();
  return Array.from(line).slice(0, maxChars).join('');
}

function amount(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) && value >= 0 ? value : undefined;
}
