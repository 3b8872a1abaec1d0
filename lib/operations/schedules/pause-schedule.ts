import { EngineError } from '../../base/errors.js';
import type { ScheduleState } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { toScheduleView, type ScheduleView } from './schedule-view.js';
import { changed } from './tick-schedules.js';

/** Others write to a schedule once a minute: after this many lost writes something else is wrong. */
const tries = 8;

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
    const state = await deps.store.schedules.read(name);
    const wanted = next(state);
    const saved = wanted === undefined ? state : await deps.store.schedules.save(name, wanted);
    if (saved !== undefined) return toScheduleView(deps, schedule, saved);
  }
  throw new EngineError('STORE_UNAVAILABLE', 'the schedule is being changed by others');
}
