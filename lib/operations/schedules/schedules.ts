import { defined } from '../../base/defined.js';
import { EngineError, hasCode } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { ScheduleState } from '../../history/records.js';
import type { Schedule } from '../../workflow/schedule.js';
import type { Deps } from '../deps.js';
import { changed } from './tick-schedules.js';

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

/** Others write to a schedule once a minute: after this many lost writes something else is wrong. */
const tries = 8;

/** Every schedule of the configuration, in its order. */
export async function listSchedules(deps: Deps): Promise<readonly ScheduleView[]> {
  return Promise.all(
    deps.app.schedules.map(async (schedule) => toView(deps, schedule, await deps.store.readSchedule(schedule.name))),
  );
}

/**
 * Pauses a schedule, until it is resumed, also over deploys: its ticks start nothing and are not made up for. A tick that
 * waited goes on waiting. Pausing it again changes nothing.
 * @throws EngineError `SCHEDULE_NOT_FOUND`, `STORE_UNAVAILABLE`
 */
export async function pauseSchedule(deps: Deps, name: string): Promise<ScheduleView> {
  return change(deps, name, (state) =>
    state.pausedAtMs === undefined ? changed(state, { pausedAtMs: deps.clock.nowMs() }) : undefined,
  );
}

/**
 * Lets a schedule go on with its next tick. One that is not paused stays as it is.
 * @throws EngineError `SCHEDULE_NOT_FOUND`, `STORE_UNAVAILABLE`
 */
export async function resumeSchedule(deps: Deps, name: string): Promise<ScheduleView> {
  return change(deps, name, (state) =>
    state.pausedAtMs === undefined ? undefined : changed(state, { pausedAtMs: undefined, fromMs: deps.clock.nowMs() }),
  );
}

/** `next`: undefined when nothing is to be changed. */
async function change(
  deps: Deps,
  name: string,
  next: (state: ScheduleState) => ScheduleState | undefined,
): Promise<ScheduleView> {
  const schedule = deps.app.schedules.find((one) => one.name === name);
  if (schedule === undefined) {
    const known = deps.app.schedules.map((one) => one.name).join(', ') || 'none';
    throw new EngineError('SCHEDULE_NOT_FOUND', `no schedule has this name; there is ${known}`);
  }
  for (let attempt = 0; attempt < tries; attempt++) {
    const state = await deps.store.readSchedule(name);
    const wanted = next(state);
    const saved = wanted === undefined ? state : await deps.store.saveSchedule(name, wanted);
    if (saved !== undefined) return toView(deps, schedule, saved);
  }
  throw new EngineError('STORE_UNAVAILABLE', 'the schedule is being changed by others');
}

async function toView(deps: Deps, schedule: Schedule, state: ScheduleState): Promise<ScheduleView> {
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

/** One schedule with a wrong pattern must not hide the others. */
async function lookAhead(schedule: Schedule, nowMs: EpochMs): Promise<Pick<ScheduleView, 'nextTickAtMs' | 'problem'>> {
  try {
    const nextTickAtMs = await schedule.nextAfterMs(nowMs);
    return nextTickAtMs === undefined ? {} : { nextTickAtMs };
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error;
    return { problem: error.message };
  }
}
