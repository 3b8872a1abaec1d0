import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { durationToMs, type Duration } from '../base/time.js';
import { configName } from './config-name.js';
import type { AnyValue, AnyWorkflow, Workflow } from './define-workflow.js';

/** Reaction to a tick if the run of the previous tick has not ended. */
export type OverlapPolicy = 'skip' | 'buffer' | 'allow' | 'cancel' | 'terminate';

const overlapPolicies = ['skip', 'buffer', 'allow', 'cancel', 'terminate'] as const satisfies readonly OverlapPolicy[];

/** Options of a schedule, except for its times. */
export interface ScheduleOptions<Given = AnyValue> {
  /** At most 64 letters, digits, `.`, `_` and `-`. Part of the id of each tick: a renamed schedule is a new one. */
  readonly name: string;
  readonly workflow: Workflow<AnyValue, unknown, Given>;
  /** The input of each run. */
  readonly input?: NoInfer<Given>;
  /**
   * Default `skip`: the tick is skipped. `buffer`: one tick waits, and starts within a minute of the end of the
   * previous run; further ticks are skipped. `allow`: both run. `cancel`, `terminate`: the older run is asked to stop,
   * and the new one starts.
   */
  readonly overlap?: OverlapPolicy;
  /**
   * How late a missed tick may still start, for example after an outage; default `{ minutes: 10 }`, at most 24 hours.
   */
  readonly catchUp?: Duration;
  /**
   * Longest delay of a run after its tick, so that many schedules of one instant do not all start at once. The delay
   * depends only on the schedule and the tick. Default: none; at most 24 hours.
   */
  readonly jitter?: Duration;
}

export type ScheduleConfig<Given = AnyValue> = ScheduleOptions<Given> &
  (
    | {
        /**
         * Five fields, to the minute, such as `0 2 * * *`. If clocks change, a fixed hour (no `*` or step in its field)
         * runs once a day: a time that is skipped runs at the first instant after it, a time that occurs twice runs the
         * first time. Other hours run as often as they occur.
         */
        readonly cron: string;
        /** IANA name; default UTC. */
        readonly timeZone?: string;
      }
    | {
        /** Interval in whole minutes, counted from 1970, so that every replica counts the same. */
        readonly every: Duration;
      }
  );

/** A checked schedule. */
export interface Schedule {
  readonly name: string;
  readonly workflow: AnyWorkflow;
  readonly input: JsonValue | undefined;
  readonly overlap: OverlapPolicy;
  readonly catchUpMs: number;
  readonly jitterMs: number;
  /**
   * Returns the first tick after an instant, or undefined if there is none. Throws `CONFIG_INVALID` like
   * `checkSchedules`.
   */
  nextAfterMs(atMs: number): Promise<number | undefined>;
}

const minuteMs = 60_000;
const catchUpMaxMs = 24 * 60 * minuteMs;
const jitterMaxMs = 24 * 60 * minuteMs;
/** Checks a schedule, except for its cron pattern (see `checkSchedules`). @throws EngineError `CONFIG_INVALID` */
export function defineSchedule(config: ScheduleConfig<JsonValue>): Schedule {
  const { name, workflow, input, overlap = 'skip', catchUp, jitter } = config;
  if (!configName.test(name)) throw invalid(`"${name}" must be letters, digits, ".", "_" or "-", at most 64`);
  const catchUpMs = catchUp === undefined ? 10 * minuteMs : toMs(catchUp, `schedule "${name}": catchUp`);
  if (catchUpMs > catchUpMaxMs) throw invalid(`"${name}": catchUp must be at most 24 hours`);
  const jitterMs = jitter === undefined ? 0 : toMs(jitter, `schedule "${name}": jitter`);
  if (jitterMs > jitterMaxMs) throw invalid(`"${name}": jitter must be at most 24 hours`);
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

/** Loads the library on demand: the functions that run workflows never need the next tick. */
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
 * Writes the minutes of a fixed hour out as a list: `*\/30 2` becomes `0,30 2`. The library treats a pattern as fixed
 * times only if no field has a wildcard or a step, but only the hour should decide what a change of the clocks does.
 */
function withFixedMinutes(pattern: string): string {
  const [minutes = '', hours = '', ...days] = pattern.trim().split(/\s+/);
  if (/[*?/]/.test(hours)) return pattern;
  return [minutes.split(',').map(writtenOut).join(','), hours, ...days].join(' ');
}

/** Returns a wildcard or a range of minutes, with its step, as a list; anything else unchanged. */
function writtenOut(part: string): string {
  const [, all, from, to, step] = /^(?:([*?])|([0-9]{1,2})-([0-9]{1,2}))(?:\/([0-9]{1,2}))?$/.exec(part) ?? [];
  const first = all === undefined ? Number(from) : 0;
  const last = all === undefined ? Number(to) : 59;
  const by = Number(step ?? 1);
  // The library refuses what is invalid.
  if (!(first <= last && last <= 59 && by >= 1)) return part;
  return Array.from({ length: Math.floor((last - first) / by) + 1 }, (_, at) => first + at * by).join(',');
}

/**
 * Checks the patterns of `cron`.
 * @throws EngineError `CONFIG_INVALID`: names the first schedule whose pattern is invalid or never matches a date
 */
export async function checkSchedules(schedules: readonly Schedule[]): Promise<void> {
  for (const schedule of schedules) {
    if ((await schedule.nextAfterMs(0)) === undefined)
      throw invalid(`"${schedule.name}": cron never matches a date, for example the 31st of a 30-day month`);
  }
}

function intervalTicks(name: string, every: Duration): Schedule['nextAfterMs'] {
  const everyMs = toMs(every, `schedule "${name}": every`);
  if (everyMs < minuteMs || everyMs % minuteMs !== 0)
    throw invalid(`"${name}": every must be a whole number of minutes, at least one`);
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
