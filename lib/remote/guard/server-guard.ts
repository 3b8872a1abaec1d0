import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import type { Random } from '../../base/ids.js';
import { breakerOpenMaxMs, startsWaitMaxMs } from '../../base/limits.js';
import type { Log } from '../../base/log.js';
import type { Metrics } from '../../base/metrics.js';
import { healthy, type ServerHealth } from '../../history/server-health.js';
import { lazy } from '../../base/lazy.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { EffectiveLimits } from '../../workflow/server-limits.js';
import { Semaphore } from './semaphore.js';
import { SingleFlight } from '../../base/single-flight.js';
import type { Admission, AdmissionPurpose, AdmissionTerms, Held } from '../transport.js';
import type { ServerLimiter, SharedServerLimits } from './shared-limits.js';

/**
 * Longest time between two failures in a row: otherwise a server with a single slow task would be left alone for
 * nothing.
 */
const breakerStreakMs = 300_000;
/** Longest `Retry-After` that holds for all tasks of a server; for a single task it holds up to an hour. */
const serverHoldMaxMs = 300_000;
/** Concurrent starts of one worker on one server. */
const startsPerServer = 8;

/** Age at which the shared state of a server is read again; a success of this worker's own is as good as a read. */
const serverStateCacheMs = 5_000;
/** Time after which a probe that has not come back is lost with its process. */
const probeLeaseMs = 35_000;
/** Time until another look while another worker probes. */
const serverProbeRetryMs = 15_000;
/** Time until another look at a server to which this worker makes as many starts as it may. */
const serverBusyRetryMs = 5_000;
/** Number of starts of one worker that may wait for one server: as many as one turn begins at once. */
const startsWaiting = 16;

/** Loads what only servers with a limit need. */
export const loadServerLimiter = lazy(() => import('./shared-limits.js'));

/** State of servers that workers share; each method may throw if the store is unavailable, which is tolerated. */
export interface SharedServerStates {
  read(server: string): Promise<ServerHealth>;
  noteFailure(
    server: string,
    failure: { readonly atMs: EpochMs; readonly streakMs: number; readonly seen: ServerHealth },
  ): Promise<ServerHealth>;
  open(server: string, open: { readonly atMs: EpochMs; readonly untilMs: EpochMs }): Promise<ServerHealth>;
  claimProbe(server: string, probe: { readonly atMs: EpochMs; readonly untilMs: EpochMs }): Promise<boolean>;
  noteSuccess(server: string): Promise<void>;
  notePrompt(server: string, isPrompt: boolean): Promise<void>;
  hold(server: string, untilMs: EpochMs): Promise<ServerHealth>;
  /** Loaded for the first server that has a limit. */
  limits(): Promise<SharedServerLimits>;
}

export interface GuardDeps {
  readonly states: SharedServerStates;
  readonly clock: Clock;
  readonly random: Random;
  readonly delay: (delayMs: number, signal?: AbortSignal) => Promise<void>;
  readonly log: Log;
  /** Default: no metrics. */
  readonly metrics?: Metrics | undefined;
}

/**
 * Decides whether one server may be called now, and learns from the outcome of each call. A healthy server costs no
 * write, and a read now and then. If the store is unavailable, the server may be called.
 */
export class ServerGuard {
  readonly #server: string;
  readonly #limits: EffectiveLimits;
  readonly #deps: GuardDeps;
  readonly #starts: Semaphore;
  readonly #reading = new SingleFlight<ServerHealth>();
  readonly #limiter = lazy(() => this.#loadLimiter());
  #known: { readonly health: ServerHealth; readonly readAtMs: EpochMs } | undefined;

