import type { App } from '../workflow/app.js';
import { type SecretReference, secretsOf } from '../workflow/server-auth.js';

export type AppSecret = SecretReference;

/** Lists the secrets to which an app's servers refer; duplicates are possible. */
export function secretsOfApp({ servers }: App): readonly AppSecret[] {
  return Object.values(servers)
    .flatMap(({ auth }) => secretsOf(auth ?? {}))
    .filter((source) => typeof source === 'object');
}
