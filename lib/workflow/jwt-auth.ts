import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import { isLocalhost } from '../base/host-reach.js';
import { isList } from '../base/list.js';
import { type Duration, durationToMs } from '../base/time.js';
import type { HookAuth } from './hook-auth.js';
import type { JwtAlgorithm, JwtOptions } from './jwt-options.js';

const jwtAlgorithms: readonly unknown[] = [
  'ES256',
  'ES384',
  'RS256',
  'PS256',
  'EdDSA',
] satisfies readonly JwtAlgorithm[];

const defaultAlgorithms: readonly JwtAlgorithm[] = ['ES256', 'EdDSA', 'RS256'];
const longestMaxAgeMs = 3_600_000;

/**
 * Verifies senders by a signed token (JWT): `Authorization: Bearer …`, with `iss`, `aud`, `iat`, `exp` and `jti`. The
 * issuer's keys are read from `jwksUrl` and nowhere else. With `request_body_sha256` the token covers the body too.
 * @throws EngineError `CONFIG_INVALID` that names the option
 * @example
 * ```ts
 * import { a2aAgent, jwtWebhook } from 'outwait';
 *
 * export const supplier = a2aAgent({
 *   card: 'https://supplier.example.com/.well-known/agent-card.json',
 *   relayAuth: jwtWebhook({
 *     issuer: 'https://supplier.example.com',
 *     jwksUrl: 'https://supplier.example.com/.well-known/jwks.json',
 *     audience: 'https://outwait.example.com',
 *   }),
 * });
 * ```
 */
export function jwtWebhook(options: JwtOptions): HookAuth {
  const problem = problemWith(options);
  if (problem !== undefined) throw invalid(problem);
  const { audience, maxAge = { minutes: 5 }, algorithms = defaultAlgorithms, ...others } = options;
  return {
    scheme: 'jwt',
    ...others,
    algorithms,
    maxAgeMs: maxAgeMsOf(maxAge),
    ...defined({ audience: typeof audience === 'string' ? [audience] : audience }),
  };
}

function maxAgeMsOf(maxAge: Duration): number {
  let maxAgeMs: number;
  try {
    maxAgeMs = durationToMs(maxAge, 'maxAge');
  } catch (error) {
    throw invalid((error as Error).message);
  }
  if (maxAgeMs < 1_000 || maxAgeMs > longestMaxAgeMs) throw invalid('maxAge must be 1 second to 1 hour');
  return maxAgeMs;
}

/** Options as plain JavaScript may give them. */
function problemWith(options: JwtOptions): string | undefined {
  const { issuer, jwksUrl, audience, subject, algorithms = defaultAlgorithms } = options;
  if (!isText(issuer)) return 'issuer must be a non-empty string';
  if (!isKeyAddress(jwksUrl, options.allowPrivateAddresses === true))
    return 'jwksUrl must be an https URL without user info or a fragment, or http to this machine';
  const audiences = isList(audience) ? audience : [audience];
  if (audience !== undefined && (audiences.length === 0 || !audiences.every(isText)))
    return 'audience must be a non-empty string, or a list of them';
  if (subject !== undefined && !isText(subject)) return 'subject must be a non-empty string';
  if (!isList(algorithms) || algorithms.length === 0 || !algorithms.every((name) => jwtAlgorithms.includes(name)))
    return `algorithms must be a list of ${jwtAlgorithms.join(', ')}`;
  const flag = (['requireBodyHash', 'allowPrivateAddresses'] as const).find(
    (name) => options[name] !== undefined && typeof options[name] !== 'boolean',
  );
  return flag === undefined ? undefined : `${flag} must be true or false`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isKeyAddress(value: unknown, allowPrivateAddresses: boolean): boolean {
  if (!isText(value) || !URL.canParse(value)) return false;
  const { protocol, hostname, username, password, hash } = new URL(value);
  if (username + password + hash !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && (allowPrivateAddresses || isLocalhost(hostname)));
}

function invalid(problem: string): EngineError {
  return new EngineError('CONFIG_INVALID', `jwtWebhook: ${problem}`);
}
