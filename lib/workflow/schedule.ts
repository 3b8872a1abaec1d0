import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { durationToMs, type Duration } from '../base/time.js';
import type { AnyWorkflow } from './define-workflow.js';

/** What happens at a tick while the run of the tick before it is still under way. */
export type OverlapPolicy = 'skip' | 'buffer' | 'allow' | 'cancel' | 'terminate';

const overlapPolicies = ['skip', 'buffer', 'allow', 'cancel', 'terminate'] as const satisfies readonly OverlapPolicy[];

/** What each schedule takes, beside its ticks. */
export interface ScheduleOptions {
  /** Letters, digits, `.`, `_`, `-`, at most 64. Part of the id of each tick: renaming a schedule makes it another one. */
  readonly name: string;
  readonly workflow: AnyWorkflow;
  readonly input?: JsonValue;
  /**
   * Default `skip`: the tick is left out. `buffer`: one tick waits and starts within a minute of the end of the run
   * before it; further ones are left out. `allow`: both run. `cancel`, `terminate`: the older run is asked to stop, the
   * new one starts.
   */
  readonly overlap?: OverlapPolicy;
  /** Ticks that nothing was there to start are made up for this long; default `{ minutes: 10 }`, at most 24 hours. */
  readonly catchUp?: Duration;
  /**
   * Each run begins up to this long after its tick, by an amount that is a function of schedule and tick: many schedules
   * of one instant do not all begin in it. Default none, at most 24 hours.
   */
  readonly jitter?: Duration;
}

export type ScheduleConfig = ScheduleOptions &
  (
    | {
        /**
         * Five fields, to the minute, such as `0 2 * * *`. Where clocks change, a fixed hour (no `*` or step in its field)
         * comes once a day: a time that is left out runs at the first instant after it, one that comes twice the first
         * time. Other hours run as often as they really come.
         */
        readonly cron: string;
        /** IANA name; default UTC. */
        readonly timeZone?: string;
      }
    | {
        /** Whole minutes, counted from 1970, so that every replica counts the same. */
        readonly every: Duration;
      }
  );

export interface Schedule {
  readonly name: string;
  readonly workflow: AnyWorkflow;
  readonly input: JsonValue | undefined;
  readonly overlap: OverlapPolicy;
  readonly catchUpMs: number;
  readonly jitterMs: number;
  /** The first tick after an instant; undefined when there is none. Throws `CONFIG_INVALID` as `checkSchedules` does. */
  nextAfterMs(atMs: number): Promise<number | undefined>;
}

const minuteMs = 60_000;
const catchUpMaxMs = 24 * 60 * minuteMs;
const jitterMaxMs = 24 * 60 * minuteMs;
const scheduleName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Checks all but what `checkSchedules` does. @throws EngineError `CONFIG_INVALID` */
export function defineSchedule(config: ScheduleConfig): Schedule {
  const { name, workflow, input, overlap = 'skip', catchUp, jitter } = config;
  if (!scheduleName.test(name)) throw invalid(`"${name}" must be letters, digits, ".", "_" or "-", at most 64`);
  const catchUpMs = catchUp === undefined ? 10 * minuteMs : toMs(catchUp, `schedule "${name}": catchUp`);
  if (catchUpMs > catchUpMaxMs) throw invalid(`"${name}": catchUp is at most 24 hours`);
  const jitterMs = jitter === undefined ? 0 : toMs(jitter, `schedule "${name}": jitter`);
  if (jitterMs > jitterMaxMs) throw invalid(`"${name}": jitter is at most 24 hours`);
  if (!overlapPolicies.includes(overlap))
    throw invalid(`"${name}": overlap must be one of ${overlapPolicies.join(', ')}, got "${overlap}"`);
  const nextAfterMs =
    'cron' in config ? cronTicks(name, config.cron, config.timeZone) : intervalTicks(name, config.every);
  return { name, workflow, input, overlap, catchUpMs, jitterMs, nextAfterMs };
}

function cronTicks(name: string, pattern: string, timeZone = 'UTC'): Schedule['nextAfterMs'] {
  if (pattern.trim().split(/\s+/).length !== 5)
    throw invalid(`"${name}": cron must have five fields, to the minute, got "${pattern}"`);
  if (!isTimeZone(timeZone)) throw invalid(`"${name}": timeZone must be an IANA name, got "${timeZone}"`);
  let next: ReturnType<typeof openCron> | undefined;
  return async (atMs) => (await (next ??= openCron(name, pattern, timeZone)))(atMs);
}

function isTimeZone(name: string): boolean {
  if (name === 'UTC') return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Loads the library now: of the functions of a deployment, those that run workflows never ask when the next tick is. */
async function openCron(name: string, pattern: string, timeZone: string) {
  const { Cron } = await import('croner');
  try {
    const cron = new Cron(withFixedMinutes(pattern), { timezone: timeZone, fixedTimeRule: 'no-wildcard' });
    return (atMs: number) => cron.nextRun(new Date(atMs))?.getTime();
  } catch (error) {
    throw invalid(`"${name}": ${error instanceof Error ? error.message : 'cron is not valid'}`);
  }
}

/**
 * The library takes a pattern for fixed times if no field has a wildcard or a step. What says how often a time comes when
 * the clocks change is the hour, so the minutes of a fixed hour are written out: `*\/30 2` is `0,30 2`.
 */
function withFixedMinutes(pattern: string): string {
  const [minutes = '', hours = '', ...days] = pattern.trim().split(/\s+/);
  if (/[*?/]/.test(hours)) return pattern;
  return [minutes.split(',').map(writtenOut).join(','), hours, ...days].join(' ');
}

/** A wildcard or a range of minutes, with its step, as a list; anything else as it is. */
function writtenOut(part: string): string {
  const [, all, from, to, step] = /^(?:([*?])|([0-9]{1,2})-([0-9]{1,2}))(?:\/([0-9]{1,2}))?$/.exec(part) ?? [];
  const first = all === undefined ? Number(from) : 0;
  const last = all === undefined ? Number(to) : 59;
  const by = Number(step ?? 1);
  // What does not fit is for the library to refuse.
  if (!(first <= last && last <= 59 && by >= 1)) return part;
  return Array.from({ length: Math.floor((last - first) / by) + 1 }, (_, at) => first + at * by).join(',');
}

/**
 * Reads the patterns of `cron`.
 * @throws EngineError `CONFIG_INVALID` that names the first schedule whose pattern is wrong, or means no day that there is
 */
export async function checkSchedules(schedules: readonly Schedule[]): Promise<void> {
  for (const schedule of schedules) {
    if ((await schedule.nextAfterMs(0)) === undefined)
      throw invalid(`"${schedule.name}": cron has no tick, such as the 31st of a month of 30 days`);
  }
}

function intervalTicks(name: string, every: Duration): Schedule['nextAfterMs'] {
  const everyMs = toMs(every, `schedule "${name}": every`);
  if (everyMs < minuteMs || everyMs % minuteMs !== 0)
    throw invalid(`"${name}": every must be whole minutes, at least one`);
  return async (atMs) => (Math.floor(atMs / everyMs) + 1) * everyMs;
}

function toMs(duration: Duration, what: string): number {
  try {
    return durationToMs(duration, what);
  } catch (error) {
    throw new EngineError('CONFIG_INVALID', error instanceof Error ? error.message : `${what} is not a duration`);
  }
}

function invalid(message: string): EngineError {
  return new EngineError('CONFIG_INVALID', `schedule ${message}`);
}
