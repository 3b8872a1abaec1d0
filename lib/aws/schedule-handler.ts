import type { ScheduledEvent } from 'aws-lambda';
import { fanOutDue } from '../operations/fan-out-due.js';
import type { GetDeps } from './get-deps.js';

export type ScheduleHandler = (event: ScheduledEvent) => Promise<void>;

/** The sweep, once a minute. A failure is thrown: EventBridge repeats the event, and the next minute sweeps again. */
export function scheduleHandler(getDeps: GetDeps): ScheduleHandler {
  return async () => {
    const deps = await getDeps();
    const { wakes, polls } = await fanOutDue(deps);
    if (wakes + polls > 0) deps.log.info('swept', { wakes, polls });
  };
}
