import type { App } from '../workflow/app.js';
import { type SecretReference, secretsOf } from '../workflow/server-auth.js';

export type AppSecret = SecretReference;

/** Lists what the servers of an app name in place of their secrets; one may come more than once. */
export function secretsOfApp({ servers }: App): readonly AppSecret[] {
  return Object.values(servers)
    .flatMap(({ auth }) => secretsOf(auth ?? {}))
    .filter((source) => typeof source === 'object');
}
