import type { HttpClient, HttpClientOptions } from './http.js';

/** The guarded client for requests to servers, loaded at the first of them. */
export function lateHttpClient(options: HttpClientOptions = {}): HttpClient {
  let loading: Promise<HttpClient> | undefined;
  const load = () => (loading ??= import('./http.js').then(({ GuardedHttpClient }) => new GuardedHttpClient(options)));
  return { send: async (request) => (await load()).send(request) };
}
