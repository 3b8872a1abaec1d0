import type { Random } from '../base/ids.js';
import type { Log } from '../base/log.js';
import type { Metrics } from '../base/metrics.js';
import type { Clock } from '../base/time.js';
import type { EventBus } from '../bus/event-bus.js';
import type { Queues } from '../queue/queue.js';
import type { RemoteTransports } from '../remote/transport.js';
import type { RunStore } from '../store/run-store.js';
import type { TokenKeys } from '../tokens/token-keys.js';
import type { App } from '../workflow/app.js';
import type { WarmRuns } from './warm-runs.js';

/** Everything an operation touches beside its arguments. One object, so that a simulator can replace all of it. */
export interface Deps {
  readonly app: App;
  readonly store: RunStore;
  readonly queues: Queues;
  readonly transports: RemoteTransports;
  /** Is told of lifecycle events, of runs that were started while there was one. Default: nobody is told. */
  readonly bus?: EventBus;
  readonly tokens: TokenKeys;
  readonly clock: Clock;
  readonly random: Random;
  /** SHA-256 in hex. */
  readonly digest: (text: string) => string;
  /** Resolves when the microtask queue has run dry. */
  readonly drain: (options?: { readonly quietly?: boolean }) => Promise<void>;
  /** Resolves after `delayMs`, or when `signal` aborts. */
  readonly delay: (delayMs: number, signal?: AbortSignal) => Promise<void>;
  readonly log: Log;
  /** Default: measured by nobody. */
  readonly metrics?: Metrics;
  /** What this process remembers of runs between turns. Default: nothing, every turn reads its run whole. */
  readonly warmRuns?: WarmRuns;
}
