import { defined } from '../../base/defined.js';
import { hasCode } from '../../base/errors.js';
import { sweepIntervalMs } from '../../base/limits.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { ScheduleState } from '../../history/records.js';
import type { Schedule } from '../../workflow/schedule.js';
import { chainOf } from '../chain.js';
import type { Deps } from '../deps.js';
import { askToStop } from '../requests/stop-run.js';
import { startUnderOwnKey } from '../requests/start-run.js';

/** Ticks of one schedule that one sweep catches up on; the next sweep continues. */
const ticksPerSweep = 100;

/**
 * Starts the runs of due ticks, once a minute.
 *
 * S1  The fate of a tick is decided by one write, which only one of two sweeps makes: the other stops.
 * S2  A tick to be started is first recorded and then started, under a key made from the tick. A sweep that finds the
 *     record starts it again, which creates no second run.
 */
export async function tickSchedules(deps: Deps): Promise<{ readonly started: number }> {
  let started = 0;
  for (const schedule of deps.app.schedules) {
    try {
      started += await new Sweep(deps, schedule, await deps.store.schedules.read(schedule.name)).run();
    } catch (error) {
      // A schedule whose input is refused must not stop the others.
      if (error instanceof OtherSweep) deps.log.info('schedule is being swept', { schedule: schedule.name });
      else deps.log.error('schedule failed', { schedule: schedule.name, error });
    }
  }
  return { started };
}

/** Returns true if a schedule has something to start besides future ticks. */
export async function isScheduleWaiting(deps: Deps, schedule: Schedule): Promise<boolean> {
  const state = await deps.store.schedules.read(schedule.name);
  if (state.starting !== undefined) return true;
  if (state.waitingTickAtMs === undefined || state.pausedAtMs !== undefined) return false;
  return (await runUnderWay(deps, state.runId)) === undefined;
}

/** Thrown if another process has changed the schedule since it was read. */
class OtherSweep extends Error {}

/** Sweep of one schedule. */
class Sweep {
  readonly #deps: Deps;
  readonly #schedule: Schedule;
  readonly #nowMs: EpochMs;
  #state: ScheduleState;
  #started = 0;

  constructor(deps: Deps, schedule: Schedule, state: ScheduleState) {
    this.#deps = deps;
    this.#schedule = schedule;
    this.#state = state;
    this.#nowMs = deps.clock.nowMs();
  }

