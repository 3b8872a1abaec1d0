import type { Caller } from '../base/caller.js';
import type { Random, RunId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Metrics } from '../base/metrics.js';
import type { Clock } from '../base/time.js';
import type { EventBus } from '../bus/event-bus.js';
import type { Queues } from '../queue/queue.js';
import type { Messenger } from '../remote/messenger.js';
import type { PushSender } from '../remote/push-sender.js';
import type { RemoteTransports } from '../remote/transport.js';
import type { RunStore } from '../store/run-store.js';
import type { TokenKeys } from '../tokens/token-keys.js';
import type { App } from '../workflow/app.js';
import type { SecretSource } from '../workflow/server-auth.js';
import type { rehearse } from './rehearse.js';
import type { Spans } from './spans.js';
import type { WarmRuns } from './warm-runs.js';

/** Values of secrets by reference. */
export interface SecretValues {
  /** Returns undefined if there is no such secret. @throws EngineError if it cannot be asked for */
  read(source: SecretSource): Promise<{ reveal(): string } | undefined>;
}

/** Public keys of issuers of signed tokens, by the URL of their set. */
export interface KeySets {
  /**
   * Returns a set of keys (RFC 7517), the same object until it is read again. `isRenewed`: a token names a key that is not
   * among those known. @throws EngineError `STORE_UNAVAILABLE` if it cannot be read
   */
  read(
    url: string,
    options: { readonly isRenewed: boolean; readonly allowPrivateAddresses: boolean },
  ): Promise<JsonObject>;
}

/** Everything an operation touches besides its arguments. One object, so that a simulator can replace all of it. */
export interface Deps {
  readonly app: App;
  readonly store: RunStore;
  readonly queues: Queues;
  readonly transports: RemoteTransports;
  /** Receives the lifecycle events of runs that were started while a bus was configured. Default: none. */
  readonly bus?: EventBus;
  readonly tokens: TokenKeys;
  readonly clock: Clock;
  readonly random: Random;
  /** SHA-256 in hex. */
  readonly digest: (text: string) => string;
  /** Resolves when the microtask queue is empty. */
  readonly drain: (options?: { readonly quietly?: boolean }) => Promise<void>;
  /** Calls `advance`, within which alone the code of a workflow runs. Default: nothing watches it. */
  readonly watch?: (runId: RunId, advance: () => Promise<void>) => Promise<void>;
  /** Resolves after `delayMs`, or when `signal` aborts. */
  readonly delay: (delayMs: number, signal?: AbortSignal) => Promise<void>;
  /** Reads the secrets of hooks. Default: no secret can be read. */
  readonly secrets?: SecretValues;
  /** URL, without a slash at the end, under which others reach the HTTP API. Default: nothing is pushed to us. */
  readonly publicUrl?: string;
  /** URL of the agent whose skills are the served workflows, unless the app names it. Default: `publicUrl`. */
  readonly serveUrl?: string;
  /**
   * The caller whose request this is. Missing in turns and other work of the engine, for the caller on loopback, and where
   * operations are called directly.
   */
  readonly caller?: Caller;
  /** Reads the keys of issuers. Default: no keys can be read. */
  readonly keySets?: KeySets;
  /** Sends notices to people. Default: none are sent. */
  readonly messenger?: Messenger;
  /** Pushes news of served tasks. Default: nothing is pushed. */
  readonly pushSender?: PushSender;
  /** Returns where an error was thrown, as `report.ts:12:7`. Default: that is not known. */
  readonly placeOf?: (thrown: unknown) => string | undefined;
  readonly log: Log;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Default: no spans. */
  readonly spans?: Spans;
  /**
   * Replays a run before it rests or ends, and returns what is then different: the run blocks. Default: only a later turn
   * finds it.
   */
  readonly rehearse?: typeof rehearse;
  /** Runs that this process remembers between turns. Default: none; every turn reads its whole run. */
  readonly warmRuns?: WarmRuns;
}
