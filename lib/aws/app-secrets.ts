import type { App, ServerConfig } from '../workflow/app.js';
import type { HookAuth } from '../workflow/hook-auth.js';
import { secretsOfPeople } from '../workflow/people.js';
import { type SecretReference, secretsOf, type SecretSource } from '../workflow/server-auth.js';

export type AppSecret = SecretReference;

/** Lists the secrets to which an app's servers, relays, hooks and receivers of notices refer; duplicates are possible. */
export function secretsOfApp({ servers, hooks, people }: App): readonly AppSecret[] {
  return [
    ...Object.values(servers).flatMap(({ auth }) => secretsOf(auth ?? {})),
    ...Object.values(servers).flatMap(({ relayAuth = [] }) => [relayAuth].flat().flatMap(secretsOfSender)),
    ...Object.values(servers).flatMap((server) => [pushAuthOf(server)].flat().flatMap(secretsOfSender)),
    ...Object.values(hooks).flatMap(({ auth }) => secretsOfSender(auth)),
    ...secretsOfPeople(people),
  ].filter((source) => typeof source === 'object');
}

function secretsOfSender(auth: HookAuth): readonly SecretSource[] {
  return auth.scheme === 'jwt' ? [] : auth.secrets;
}

function pushAuthOf(server: ServerConfig): HookAuth | readonly HookAuth[] {
  return server.protocol === 'a2a' ? (server.pushAuth ?? []) : [];
}
