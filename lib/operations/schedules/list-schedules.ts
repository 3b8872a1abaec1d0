import type { Deps } from '../deps.js';
import { toScheduleView, type ScheduleView } from './schedule-view.js';

/** Lists every schedule of the configuration, in its order. */
export async function listSchedules(deps: Deps): Promise<readonly ScheduleView[]> {
  return Promise.all(
    deps.app.schedules.map(async (schedule) =>
      toScheduleView(deps, schedule, await deps.store.schedules.read(schedule.name)),
    ),
  );
}
