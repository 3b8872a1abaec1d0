import { defined } from '../../base/defined.js';
import { hasCode } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { ScheduleState } from '../../history/records.js';
import type { Schedule } from '../../workflow/schedule.js';
import type { Deps } from '../deps.js';

/** A schedule of the deployed configuration, and how it stands. */
export interface ScheduleView {
  readonly name: string;
  readonly workflow: string;
  readonly paused: boolean;
  readonly pausedAtMs?: EpochMs;
  /** Missing while it is paused, and when there is none. */
  readonly nextTickAtMs?: EpochMs;
  /** Why it starts nothing: its pattern is wrong. */
  readonly problem?: string;
  /** The last one that was dealt with, started or left out. */
  readonly lastTickAtMs?: EpochMs;
  /** The run that was started last. */
  readonly lastRunId?: RunId;
  /** A tick that waits for the end of that run. */
  readonly waitingTickAtMs?: EpochMs;
}

/** A schedule as the configuration and its item have it, with its next tick. */
export async function toScheduleView(deps: Deps, schedule: Schedule, state: ScheduleState): Promise<ScheduleView> {
  const { pausedAtMs, tickAtMs, runId, waitingTickAtMs } = state;
  const { nextTickAtMs, problem } = await lookAhead(schedule, deps.clock.nowMs());
  return {
    name: schedule.name,
    workflow: schedule.workflow.name,
    paused: pausedAtMs !== undefined,
    ...defined({
      pausedAtMs,
      nextTickAtMs: nextTickAtMs === undefined || pausedAtMs !== undefined ? undefined : nextTickAtMs,
      problem,
      lastTickAtMs: tickAtMs,
      lastRunId: runId,
      waitingTickAtMs,
    }),
  };
}

/** Keeps a schedule with a wrong pattern from hiding the others. */
async function lookAhead(schedule: Schedule, nowMs: EpochMs): Promise<Pick<ScheduleView, 'nextTickAtMs' | 'problem'>> {
  try {
    const nextTickAtMs = await schedule.nextAfterMs(nowMs);
    return nextTickAtMs === undefined ? {} : { nextTickAtMs };
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error;
    return { problem: error.message };
  }
}