  constructor(server: string, limits: EffectiveLimits, deps: GuardDeps) {
    this.#server = server;
    this.#limits = limits;
    this.#deps = deps;
    this.#starts = new Semaphore({
      places: startsPerServer,
      waiters: startsWaiting,
      waitMaxMs: startsWaitMaxMs,
      clock: deps.clock,
      delay: deps.delay,
    });
  }

  /** Asks for admission of a start or a read; an admitted caller must leave. */
  async admit(purpose: AdmissionPurpose, terms: AdmissionTerms = {}): Promise<Admission> {
    // Keeps calls that are known to fail from taking a place from others.
    const early = await this.rest();
    if (early !== undefined) return early;
    // Skips the limits: the worker that makes the start checks them, and a start of minutes takes no place from those
    // of turns.
    if (purpose === 'handOver') return { kind: 'admitted', leave: async () => undefined };
    const isStart = purpose === 'start';
    if (isStart && !(await this.#starts.enter())) return this.#busy('this worker has reached its limit of starts');
    const held = (await this.#claimProbe()) ?? (await this.#enterLimits(purpose, terms));
    if (typeof held !== 'function') {
      if (isStart) this.#starts.leave();
      return held;
    }
    return {
      kind: 'admitted',
      leave: async () => {
        if (isStart) this.#starts.leave();
        await held();
      },
    };
  }

  /**
   * Returns until when the server is left alone, if it is, without claiming the probe. For requests that can as well
   * come later.
   */
  async rest(): Promise<Held | undefined> {
    const health = await this.#health();
    const nowMs = this.#deps.clock.nowMs();
    const { openUntilMs = 0, holdUntilMs = 0 } = health;
    if (holdUntilMs > nowMs) return this.#resting(holdUntilMs, 'it asked for a pause');
    if (this.#limits.breaker === undefined || openUntilMs <= nowMs) return undefined;
    return this.#resting(openUntilMs, 'its last requests have all failed');
  }

  /** Records that the server gave an answer, whatever it was. */
  async succeeded(): Promise<void> {
    const { failures, trips, openUntilMs } = this.#known?.health ?? healthy;
    const nowMs = this.#deps.clock.nowMs();
    if (failures === 0 && trips === 0 && openUntilMs === undefined) {
      if (this.#known !== undefined) this.#known = { ...this.#known, readAtMs: nowMs };
      return;
    }
    const { holdUntilMs, isPrompt } = this.#known?.health ?? healthy;
    this.#know({
      ...healthy,
      ...defined({ holdUntilMs, isPrompt }),
    });
    await this.#shared('success', () => this.#deps.states.noteSuccess(this.#server), undefined);
    if (openUntilMs !== undefined) this.#deps.log.info('remote server answers again', { server: this.#server });
  }

  /** Whether the server is known to answer starts at once. */
  async isPrompt(): Promise<boolean> {
    return (await this.#health()).isPrompt === true;
  }

  /** Records whether a start was answered in time for a turn. Costs nothing if already known. */
  async sawPrompt(isPrompt: boolean): Promise<void> {
    const { isPrompt: known = false, ...health } = await this.#health();
    if (known === isPrompt) return;
    this.#know(isPrompt ? { ...health, isPrompt } : health);
    await this.#shared('prompt', () => this.#deps.states.notePrompt(this.#server, isPrompt), undefined);
  }

  /** Records that the server did not answer, or answered that it cannot; `retryAfterMs` is its own hint. */
  async failed(retryAfterMs?: number): Promise<void> {
    if (retryAfterMs !== undefined && retryAfterMs > 0) await this.#hold(retryAfterMs);
    const { breaker } = this.#limits;
    if (breaker === undefined) return;
    const { states, clock } = this.#deps;
    const atMs = clock.nowMs();
    const before = this.#known?.health ?? healthy;
    // Ignores a failure of a request sent before the breaker opened.
    if ((before.openUntilMs ?? 0) > atMs) return;
    let health = before;
    const wasProbe = before.openUntilMs !== undefined;
    if (!wasProbe) {
      const failure = { atMs, streakMs: breakerStreakMs, seen: before };
      health = await this.#shared('failure', () => states.noteFailure(this.#server, failure), before);
      this.#know(health);
      if (health.failures < breaker.failures || (health.openUntilMs ?? 0) > atMs) return;
    }
    const openForMs = Math.min(breaker.openForMs * 2 ** Math.min(health.trips, 20), breakerOpenMaxMs);
    const untilMs = atMs + openForMs;
    this.#know(await this.#shared('open', () => states.open(this.#server, { atMs, untilMs }), health));
    this.#deps.log.warn('remote server is left alone', { server: this.#server, forMs: openForMs, wasProbe });
  }

  /** Claims the probe of a server that was left alone. Returns until when it still is, if another worker has it. */
  async #claimProbe(): Promise<Held | undefined> {
    const { states, clock } = this.#deps;
    if (this.#limits.breaker === undefined || this.#known?.health.openUntilMs === undefined) return undefined;
    const atMs = clock.nowMs();
    const probe = { atMs, untilMs: atMs + probeLeaseMs };
    if (await this.#shared('probe', () => states.claimProbe(this.#server, probe), true)) return undefined;
    const health = await this.#readShared();
    const held = await this.rest();
    if (held !== undefined) return held;
    // Goes on if the probe of another worker has succeeded meanwhile.
    if (health.openUntilMs === undefined) return undefined;
    return this.#resting(atMs + serverProbeRetryMs, 'another worker is probing it');
  }

  /** Returns how to leave, or until when the call is held back: at that instant it is likely to be admitted. */
  async #enterLimits(
    purpose: AdmissionPurpose,
    { untilMs = 0, hasWaited = false, isExtra = false }: AdmissionTerms,
  ): Promise<Held | (() => Promise<void>)> {
    const limiter = await this.#limiter();
    const kind = purpose === 'read' ? 'reads' : 'starts';
    const entered = await limiter?.enter({ kind, untilMs, hasWaited, isExtra });
    if (typeof entered === 'function' || entered === undefined) return entered ?? (async () => undefined);
    return { kind: 'held', untilMs: entered.retryAtMs, error: heldError(this.#server, entered.why) };
  }

  /** Returns when a read that is wanted at `atMs` will be admitted: then, unless many wait for the rate. */
  async whenRead(atMs: EpochMs): Promise<EpochMs> {
    return (await (await this.#limiter())?.whenRead(atMs)) ?? atMs;
  }

  async #loadLimiter(): Promise<ServerLimiter | undefined> {
    const { concurrency, perMinute } = this.#limits;
    if (concurrency === undefined && perMinute === undefined) return undefined;
    const [limits, { ServerLimiter }] = await Promise.all([this.#deps.states.limits(), loadServerLimiter()]);
    const shared = <Value>(what: string, work: () => Promise<Value>, otherwise: Value): Promise<Value> =>
      this.#shared(what, work, otherwise);
    return new ServerLimiter({ server: this.#server, limits: this.#limits }, limits, { ...this.#deps, shared });
  }

  async #hold(retryAfterMs: number): Promise<void> {
    const untilMs = this.#deps.clock.nowMs() + Math.min(retryAfterMs, serverHoldMaxMs);
    const known = this.#known?.health ?? healthy;
    // Saves a write that would add less than a second.
    if ((known.holdUntilMs ?? 0) + 1_000 >= untilMs) return;
    this.#know(await this.#shared('hold', () => this.#deps.states.hold(this.#server, untilMs), known));
  }

  async #health(): Promise<ServerHealth> {
    const nowMs = this.#deps.clock.nowMs();
    if (this.#known !== undefined && nowMs - this.#known.readAtMs < serverStateCacheMs) return this.#known.health;
    return this.#reading.run(() => this.#readShared());
  }

  async #readShared(): Promise<ServerHealth> {
    const health = await this.#shared('read', () => this.#deps.states.read(this.#server), healthy);
    this.#know(health);
    return health;
  }

  #know(health: ServerHealth): void {
    this.#known = { health, readAtMs: this.#deps.clock.nowMs() };
  }

  #busy(why: string): Held {
    return this.#held(this.#deps.clock.nowMs() + serverBusyRetryMs, why);
  }

  #resting(untilMs: EpochMs, why: string): Held {
    return { ...this.#held(untilMs, why), isResting: true };
  }

  /** Spreads the retries: up to a quarter later, over at least a second. */
  #held(untilMs: EpochMs, why: string): Held {
    const { clock, random } = this.#deps;
    const spreadMs = Math.max(1_000, (untilMs - clock.nowMs()) / 4);
    return {
      kind: 'held',
      untilMs: Math.ceil(untilMs + random.fraction() * spreadMs),
      error: heldError(this.#server, why),
    };
  }

  /** Runs `work` on the shared state; a store that is unavailable must not block calls to a server that works. */
  async #shared<Value>(what: string, work: () => Promise<Value>, otherwise: Value): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      this.#deps.log.warn('state of a remote server could not be shared', { server: this.#server, what, error });
      return otherwise;
    }
  }
}

function heldError(server: string, why: string): StoredError {
  return storedError('REMOTE_UNREACHABLE', `"${server}" is left alone for now: ${why}`, { server, held: true });
}
