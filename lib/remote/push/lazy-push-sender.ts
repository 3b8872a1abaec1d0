import { lazy } from '../../base/lazy.js';
import type { Clock } from '../../base/time.js';
import type { HttpClientOptions } from '../http/http.js';
import type { PushSender } from '../push-sender.js';

/** Returns the sender of pushes; its modules are loaded at the first one. */
export function lazyPushSender({ clock, ...options }: HttpClientOptions & { readonly clock: Clock }): PushSender {
  const load = lazy(async () => {
    const { GuardedHttpClient } = await import('../http/http.js');
    const { HttpPushSender } = await import('./http-push-sender.js');
    return new HttpPushSender(new GuardedHttpClient(options), clock);
  });
  return {
    send: async (push) => (await load()).send(push),
    allows: async (url, options) => (await load()).allows(url, options),
  };
}
