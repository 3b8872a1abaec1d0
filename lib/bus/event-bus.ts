import type { LifecycleEvent } from '../history/lifecycle-event.js';

/** Delivers lifecycle events of runs to their listeners. */
export interface EventBus {
  /**
   * Publishes the events in order. Throws if some were not taken, without saying which: the caller then publishes all
   * of them again, so listeners may see an event more than once. Gives up when `hasTime` returns false; it is called
   * before each request, which takes less than `publishReserveMs`. Default: there is always time.
   */
  publish(events: readonly LifecycleEvent[], hasTime?: () => boolean): Promise<void>;
}

/** Source of every event that outwait publishes; rules match on it. */
export const eventSource = 'outwait';
