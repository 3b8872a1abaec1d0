import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { configName } from './config-name.js';
import type { AnyValue, AnyWorkflow, Workflow } from './define-workflow.js';
import { problemWithSource, type SecretSource } from './server-auth.js';

/** Ways in which a sender proves that a delivery is its own. */
export type HookScheme = 'github' | 'slack' | 'stripe' | 'standardWebhooks' | 'bearer';
const hookSchemes: readonly unknown[] = [
  'github',
  'slack',
  'stripe',
  'standardWebhooks',
  'bearer',
] satisfies readonly HookScheme[];

/** Proof that a hook requires from its sender. Created by `githubWebhook()`, `slackWebhook()` and the others. */
export interface HookAuth {
  readonly scheme: HookScheme;
  /** Secrets, each of which is accepted. */
  readonly secrets: readonly SecretSource[];
}

/** Secret that a sender and this app share. */
export interface HookSecret {
  /** The secret, or during its rotation a list of at most 8, each of which is accepted. */
  readonly secret: SecretSource | readonly SecretSource[];
}

/** A delivery whose sender has been verified. */
export interface HookEvent {
  /** Headers that describe the delivery, such as `x-github-event`, by lower-case name; no credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed body: JSON, or for Slack the fields of a form. */
  readonly body: JsonValue;
  /** The same for each repetition of one delivery. */
  readonly deliveryId: string;
}

/** The run that a delivery starts. */
export interface HookStart<Given = AnyValue> {
  /** Input of the workflow. */
  readonly input?: Given;
  /** Idempotency key of the start, 1 to 255 bytes: one run per key. Default: one per delivery. */
  readonly key?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** The signal that a delivery sends to a run, which is named by its run id, or by the key or id of its start. */
export type HookSignal = {
  readonly name: string;
  /** Payload of at most 256 KiB. */
  readonly payload?: JsonValue;
} & (
  | { readonly runId: string; readonly key?: never; readonly id?: never }
  | { readonly key: string; readonly runId?: never; readonly id?: never }
  | { readonly id: string; readonly runId?: never; readonly key?: never }
);

/** Result of a function of a hook. With `undefined` the delivery is accepted and ignored. */
export type HookReaction<Made> = Made | undefined | Promise<Made | undefined>;

/** Options that both kinds of hooks have. */
export interface HookOptions<Given = AnyValue> {
  readonly auth: HookAuth;
  /** Workflow whose runs the hook starts, or sends signals to. */
  readonly workflow: Workflow<AnyValue, unknown, Given>;
}

/**
 * A hook that starts runs or sends signals. Its function has 2 s and may be called again for the same delivery. If it
 * throws, the sender receives 500 and the error is logged.
 */
export type HookConfig<Given = AnyValue> = HookOptions<Given> &
  (
    | { readonly start: (event: HookEvent) => HookReaction<HookStart<NoInfer<Given>>>; readonly signal?: never }
    | { readonly signal: (event: HookEvent) => HookReaction<HookSignal>; readonly start?: never }
  );

/** A hook, checked. */
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

/** A hook as plain JavaScript may define it. */
type Unchecked = Partial<Omit<Hook, 'auth'>> & { readonly auth?: Partial<HookAuth> };

/** Returns what is wrong with a proof, if anything; begins where the name of the field ends. */
export function problemWithHookAuth({ scheme, secrets = [] }: Partial<HookAuth>): string | undefined {
  if (!hookSchemes.includes(scheme)) return ' must come from githubWebhook() or the like';
  if (secrets.length === 0 || secrets.length > secretsMax) return ` must have 1 to ${secretsMax} secrets`;
  const problem = secrets.map(problemWithSource).find((found) => found !== undefined);
  return problem === undefined ? undefined : `: ${problem}`;
}

function problemWithHook(
  { auth, workflow, start, signal }: Unchecked,
  workflows: ReadonlyMap<string, AnyWorkflow>,
): string | undefined {
  const problem = problemWithHookAuth(auth ?? {});
  if (problem !== undefined) return `auth${problem}`;
  if (workflow === undefined || !workflows.has(workflow.name))
    return 'workflow must be one of the workflows of the app';
  const given = [start, signal].filter((reaction) => reaction !== undefined);
  if (given.length === 1 && typeof given[0] === 'function') return undefined;
  return 'exactly one of start and signal must be there, and be a function';
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

/** Verifies senders that follow Standard Webhooks (`webhook-signature`, `v1`); the secret is `whsec_` and base64. */
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

function authOf(scheme: HookScheme, { secret }: HookSecret): HookAuth {
  return { scheme, secrets: isList(secret) ? secret : [secret] };
}

function isList(secret: HookSecret['secret']): secret is readonly SecretSource[] {
  return Array.isArray(secret);
}
