import { isList } from '../base/list.js';
import type { JwtAuth } from './jwt-options.js';
import { problemWithSource, type SecretSource } from './server-auth.js';

/** Ways in which a sender proves that a request is its own. */
export type HookScheme = SecretScheme | 'jwt';
/** Ways that rest on a secret, or on a public key that is configured like one. */
export type SecretScheme = 'github' | 'slack' | 'stripe' | 'standardWebhooks' | 'bearer';
const secretSchemes: readonly unknown[] = [
  'github',
  'slack',
  'stripe',
  'standardWebhooks',
  'bearer',
] satisfies readonly SecretScheme[];

/** Proof that is required of a sender. Created by `githubWebhook()`, `jwtWebhook()` and the others. */
export type HookAuth = SecretAuth | JwtAuth;

export interface SecretAuth {
  readonly scheme: SecretScheme;
  /** Secrets, each of which is accepted. */
  readonly secrets: readonly SecretSource[];
}

/** Secret that a sender and this app share. */
export interface HookSecret {
  /** The secret, or during its rotation a list of at most 8, each of which is accepted. */
  readonly secret: SecretSource | readonly SecretSource[];
}

const secretsMax = 8;

/** A proof as plain JavaScript may define it. */
interface Unchecked {
  readonly scheme?: unknown;
  readonly secrets?: readonly unknown[];
  readonly maxAgeMs?: unknown;
  readonly audience?: unknown;
}

/**
 * Returns what is wrong with a proof that is required, if anything; never a secret. `audience`: what tokens name if the
 * proof does not say.
 */
export function problemWithHookAuth(auth: unknown, audience?: string): string | undefined {
  const { scheme, secrets = [], maxAgeMs, audience: own = audience } = (auth ?? {}) as Unchecked;
  // Everything else has been checked by jwtWebhook().
  if (scheme === 'jwt' && maxAgeMs !== undefined)
    return own === undefined ? 'auth: audience must be there: the aud of tokens for this address' : undefined;
  if (!secretSchemes.includes(scheme)) return 'auth must come from githubWebhook() or the like';
  if (secrets.length === 0 || secrets.length > secretsMax) return `auth must have 1 to ${secretsMax} secrets`;
  for (const source of secrets) {
    const problem = problemWithSource(source);
    if (problem !== undefined) return `auth: ${problem}`;
  }
  return undefined;
}

/** Returns what is wrong with one proof, or with a list of them, of which any is enough. */
export function problemWithHookAuths(auths: unknown, audience?: string): string | undefined {
  const list: readonly unknown[] = Array.isArray(auths) ? auths : [auths];
  if (list.length === 0 || list.length > secretsMax) return `auth must be one, or a list of at most ${secretsMax}`;
  return list.map((auth) => problemWithHookAuth(auth, audience)).find((problem) => problem !== undefined);
}

/**
 * Verifies webhooks of GitHub, and of others that sign like it (`X-Hub-Signature-256`), sent as JSON. GitHub signs the
 * body, but neither the name of the event nor the id of the delivery.
 * @example
 * ```ts
 * import { defineApp, defineWorkflow, githubWebhook, secret } from 'outwait';
 *
 * const deploy = defineWorkflow<{ commit: string }>({
 *   name: 'deploy',
 *   run: async (ctx, { commit }) => ctx.step('deploy', () => `deployed ${commit}`),
 * });
 *
 * export default defineApp({
 *   workflows: [deploy],
 *   hooks: {
 *     pushes: {
 *       auth: githubWebhook({ secret: secret('GITHUB_WEBHOOK_SECRET') }),
 *       workflow: deploy,
 *       start: ({ body }) => ({ input: { commit: (body as { after: string }).after } }),
 *     },
 *   },
 * });
 * ```
 */
export function githubWebhook(options: HookSecret): HookAuth {
  return authOf('github', options);
}

/** Verifies requests of Slack (events, commands, interactions) with the signing secret of the Slack app. */
export function slackWebhook(options: HookSecret): HookAuth {
  return authOf('slack', options);
}

/** Verifies webhooks of Stripe (`Stripe-Signature`) with the secret of the endpoint, `whsec_…`. */
export function stripeWebhook(options: HookSecret): HookAuth {
  return authOf('stripe', options);
}

/**
 * Verifies senders that follow Standard Webhooks (`webhook-signature`). A secret is `whsec_` and base64 (`v1`), or the
 * sender's public key, `whpk_` and base64 (`v1a`, Ed25519).
 */
export function standardWebhook(options: HookSecret): HookAuth {
  return authOf('standardWebhooks', options);
}

/**
 * Verifies senders by a token: `Authorization: Bearer …`. Only TLS protects the body. `Idempotency-Key` is the id of the
 * delivery; without it equal bodies count as one delivery.
 */
export function bearerWebhook(options: HookSecret): HookAuth {
  return authOf('bearer', options);
}

function authOf(scheme: SecretScheme, { secret }: HookSecret): HookAuth {
  return { scheme, secrets: isList(secret) ? secret : [secret] };
}
