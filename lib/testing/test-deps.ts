import { createHash } from 'node:crypto';
import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { Random, RunId } from '../base/ids.js';
import { stepFunctionTimeoutMs, turnVisibilityMs } from '../base/limits.js';
import { silentLog, type Log } from '../base/log.js';
import type { Metrics } from '../base/metrics.js';
import type { EpochMs } from '../base/time.js';
import { MemoryBus } from '../bus/memory-bus.js';
import type { Deps } from '../operations/deps.js';
import type { Spans } from '../operations/spans.js';
import { WarmRuns } from '../operations/warm-runs.js';
import { drainMicrotasks } from '../process/drain.js';
import { type OutsideRead, unwatchedLog, watchOutsideReads } from '../process/outside-reads.js';
import { placeOf } from '../process/source-maps.js';
import { system } from '../process/system.js';
import { MemoryQueues } from '../queue/memory-queues.js';
import { protectTransports } from '../remote/guard/protection.js';
import type { Messenger } from '../remote/messenger.js';
import type { RemoteTransports } from '../remote/transport.js';
import { MemoryTable } from '../store/memory/memory-table.js';
import type { PayloadCipher } from '../store/cipher.js';
import { RunStore } from '../store/run-store.js';
import { SealedTable } from '../store/sealed-table.js';
import { TokenKeys } from '../tokens/token-keys.js';
import { BufferedSpans } from '../tracing/buffered-spans.js';
import type { App } from '../workflow/app.js';
import type { Tracing } from '../workflow/tracing.js';
import { Changes } from './changes.js';
import { MemoryMessenger } from './memory-messenger.js';
import type { ScriptedServer, ScriptedServerHandle } from './scripted-server.js';
import { VirtualClock } from './virtual-clock.js';

/** Options of `createTestApp`. */
export interface TestAppOptions {
  /** Stand-ins for the servers of the app's configuration, by name. */
  readonly servers?: Readonly<Record<string, ScriptedServerHandle>>;
  /** Time at which the clock starts. Default: 2026-01-01T00:00:00Z. */
  readonly startAtMs?: EpochMs;
  /** Seed of all ids and random numbers. Default 1. */
  readonly seed?: number;
  /** @internal Cipher for payloads, as in a deployment. Default: none. */
  readonly cipher?: PayloadCipher;
  /** Whether there is a bus, which keeps its events for `lifecycleEvents`. Default false. */
  readonly bus?: boolean;
  /** Secrets of hooks and relays, by the name under which the app refers to them. Default: none can be read. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Whether the schedules of the app tick as time passes. Default false: tests of other things are not about them. */
  readonly schedules?: boolean;
  readonly log?: Log;
  /**
   * Receives the spans of the engine in place of the `tracing` of the app, which is not called: for example a provider
   * that keeps them in memory. They are there when `runToEnd`, `pass` or `settleDown` returns. Default: no spans are
   * made.
   */
  readonly tracing?: Tracing;
  /** @internal Sends notices to people. Default: one that keeps them for `notices`. */
  readonly messenger?: Messenger;
  /** @internal Receives metrics, as in a deployment. Default: none. */
  readonly metrics?: Metrics;
}

/** The engine's dependencies in memory, and those of their parts that a test uses. */
export interface TestDeps {
  readonly deps: Deps;
  readonly clock: VirtualClock;
  readonly queues: MemoryQueues;
  readonly bus: MemoryBus | undefined;
  readonly messenger: MemoryMessenger;
  /** Notified when a queue changes. */
  readonly changes: Changes;
  /** What the code of workflows has read of the clock, chance and the environment, by run. */
  readonly reads: ReadonlyMap<RunId, readonly OutsideRead[]>;
}

/** @internal How tests of the engine hear the output of every test app. */
export interface Listeners {
  /** Returns a log that passes on to `log` what it hears. */
  readonly log: (log: Log) => Log;
  readonly metrics: (metrics?: Metrics) => Metrics;
  readonly spans: Spans;
}

/** @internal Empty, unless the engine itself is tested. */
export const listeners: Partial<Listeners> = {};

