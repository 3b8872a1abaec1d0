import type { JsonObject } from '../../base/json.js';
import type { Clock } from '../../base/time.js';
import type { Log } from '../../base/log.js';
import type { AnyWorkflow } from '../../workflow/context.js';
import type { ServeConfig } from '../../workflow/serve.js';
import type { Timer } from '../sse.js';
import type { Tasks } from '../tasks.js';

/** The revision whose requests stand each for itself. */
export const modern = '2026-07-28';
/** The revisions that begin with `initialize`, newest first. */
export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

export type LegacyVersion = (typeof legacyVersions)[number];
export type McpVersion = typeof modern | LegacyVersion;

export const tasksExtension = 'io.modelcontextprotocol/tasks';
/** Says that a repeated call under one key is answered with what the first one started. */
export const dedupesExtension = 'dev.outwait/dedupes';

export type RpcId = string | number;

/** A request of a client. */
export interface Call {
  readonly version: McpVersion;
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  /** What the client can do. Revisions that tell it at `initialize` only: nothing. */
  readonly capabilities: JsonObject;
  readonly headers: Headers;
}

/** What is sent back: a result, or messages as they come, the last of which is the response. */
export type Answer =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | {
      readonly kind: 'stream';
      readonly messages: AsyncGenerator<JsonObject, undefined>;
      /** Whether it is open for as long as streams may be, so that their number is limited. */
      readonly isLong?: true;
    };

/** The endpoint as it is configured. */
export interface McpEndpoint {
  readonly serve: ServeConfig;
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  readonly clock: Clock;
  readonly log: Log;
  readonly timer: Timer;
  readonly newId: () => string;
  /** Returns a digest that only this deployment can make. */
  readonly seal: (text: string) => string;
  readonly promptMaxMs: number;
  readonly waitMaxMs: number;
  readonly streamMaxMs: number;
  readonly keepAliveMs: number;
}

/** What a call is answered with: that of one caller. */
export interface Visit {
  readonly tasks: Tasks;
  readonly endpoint: McpEndpoint;
  /** Aborts when the client has left, or the stream has reached its limit of time. */
  readonly signal: AbortSignal;
}

export function result(of: JsonObject): Answer {
  return { kind: 'result', result: of };
}

export function responseOf(id: RpcId, of: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, result: of };
}
