import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { configName } from './config-name.js';
import type { AnyValue, AnyWorkflow, Workflow } from './define-workflow.js';
import { type HookAuth, problemWithHookAuth } from './hook-auth.js';

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
type Unchecked = Partial<Omit<Hook, 'auth'>> & { readonly auth?: unknown };

function problemWithHook(
  { auth, workflow, start, signal }: Unchecked,
  workflows: ReadonlyMap<string, AnyWorkflow>,
): string | undefined {
  const problem = problemWithHookAuth(auth);
  if (problem !== undefined) return problem;
  if (workflow === undefined || !workflows.has(workflow.name))
    return 'workflow must be one of the workflows of the app';
  const given = [start, signal].filter((reaction) => reaction !== undefined);
  if (given.length === 1 && typeof given[0] === 'function') return undefined;
  return 'exactly one of start and signal must be there, and be a function';
}
