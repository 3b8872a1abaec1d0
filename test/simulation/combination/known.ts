import type { EpochMs } from '../../../lib/base/time.js';
import type { Process, World } from '../world.js';
import type { Book } from './book.js';
import type { Case } from './timetable.js';

const S = 1_000;
/** Time in which a turn in flight sees news if nothing goes wrong: two seconds, and the time of its operations. */
export const noticeMs = 5 * S;
/** Two sweeps, a visibility timeout, and the time of a turn. */
export const settleMs = 230 * S;

/** What all oracles know. */
export interface Known {
  readonly world: World;
  readonly given: Case;
  /** The runs, in the order of their creation. */
  readonly books: Map<string, Book>;
  /** The most by which the clock of a process is ahead or behind. */
  readonly skewMs: number;
  /** Returns when the store last refused requests of all processes. */
  readonly troubleUntilMs: (atMs: EpochMs) => EpochMs;
}

/** Returns whether something has gone wrong in the process, or everywhere, so that it may not have noticed yet. */
export function wasTroubled({ world }: Known, process: Process | undefined, sinceMs: EpochMs): boolean {
  const lastMs = Math.max(process?.troubledAtMs ?? 0, Math.min(world.nowMs, world.lastFaultMs));
  return lastMs > 0 && lastMs > sinceMs - 10 * S;
}

/** Returns whether anything has gone wrong since, in any process or everywhere. */
export function isTroubledSince({ world, troubleUntilMs }: Known, sinceMs: EpochMs): boolean {
  return Math.max(world.lastFaultMs, troubleUntilMs(world.nowMs)) > sinceMs;
}
