import type { ScheduledEvent } from 'aws-lambda';
import { fanOutDue } from '../operations/fan-out-due.js';
import { tickSchedules } from '../operations/tick-schedules.js';
import type { GetDeps } from './get-deps.js';

export type ScheduleHandler = (event: ScheduledEvent) => Promise<void>;

/** The sweep, once a minute. A failure is thrown: EventBridge repeats the event, and the next minute sweeps again. */
export function scheduleHandler(getDeps: GetDeps): ScheduleHandler {
  return async ({ time }) => {
    const deps = await getDeps();
    const { wakes, polls, steps, oldestDueAgeMs } = await fanOutDue(deps);
    const { started } = await tickSchedules(deps);
    deps.metrics?.put('OldestDueAgeMs', oldestDueAgeMs);
    // Clocks differ a little, and the time of the event has no fraction of a second.
    deps.metrics?.put('SweepLagMs', Math.max(0, deps.clock.nowMs() - Date.parse(time)));
    if (wakes + polls + steps + started > 0) deps.log.info('swept', { wakes, polls, steps, started });
  };
}
