import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../base/json.js';
import type { AnyWorkflow } from './context.js';

/** What others may call: workflows as skills of an A2A agent, and as MCP tools of the same names. */
export interface ServeConfig {
  readonly agent: AgentConfig;
  /** The workflows that are served, by name. The input of each must be an object. */
  readonly skills?: Readonly<Record<string, SkillConfig>>;
  /**
   * The workflow for messages that name no skill, such as plain text. Its input is
   * `{ messageId, parts, metadata, contextId }`. Default: none; such messages are refused.
   */
  readonly onMessage?: string;
  /** Most that one caller may do. Default: only chains of calls are limited, which costs nothing. */
  readonly limits?: ServeLimits;
  /** What looks at every text between callers and workflows, and may change or refuse it. Default: nothing. */
  readonly text?: TextHooks;
}

/** Hooks for the texts between callers and served workflows: to mask secrets, or to keep out what must not come in. */
export interface TextHooks {
  /** Returns what a workflow hears of a text that its caller has sent. If it throws, the message is refused. */
  readonly incoming?: TextHook;
  /**
   * Returns what a caller sees of a text of its workflow. If it throws, nothing of it is shown, and the task has failed.
   * May be called again for a text that another process has not recorded.
   */
  readonly outgoing?: TextHook;
}

/** Must answer within 10 s, and may add at most 16 KiB to a message, an artifact or a result. */
export type TextHook = (text: string, info: TextInfo) => string | Promise<string>;

/** What a text is part of. */
export interface TextInfo {
  readonly of: 'message' | 'answer' | 'arguments' | 'progress' | 'artifact' | 'question' | 'result' | 'rejection';
  readonly workflow: string;
  readonly taskId: string;
  readonly contextId: string;
  /** Who called the workflow. Missing for the caller on this machine. */
  readonly callerId?: string;
}

/** What the agent card says of the agent. */
export interface AgentConfig {
  readonly name: string;
  readonly description: string;
  /** URL under which the agent is reached, without `/a2a`. Default: the one that is asked for the card, locally. */
  readonly url?: string;
  /** Default `"1"`. */
  readonly version?: string;
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  /** How callers prove who they are; any one is enough. Only told in the card: the deployment decides who gets in. */
  readonly security?: readonly AgentSecurity[];
  /** Extensions of A2A besides those of outwait. */
  readonly extensions?: readonly AgentExtension[];
}

/** A way for callers to prove who they are, by a name that is unique in the card. */
export type AgentSecurity = {
  readonly name: string;
  readonly description?: string;
  readonly scopes?: readonly string[];
} & (
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat?: string }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'query' | 'cookie'; readonly parameter: string }
  | { readonly type: 'openIdConnect'; readonly openIdConnectUrl: string }
);

/** An extension of A2A whose data the workflows read and write themselves, in metadata. */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  /** Whether requests that do not activate the extension are refused. Default false. */
  readonly required?: boolean;
  readonly params?: JsonObject;
}

/** What the agent card and the list of tools say of a served workflow. */
export interface SkillConfig {
  readonly description: string;
  /** Title for people. Default: the name of the workflow. */
  readonly title?: string;
  /** Default `["workflow"]`. */
  readonly tags?: readonly string[];
  readonly examples?: readonly string[];
  /**
   * Whether tasks of one context run one after the other, or side by side. Default `queue` for the workflow of
   * `onMessage`, `parallel` for others.
   */
  readonly context?: 'queue' | 'parallel';
  /** Tasks of the skill under way, of all callers together. Default: no limit. */
  readonly maxLive?: number;
  /** Whether the skill is in the public card, or only in the extended one, for callers. Default `public`. */
  readonly listed?: 'public' | 'callers';
  /**
   * Whether a call of the MCP tool can become a task. `required`: clients that have no tasks are refused; `forbidden`: a
   * call is answered with its result, or with a handle if that takes longer than 20 s. Default `optional`.
   */
  readonly task?: 'optional' | 'required' | 'forbidden';
  /** Whether the questions that come first are asked in answer to the call of the MCP tool, before there is a task. */
  readonly asksFirst?: boolean;
  /** Schema of the result, told to MCP clients, which reject a result that does not fit. Default: any JSON. */
  readonly output?: StandardSchemaV1;
  /** What hosts may assume of the MCP tool. Default: nothing. */
  readonly hints?: ToolHints;
}

/** What hosts may assume of a tool; they are told, not enforced. */
export interface ToolHints {
  /** Changes nothing. */
  readonly readOnly?: boolean;
  /** May delete or overwrite. */
  readonly destructive?: boolean;
  /** A repeated call with the same arguments has no further effect. */
  readonly idempotent?: boolean;
  /** Reaches others than the systems of the app. */
  readonly openWorld?: boolean;
}

/** Most that one caller of served workflows may do; what goes beyond is refused before anything is written. */
export interface ServeLimits {
  /** Tasks under way. Default: no limit. A tenant has `liveRuns` of `access.limits`, a skill its own `maxLive`. */
  readonly maxLive?: number;
  /** Messages in a minute of the clock. Default 60. */
  readonly perMinute?: number;
  /** Tasks of one context. Default 100. */
  readonly turnsPerContext?: number;
  /** Agents in a chain of calls, this one among them: at most 16. Default 5, also without `limits`. */
  readonly depth?: number;
}

/** Longest chain of calls. */
export const depthMax = 16;

/** Returns what is wrong with the names in what is served, if anything; `problemWithServe` checks the rest. */
export function problemWithServedNames(
  { skills = {}, onMessage }: ServeConfig,
  workflows: ReadonlyMap<string, AnyWorkflow>,
): string | undefined {
  const names = Object.keys(skills);
  if (onMessage !== undefined) names.push(onMessage);
  const missing = names.find((name) => !workflows.has(name));
  if (missing !== undefined) return `names "${missing}", which is not a workflow`;
  return names.length === 0 ? 'must have skills, or onMessage' : undefined;
}
