import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import type { Random } from '../../base/ids.js';
import { breakerOpenMaxMs, startsWaitMaxMs } from '../../base/limits.js';
import type { Log } from '../../base/log.js';
import { healthy, type ServerHealth } from '../../history/server-health.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { EffectiveLimits } from '../../workflow/server-limits.js';
import { Semaphore } from './semaphore.js';
import { SingleFlight } from '../../base/single-flight.js';
import type { Admission, AdmissionPurpose, Held } from '../transport.js';

/** Failures further apart are not one row: a server of a single slow task would be left alone for nothing. */
const breakerStreakMs = 300_000;
/** A `Retry-After` is followed for one task up to an hour, for all tasks of its server up to this. */
const serverHoldMaxMs = 300_000;
/** Starts of one worker on one server at a time, and how long others wait for their place. */
const startsPerServer = 8;

/** What is known of a server is read again after this; a success of one's own is as good as a reading. */
const serverStateCacheMs = 5_000;
/** A probe that has not come back by then is lost with its process. */
const probeLeaseMs = 35_000;
/** When to look again while somebody else probes. */
const serverProbeRetryMs = 15_000;
/** When to look again at a server that is as busy as it may be. */
const serverBusyRetryMs = 5_000;
/** A slot whose process is gone is free again after this: a turn or a read has ended by then. */
const serverSlotLeaseMs = 60_000;
/** Starts of one worker on one server that wait for their place: as many as one turn begins at once. */
const startsWaiting = 16;

/** What the workers tell each other; each may throw when the store is away, and then counts for nothing. */
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
  takePermit(server: string, permit: { readonly atMs: EpochMs; readonly perMinute: number }): Promise<boolean>;
  takeSlot(
    server: string,
    slot: { readonly slots: number; readonly holder: string; readonly atMs: EpochMs; readonly untilMs: EpochMs },
  ): Promise<number | undefined>;
  freeSlot(server: string, number: number, holder: string): Promise<void>;
}

export interface GuardDeps {
  readonly states: SharedServerStates;
  readonly clock: Clock;
  readonly random: Random;
  readonly delay: (delayMs: number, signal?: AbortSignal) => Promise<void>;
  readonly log: Log;
}

/**
 * Decides whether one server may be called now, and learns from what came of each call. A server in good health costs no
 * write, and a read now and then. When the store cannot be asked, the server may be called.
 */
export class ServerGuard {
  readonly #server: string;
  readonly #limits: EffectiveLimits;
  readonly #deps: GuardDeps;
  readonly #starts: Semaphore;
  readonly #reading = new SingleFlight<ServerHealth>();
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

