import { lazy } from '../../base/lazy.js';
import type { Messenger } from '../messenger.js';
import type { HttpMessengerDeps } from './http-messenger.js';

/** Returns the sender of notices; its module is loaded at the first notice. */
export function lazyMessenger(deps: HttpMessengerDeps): Messenger {
  const load = lazy(async () => {
    const { HttpMessenger } = await import('./http-messenger.js');
    return new HttpMessenger(deps);
  });
  return { send: async (receiver, message) => (await load()).send(receiver, message) };
}
