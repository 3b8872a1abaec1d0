import { lazy } from '../../base/lazy.js';
import type { HttpClient, HttpClientOptions } from './http.js';

/** Returns the guarded client for requests to servers, loaded at the first request. */
export function lazyHttpClient(options: HttpClientOptions = {}): HttpClient {
  const load = lazy(async () => {
    const { GuardedHttpClient } = await import('./http.js');
    return new GuardedHttpClient(options);
  });
  return { send: async (request) => (await load()).send(request) };
}
