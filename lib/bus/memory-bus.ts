import type { LifecycleEvent } from '../history/lifecycle-event.js';
import type { EventBus } from './event-bus.js';

/** Keeps what was published. */
export class MemoryBus implements EventBus {
  readonly #events: LifecycleEvent[] = [];

  async publish(events: readonly LifecycleEvent[]): Promise<void> {
    this.#events.push(...events);
  }

  /** In the order in which they came. */
  get events(): readonly LifecycleEvent[] {
    return this.#events;
  }
}
