import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { configName } from './config-name.js';
import type { AnyValue, AnyWorkflow, Workflow } from './define-workflow.js';
import { problemWithSource, type SecretSource } from './server-auth.js';

/** How senders prove that a delivery is theirs. */
export type HookScheme = 'github' | 'slack' | 'stripe' | 'standardWebhooks' | 'bearer';
const hookSchemes: readonly unknown[] = [
  'github',
  'slack',
  'stripe',
  'standardWebhooks',
  'bearer',
] satisfies readonly HookScheme[];

/** What a sender has to know. Made by `githubWebhook()` and the like. */
export interface HookAuth {
  readonly scheme: HookScheme;
  /** Each of them is accepted. */
  readonly secrets: readonly SecretSource[];
}

export interface HookSecret {
  /** A list while a secret is replaced: deliveries under any of them are accepted. At most 8. */
  readonly secret: SecretSource | readonly SecretSource[];
}

/** A delivery whose sender has been verified. */
export interface HookEvent {
  /** By lower-case name. Only those that tell what the delivery is about, such as `x-github-event`; no credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body: JSON, or for Slack the fields of a form. */
  readonly body: JsonValue;
  /** The same for each repetition of one delivery. */
  readonly deliveryId: string;
}

/** The run that a delivery starts. */
export interface HookStart<Given = AnyValue> {
  /** What the workflow takes. */
  readonly input?: Given;
  /** Idempotency key of the start, 1 to 255 bytes: one run per key. Default: one per delivery. */
  readonly key?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** The signal that a delivery sends. Names the run by its run id, or by the key or the id that it was started with. */
export type HookSignal = {
  readonly name: string;
  /** At most 256 KiB. */
  readonly payload?: JsonValue;
} & (
  | { readonly runId: string; readonly key?: never; readonly id?: never }
  | { readonly key: string; readonly runId?: never; readonly id?: never }
  | { readonly id: string; readonly runId?: never; readonly key?: never }
);

/** What a function of a hook returns. `undefined`: the delivery is accepted, and nothing happens. */
export type HookReaction<Made> = Made | undefined | Promise<Made | undefined>;

export interface HookOptions<Given = AnyValue> {
  readonly auth: HookAuth;
  /** Whose runs the hook starts, or sends signals to. */
  readonly workflow: Workflow<AnyValue, unknown, Given>;
}

/** Either function has 2 s, and may be called again for the same delivery. What it throws is answered with 500 and logged. */
export type HookConfig<Given = AnyValue> = HookOptions<Given> &
  (
    | { readonly start: (event: HookEvent) => HookReaction<HookStart<NoInfer<Given>>>; readonly signal?: never }
    | { readonly signal: (event: HookEvent) => HookReaction<HookSignal>; readonly start?: never }
  );

export interface Hook {
  readonly auth: HookAuth;
  readonly workflow: AnyWorkflow;
  readonly start?: (event: HookEvent) => HookReaction<HookStart>;
  readonly signal?: (event: HookEvent) => HookReaction<HookSignal>;
}

const secretsMax = 8;

/** Checks the hooks of an app. @throws EngineError `CONFIG_INVALID` that names the field, and no value */
export function toHooks(
  hooks: Readonly<Record<string, Hook>>,
  workflows: ReadonlyMap<string, AnyWorkflow>,
): Readonly<Record<string, Hook>> {
  for (const [name, hook] of Object.entries(hooks)) {
    const problem = configName.test(name)
      ? problemWithHook(hook, workflows)
      : 'the name must be letters, digits, ".", "_" or "-", at most 64';
    if (problem !== undefined) throw new EngineError('CONFIG_INVALID', `hooks: "${name}": ${problem}`);
  }
  return hooks;
}

/** What may be there in plain JavaScript. */
type Unchecked = Partial<Omit<Hook, 'auth'>> & { readonly auth?: Partial<HookAuth> };

function problemWithHook(
  { auth: { scheme, secrets = [] } = {}, workflow, start, signal }: Unchecked,
  workflows: ReadonlyMap<string, AnyWorkflow>,
): string | undefined {
  if (!hookSchemes.includes(scheme)) return 'auth must come from githubWebhook() or the like';
  if (secrets.length === 0 || secrets.length > secretsMax) return `auth must have 1 to ${secretsMax} secrets`;
  for (const source of secrets) {
    const problem = problemWithSource(source);
    if (problem !== undefined) return `auth: ${problem}`;
  }
  if (workflow === undefined || !workflows.has(workflow.name))
    return 'workflow must be one of the workflows of the app';
  const given = [start, signal].filter((reaction) => reaction !== undefined);
  if (given.length === 1 && typeof given[0] === 'function') return undefined;
  return 'exactly one of start and signal must be there, and be a function';
}

/**
 * Webhooks of GitHub, and of others that sign like it (`X-Hub-Signature-256`), sent as JSON. GitHub signs the body, but
 * neither the name of the event nor the id of the delivery.
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

/** Requests of Slack (events, commands, interactions), signed with the signing secret of the Slack app. */
export function slackWebhook(options: HookSecret): HookAuth {
  return authOf('slack', options);
}

/** Webhooks of Stripe (`Stripe-Signature`); the secret is that of the endpoint, `whsec_…`. */
export function stripeWebhook(options: HookSecret): HookAuth {
  return authOf('stripe', options);
}

/** Senders that follow Standard Webhooks (`webhook-signature`, `v1`); the secret is `whsec_` and base64. */
export function standardWebhook(options: HookSecret): HookAuth {
  return authOf('standardWebhooks', options);
}

/**
 * Senders that only know a token: `Authorization: Bearer …`. Nothing protects the body but TLS. `Idempotency-Key` is the
 * id of the delivery; without it equal bodies count as one delivery.
 */
export function bearerWebhook(options: HookSecret): HookAuth {
  return authOf('bearer', options);
}

function authOf(scheme: HookScheme, { secret }: HookSecret): HookAuth {
  return { scheme, secrets: isList(secret) ? secret : [secret] };
}

function isList(secret: HookSecret['secret']): secret is readonly SecretSource[] {
  return Array.isArray(secret);
}
