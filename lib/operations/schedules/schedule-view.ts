import { defined } from '../../base/defined.js';
import { hasCode } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { ScheduleState } from '../../history/records.js';
import type { Schedule } from '../../workflow/schedule.js';
import type { Deps } from '../deps.js';

/** A schedule of the deployed configuration, with its state. */
export interface ScheduleView {
  readonly name: string;
  readonly workflow: string;
  readonly paused: boolean;
  readonly pausedAtMs?: EpochMs;
  /** Id of the caller who paused it. */
  readonly pausedBy?: string;
  /** Missing while the schedule is paused, or if there is no next tick. */
  readonly nextTickAtMs?: EpochMs;
  /** Why the schedule starts nothing: its pattern is invalid. */
  readonly problem?: string;
  /** The last tick that was processed, started or skipped. */
  readonly lastTickAtMs?: EpochMs;
  /** The run that was started last. */
  readonly lastRunId?: RunId;
  /** A tick that waits for the end of that run. */
  readonly waitingTickAtMs?: EpochMs;
}

/** Returns a schedule from its configuration and item, with its next tick. */
export async function toScheduleView(deps: Deps, schedule: Schedule, state: ScheduleState): Promise<ScheduleView> {
  const { pausedAtMs, pausedBy, tickAtMs, runId, waitingTickAtMs } = state;
  const { nextTickAtMs, problem } = await lookAhead(schedule, deps.clock.nowMs());
  return {
    name: schedule.name,
    workflow: schedule.workflow.name,
    paused: pausedAtMs !== undefined,
    ...defined({
      pausedAtMs,
      pausedBy,
      nextTickAtMs: nextTickAtMs === undefined || pausedAtMs !== undefined ? undefined : nextTickAtMs,
      problem,
      lastTickAtMs: tickAtMs,
      lastRunId: runId,
      waitingTickAtMs,
    }),
  };
}

/** Returns the next tick, or the problem of an invalid pattern, so that it does not hide the other schedules. */
async function lookAhead(schedule: Schedule, nowMs: EpochMs): Promise<Pick<ScheduleView, 'nextTickAtMs' | 'problem'>> {
  try {
    const nextTickAtMs = await schedule.nextAfterMs(nowMs);
    return nextTickAtMs === undefined ? {} : { nextTickAtMs };
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error;
    return { problem: error.message };
  }
}
