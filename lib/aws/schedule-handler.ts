import type { ScheduledEvent } from 'aws-lambda';
import { fanOutDue } from '../operations/fan-out-due.js';
import { tickSchedules } from '../operations/tick-schedules.js';
import type { GetDeps } from './get-deps.js';

export type ScheduleHandler = (event: ScheduledEvent) => Promise<void>;

/** The sweep, once a minute. A failure is thrown: EventBridge repeats the event, and the next minute sweeps again. */
export function scheduleHandler(getDeps: GetDeps): ScheduleHandler {
  return async () => {
    const deps = await getDeps();
    const { wakes, polls, steps } = await fanOutDue(deps);
    const { started } = await tickSchedules(deps);
    if (wakes + polls + steps + started > 0) deps.log.info('swept', { wakes, polls, steps, started });
  };
}