  /** For a start or a read. Whoever is admitted leaves. `untilMs`: by then at the latest, where that is long. */
  async admit(purpose: AdmissionPurpose, untilMs: EpochMs = 0): Promise<Admission> {
    // What is known to fail must not take a place from others.
    const early = await this.rest();
    if (early !== undefined) return early;
    // Whoever makes the start asks for all else, and one of minutes takes no place from those of turns.
    if (purpose === 'handOver') return { kind: 'admitted', leave: async () => undefined };
    const isStart = purpose === 'start';
    if (isStart && !(await this.#starts.enter())) return this.#busy('this worker has enough starts there');
    const slot = await this.#enterShared(untilMs);
    if ('kind' in slot) {
      if (isStart) this.#starts.leave();
      return slot;
    }
    return {
      kind: 'admitted',
      leave: async () => {
        if (isStart) this.#starts.leave();
        await slot.free();
      },
    };
  }

  /** Until when the server is to be left alone, if it is; does not claim the probe. For requests that can as well come later. */
  async rest(): Promise<Held | undefined> {
    const health = await this.#health();
    const nowMs = this.#deps.clock.nowMs();
    const { openUntilMs = 0, holdUntilMs = 0 } = health;
    if (holdUntilMs > nowMs) return this.#held(holdUntilMs, 'it has asked for that');
    if (this.#limits.breaker === undefined || openUntilMs <= nowMs) return undefined;
    return this.#held(openUntilMs, 'its last requests have all failed');
  }

  /** The server has given an answer, whichever. */
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

  /** It answers starts at once, as far as anybody has seen. */
  async isPrompt(): Promise<boolean> {
    return (await this.#health()).isPrompt === true;
  }

  /** A start was answered in time for a turn, or not. Known already, it costs nothing. */
  async sawPrompt(isPrompt: boolean): Promise<void> {
    const { isPrompt: known = false, ...health } = await this.#health();
    if (known === isPrompt) return;
    this.#know(isPrompt ? { ...health, isPrompt } : health);
    await this.#shared('prompt', () => this.#deps.states.notePrompt(this.#server, isPrompt), undefined);
  }

  /** The server did not answer, or answered that it cannot; `retryAfterMs` as it said. */
  async failed(retryAfterMs?: number): Promise<void> {
    if (retryAfterMs !== undefined && retryAfterMs > 0) await this.#hold(retryAfterMs);
    const { breaker } = this.#limits;
    if (breaker === undefined) return;
    const { states, clock } = this.#deps;
    const atMs = clock.nowMs();
    const before = this.#known?.health ?? healthy;
    // Sent before the breaker opened: it tells nothing new.
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

  /** Probe, rate and slot: what is shared with other workers. */
  async #enterShared(longestUntilMs: EpochMs): Promise<Held | { readonly free: () => Promise<void> }> {
    const { states, clock, random } = this.#deps;
    const { breaker, perMinute, concurrency } = this.#limits;
    const atMs = clock.nowMs();
    if (breaker !== undefined && this.#known?.health.openUntilMs !== undefined) {
      const probe = { atMs, untilMs: atMs + probeLeaseMs };
      if (!(await this.#shared('probe', () => states.claimProbe(this.#server, probe), true))) {
        const health = await this.#readShared();
        const held = await this.rest();
        if (held !== undefined) return held;
        // Unless the probe of somebody else has succeeded meanwhile.
        if (health.openUntilMs !== undefined)
          return this.#held(atMs + serverProbeRetryMs, 'somebody is trying whether it answers again');
      }
    }
    let free = async (): Promise<void> => undefined;
    if (concurrency !== undefined) {
      const holder = random.hex(16);
      const lease = { slots: concurrency, holder, atMs, untilMs: Math.max(atMs, longestUntilMs) + serverSlotLeaseMs };
      const slot = await this.#shared('slot', () => states.takeSlot(this.#server, lease), -1);
      if (slot === undefined) return this.#busy(`${concurrency} requests are under way there`);
      if (slot >= 0) free = () => this.#shared('slot', () => states.freeSlot(this.#server, slot, holder), undefined);
    }
    const permit = { atMs, perMinute: perMinute ?? 0 };
    if (perMinute === undefined || (await this.#shared('rate', () => states.takePermit(this.#server, permit), true)))
      return { free };
    await free();
    const nextMinuteMs = (Math.floor(atMs / 60_000) + 1) * 60_000;
    return this.#held(nextMinuteMs, `it has had its ${perMinute} requests of this minute`);
  }

  async #hold(retryAfterMs: number): Promise<void> {
    const untilMs = this.#deps.clock.nowMs() + Math.min(retryAfterMs, serverHoldMaxMs);
    const known = this.#known?.health ?? healthy;
    // Nobody is helped by a write for a second more.
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

  /** Not all at the same instant: up to a quarter later, at least a second of room. */
  #held(untilMs: EpochMs, why: string): Held {
    const { clock, random } = this.#deps;
    const spreadMs = Math.max(1_000, (untilMs - clock.nowMs()) / 4);
    return {
      kind: 'held',
      untilMs: Math.ceil(untilMs + random.fraction() * spreadMs),
      error: heldError(this.#server, why),
    };
  }

  /** A store that is away must not keep anybody from a server that works. */
  async #shared<Value>(what: string, work: () => Promise<Value>, otherwise: Value): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      this.#deps.log.warn('state of a remote server is not shared', { server: this.#server, what, error });
      return otherwise;
    }
  }
}

function heldError(server: string, why: string): StoredError {
  return storedError('REMOTE_UNREACHABLE', `"${server}" is left alone for now: ${why}`, { server, held: true });
}
