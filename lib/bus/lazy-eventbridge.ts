import { lazy } from '../base/lazy.js';
import type { EventBus } from './event-bus.js';
import type { EventBridgeBusOptions } from './eventbridge-bus.js';

/** Creates an EventBridge bus whose client is loaded at the first event. Throws what `EventBridgeBus` throws. */
export function lazyEventBridge(options: Omit<EventBridgeBusOptions, 'client'>): EventBus {
  const load = lazy(() => openBus(options));
  return { publish: async (events, hasTime) => (await load()).publish(events, hasTime) };
}

async function openBus(options: Omit<EventBridgeBusOptions, 'client'>): Promise<EventBus> {
  const [{ createEventBridgeClient }, { EventBridgeBus }] = await Promise.all([
    import('../sdk/eventbridge-client.js'),
    import('./eventbridge-bus.js'),
  ]);
  return new EventBridgeBus({ ...options, client: createEventBridgeClient() });
}
