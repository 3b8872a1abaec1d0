import type { LifecycleEvent } from '../history/lifecycle-event.js';

/** Takes lifecycle events of runs to whoever listens. */
export interface EventBus {
  /**
   * Hands the events over in their order. Throws when some were not taken, without saying which: all of them are
   * published again then, so listeners may see an event more than once. It gives up when `hasTime` says no, which is asked
   * before each request, and takes less than `publishReserveMs` for one. Default: there is always time.
   */
  publish(events: readonly LifecycleEvent[], hasTime?: () => boolean): Promise<void>;
}

/** Of every event that outwait publishes; rules match on it. */
export const eventSource = 'outwait';
