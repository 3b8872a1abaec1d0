import type { ScheduledEvent } from 'aws-lambda';
import { fanOutDue } from '../operations/sweep/fan-out-due.js';
import { tickSchedules } from '../operations/schedules/tick-schedules.js';
import type { Deps } from '../operations/deps.js';
import type { GetDeps } from './get-deps.js';
import { measured } from './measured.js';

export type ScheduleHandler = (event: ScheduledEvent) => Promise<void>;

/**
 * Returns the handler of the sweep, which once a minute handles what is due, and the schedules. Neither waits for the
 * other or is stopped by its failure. A failure is thrown when both are done: EventBridge retries the event, and the
 * next minute sweeps again. `isAlone`: no other process works on the table, as in local mode.
 */
export function scheduleHandler(getDeps: GetDeps, options: { readonly isAlone?: boolean } = {}): ScheduleHandler {
  let atBoot = options.isAlone ?? false;
  return async ({ time }) => {
    const deps = await getDeps();
    return measured(deps, () => sweep(deps, time));
  };

  async function sweep(deps: Deps, time: string): Promise<void> {
    const [due, ticks] = await Promise.allSettled([fanOutDue(deps, { atBoot }), tickSchedules(deps)]);
    if (due.status === 'fulfilled') {
      atBoot = false;
      deps.metrics?.put('OldestDueAgeMs', due.value.oldestDueAgeMs);
    }
    // Avoids a negative lag: clocks differ a little, and the time of the event has no fraction of a second.
    deps.metrics?.put('SweepLagMs', Math.max(0, deps.clock.nowMs() - Date.parse(time)));
    if (due.status === 'rejected') throw due.reason;
    if (ticks.status === 'rejected') throw ticks.reason;
    const { wakes, polls, steps } = due.value;
    const { started } = ticks.value;
    if (wakes + polls + steps + started > 0) deps.log.info('swept', { wakes, polls, steps, started });
  }
}