const defaultStartMs = Date.UTC(2026, 0, 1);

/**
 * Creates the engine's dependencies with stand-ins for table, queues, clock and servers. `deployed` returns the current
 * app.
 */
export function createTestDeps(deployed: () => App, options: TestAppOptions): TestDeps {
  const clock = new VirtualClock(options.startAtMs ?? defaultStartMs);
  const changes = new Changes();
  const queues = createQueues(clock, changes);
  const seed = options.seed ?? 1;
  const delay: Deps['delay'] = (delayMs, signal) => clock.delay(delayMs, signal);
  const given = options.log ?? silentLog;
  const log = unwatchedLog(listeners.log?.(given) ?? given);
  const bus = options.bus === true ? new MemoryBus() : undefined;
  const messenger = new MemoryMessenger(clock);
  const metrics = listeners.metrics?.(options.metrics) ?? options.metrics;
  const store = new RunStore(new SealedTable(new MemoryTable(), options.cipher));
  const reads = new Map<RunId, OutsideRead[]>();
  const deps: Deps = {
    get app() {
      return deployed();
    },
    store,
    queues,
    transports: protectTransports(
      // Each handle that a test holds is a `ScriptedServer`.
      scriptedTransports((options.servers ?? {}) as Readonly<Record<string, ScriptedServer>>, clock),
      (name) => deployed().servers[name]?.limits,
      {
        states: store.servers,
        // Separate random numbers: how busy a server is must not change the ids of a test.
        random: seededRandom(seed + 1),
        clock,
        delay,
        log,
        metrics,
      },
    ),
    tokens: new TokenKeys([{ keyId: 'test', secret: new Uint8Array(32) }]),
    clock,
    random: seededRandom(seed),
    digest: (text) => createHash('sha256').update(text).digest('hex'),
    drain: drainMicrotasks,
    watch: watchOutsideReads((read) => {
      reads.set(read.runId, [...(reads.get(read.runId) ?? []), read]);
    }),
    delay,
    placeOf,
    log,
    ...defined({ bus, metrics, spans: spansOf(options.tracing, log) ?? listeners.spans }),
    messenger: options.messenger ?? messenger,
    secrets: secretsOf(options.secrets ?? {}),
    warmRuns: new WarmRuns(),
  };
  return { deps, clock, queues, bus, messenger, changes, reads };
}

/** Sending takes real time, which the clock of a test does not measure. */
function spansOf(tracing: Tracing | undefined, log: Log): Deps['spans'] {
  return tracing === undefined ? undefined : new BufferedSpans(tracing, { ...system, log });
}

function secretsOf(values: Readonly<Record<string, string>>): NonNullable<Deps['secrets']> {
  const valueOf = (name: string): string | undefined => (Object.hasOwn(values, name) ? values[name] : undefined);
  return {
    read: async (source) => {
      const value = typeof source === 'string' ? source : valueOf(source.name);
      return value === undefined ? undefined : { reveal: () => value };
    },
  };
}

function createQueues(clock: VirtualClock, changes: Changes): MemoryQueues {
  return new MemoryQueues({
    turn: { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 },
    work: { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 },
    step: { visibilityMs: 6 * stepFunctionTimeoutMs, maxReceiveCount: 5 },
    start: { visibilityMs: 6 * stepFunctionTimeoutMs, maxReceiveCount: 5 },
    clock,
    onChange: () => {
      changes.notify();
    },
  });
}

function scriptedTransports(servers: Readonly<Record<string, ScriptedServer>>, clock: VirtualClock): RemoteTransports {
  for (const [name, server] of Object.entries(servers)) server.connect(name, clock);
  return {
    get: (name) => {
      const server = servers[name];
      if (server === undefined) throw new EngineError('SERVER_NOT_FOUND', `the test has no server "${name}"`);
      return server;
    },
  };
}

/** Creates a mulberry32 generator: small, and good enough for ids of a test. */
function seededRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    fraction: () => next() / 2 ** 32,
    hex: (count) => Array.from({ length: count }, () => (next() & 0xff).toString(16).padStart(2, '0')).join(''),
  };
}
