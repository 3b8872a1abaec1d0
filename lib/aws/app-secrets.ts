import type { App } from '../workflow/app.js';
import { type SecretReference, secretsOf } from '../workflow/server-auth.js';

export type AppSecret = SecretReference;

/** Lists the secrets to which an app's servers and hooks refer; duplicates are possible. */
export function secretsOfApp({ servers, hooks }: App): readonly AppSecret[] {
  return [
    ...Object.values(servers).flatMap(({ auth }) => secretsOf(auth ?? {})),
    ...Object.values(hooks).flatMap(({ auth }) => auth.secrets),
  ].filter((source) => typeof source === 'object');
}