  /** Returns how many runs it has started. */
  async run(): Promise<number> {
    // A newly deployed schedule starts with its next tick, not with earlier ones.
    if (this.#state.revision === 0 && this.#state.tickAtMs === undefined)
      await this.#save({ fromMs: this.#nowMs - sweepIntervalMs });
    if (this.#state.starting !== undefined) await this.#startAgain(this.#state.starting);
    if (this.#state.pausedAtMs !== undefined) return this.#started;
    const { waitingTickAtMs } = this.#state;
    if (waitingTickAtMs !== undefined && (await runUnderWay(this.#deps, this.#state.runId)) === undefined) {
      await this.#start(waitingTickAtMs, { waitingTickAtMs: undefined });
    }
    for (const tickAtMs of await this.#dueTicks()) await this.#tick(tickAtMs);
    return this.#started;
  }

  async #dueTicks(): Promise<readonly EpochMs[]> {
    const { fromMs = 0, tickAtMs = 0 } = this.#state;
    const ticks: EpochMs[] = [];
    let at = await this.#schedule.nextAfterMs(Math.max(fromMs, tickAtMs, this.#nowMs - this.#schedule.catchUpMs));
    while (at !== undefined && at <= this.#nowMs && ticks.length < ticksPerSweep) {
      ticks.push(at);
      at = await this.#schedule.nextAfterMs(at);
    }
    return ticks;
  }

  async #tick(tickAtMs: EpochMs): Promise<void> {
    const { overlap, name } = this.#schedule;
    if (overlap === 'allow') return this.#start(tickAtMs, { tickAtMs });
    const { waitingTickAtMs } = this.#state;
    const runId = await runUnderWay(this.#deps, this.#state.runId);
    // A waiting tick goes before later ones.
    const isBehind = overlap === 'buffer' && waitingTickAtMs !== undefined;
    if (runId === undefined && !isBehind) return this.#start(tickAtMs, { tickAtMs });
    switch (overlap) {
      case 'buffer':
        if (!isBehind) return this.#save({ tickAtMs, waitingTickAtMs: tickAtMs });
        break;
      case 'cancel':
      case 'terminate':
        if (runId !== undefined) await this.#stop(runId, overlap);
        return this.#start(tickAtMs, { tickAtMs });
      case 'skip':
        break;
    }
    this.#deps.log.info('tick skipped: the previous run is still under way', { schedule: name });
    return this.#save({ tickAtMs });
  }

  async #stop(runId: RunId, kind: 'cancel' | 'terminate'): Promise<void> {
    const reason = 'the next tick of its schedule came';
    await askToStop(this.#deps, { runId, kind, requestId: 'next-tick', reason });
  }

  async #start(tickAtMs: EpochMs, change: Change): Promise<void> {
    await this.#save({ ...change, starting: { tickAtMs, sinceMs: this.#nowMs } });
    await this.#startRun(tickAtMs);
  }

  /**
   * Repeats a start that an earlier sweep recorded but did not complete: its process died, or the start was refused.
   */
  async #startAgain({ tickAtMs, sinceMs }: NonNullable<ScheduleState['starting']>): Promise<void> {
    try {
      await this.#startRun(tickAtMs);
    } catch (error) {
      if (error instanceof OtherSweep || this.#nowMs - sinceMs < this.#schedule.catchUpMs) throw error;
      // A store that failed for that long says nothing about the tick.
      if (hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN')) throw error;
      const tick = new Date(tickAtMs).toISOString();
      this.#deps.log.error('tick given up: its run cannot be started', { schedule: this.#schedule.name, tick, error });
      await this.#save({ starting: undefined });
    }
  }

  async #startRun(tickAtMs: EpochMs): Promise<void> {
    const { name, workflow, input } = this.#schedule;
    const tick = new Date(tickAtMs).toISOString();
    const delayMs = tickAtMs + this.#jitterMs(tick) - this.#nowMs;
    const { runId } = await startUnderOwnKey(this.#deps, {
      workflow: workflow.name,
      key: `schedule ${name} ${tick}`,
      ...defined({ input, delayMs: delayMs > 0 ? delayMs : undefined }),
      tags: { schedule: name, tick },
    });
    this.#started += 1;
    await this.#save({ runId, starting: undefined });
  }

  /** Returns the same jitter for every sweep that starts this tick. */
  #jitterMs(tick: string): number {
    const { name, jitterMs } = this.#schedule;
    if (jitterMs === 0) return 0;
    const share = Number.parseInt(this.#deps.digest(`jitter ${name} ${tick}`).slice(0, 8), 16) / 2 ** 32;
    return Math.floor(share * jitterMs);
  }

  async #save(change: Change): Promise<void> {
    const next = await this.#deps.store.schedules.save(this.#schedule.name, changed(this.#state, change));
    if (next === undefined) throw new OtherSweep('the schedule has been changed');
    this.#state = next;
  }
}

/** Fields to set; `undefined` removes one. */
type Change = { readonly [Field in Exclude<keyof ScheduleState, 'revision'>]?: ScheduleState[Field] | undefined };

/** Returns `state` with fields set or removed; the revision stays, for the write that puts it. */
export function changed(state: ScheduleState, change: Change): ScheduleState {
  const fields = Object.entries({ ...state, ...change }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields) as unknown as ScheduleState;
}

/** Returns the last run of the chain of `runId`, if it is under way. */
async function runUnderWay(deps: Deps, runId: RunId | undefined): Promise<RunId | undefined> {
  const chain = runId === undefined ? undefined : await chainOf(deps, runId);
  return chain?.isUnderWay === true ? chain.head.runId : undefined;
}
