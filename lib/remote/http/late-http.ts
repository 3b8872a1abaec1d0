import { late } from '../../base/late.js';
import type { HttpClient, HttpClientOptions } from './http.js';

/** The guarded client for requests to servers, loaded at the first of them. */
export function lateHttpClient(options: HttpClientOptions = {}): HttpClient {
  const load = late(async () => {
    const { GuardedHttpClient } = await import('./http.js');
    return new GuardedHttpClient(options);
  });
  return { send: async (request) => (await load()).send(request) };
}
