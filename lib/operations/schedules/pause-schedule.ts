import { EngineError } from '../../base/errors.js';
import type { ScheduleState } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { toScheduleView, type ScheduleView } from './schedule-view.js';
import { changed } from './tick-schedules.js';

/** Attempts of a write. Others write once a minute, so more conflicts than that have another cause. */
const tries = 8;

/**
 * Pauses a schedule until it is resumed, across deployments: its ticks start nothing and are not made up for. A tick
 * that is already waiting keeps waiting. Pausing it again has no effect.
 * @throws EngineError `SCHEDULE_NOT_FOUND`, `STORE_UNAVAILABLE`
 */
export async function pauseSchedule(deps: Deps, name: string): Promise<ScheduleView> {
  return change(deps, name, (state) =>
    state.pausedAtMs === undefined
      ? changed(state, { pausedAtMs: deps.clock.nowMs(), pausedBy: deps.caller?.id })
      : undefined,
  );
}

/**
 * Resumes a schedule with its next tick. Has no effect if it is not paused.
 * @throws EngineError `SCHEDULE_NOT_FOUND`, `STORE_UNAVAILABLE`
 */
export async function resumeSchedule(deps: Deps, name: string): Promise<ScheduleView> {
  return change(deps, name, (state) =>
    state.pausedAtMs === undefined
      ? undefined
      : changed(state, { pausedAtMs: undefined, pausedBy: undefined, fromMs: deps.clock.nowMs() }),
  );
}

/** Saves the state that `next` returns; undefined: nothing to change. */
async function change(
  deps: Deps,
  name: string,
  next: (state: ScheduleState) => ScheduleState | undefined,
): Promise<ScheduleView> {
  const schedule = deps.app.schedules.find((one) => one.name === name);
  if (schedule === undefined) {
    const known = deps.app.schedules.map((one) => one.name).join(', ') || 'none';
    throw new EngineError('SCHEDULE_NOT_FOUND', `no schedule has this name; known schedules: ${known}`);
  }
  for (let attempt = 0; attempt < tries; attempt++) {
    const state = await deps.store.schedules.read(name);
    const wanted = next(state);
    const saved = wanted === undefined ? state : await deps.store.schedules.save(name, wanted);
    if (saved !== undefined) return toScheduleView(deps, schedule, saved);
  }
  throw new EngineError('STORE_UNAVAILABLE', 'the schedule is being changed concurrently');
}
