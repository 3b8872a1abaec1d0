import type { LifecycleEvent } from '../history/lifecycle-event.js';
import type { EventBus } from './event-bus.js';

/** Bus that keeps the events in memory. */
export class MemoryBus implements EventBus {
  readonly #events: LifecycleEvent[] = [];

  async publish(events: readonly LifecycleEvent[]): Promise<void> {
    this.#events.push(...events);
  }

  /** Published events in order. */
  get events(): readonly LifecycleEvent[] {
    return this.#events;
  }
}
