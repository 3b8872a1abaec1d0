import { sweepIntervalMs } from '../base/limits.js';
import type { RunId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { Schedule } from '../workflow/schedule.js';
import type { Deps } from './deps.js';
import { requestStop } from './send-to-inbox.js';
import { startRun } from './start-run.js';

/** Ticks of one schedule that one sweep makes up for; the next sweep goes on. */
const ticksPerSweep = 100;

/**
 * Starts what the clock says, once a minute. The key of each start is the tick, so a tick that two sweeps see, or that is
 * seen again after a crash, starts one run. What was started last is kept per schedule, and is only a help: it bounds
 * what is looked at, and tells the run that may still be under way.
 */
export async function tickSchedules(deps: Deps): Promise<{ readonly started: number }> {
  let started = 0;
  for (const schedule of deps.app.schedules) {
    try {
      started += await tickSchedule(deps, schedule);
    } catch (error) {
      // One schedule whose input is refused must not stop the others.
      deps.log.error('schedule failed', { schedule: schedule.name, error });
    }
  }
  return { started };
}

async function tickSchedule(deps: Deps, schedule: Schedule): Promise<number> {
  const nowMs = deps.clock.nowMs();
  const last = await deps.store.readSchedule(schedule.name);
  // A schedule that has just been deployed starts with its next tick, not with those before.
  const afterMs = last === undefined ? nowMs - sweepIntervalMs : Math.max(last.tickAtMs, nowMs - schedule.catchUpMs);
  const ticks = dueTicks(schedule, afterMs, nowMs);
  let runId = last?.runId;
  let started = 0;
  for (const tickAtMs of ticks) {
    if (await mayStart(deps, schedule, runId)) {
      runId = await startTick(deps, schedule, tickAtMs);
      started++;
    } else {
      deps.log.info('tick skipped: the run before it is under way', { schedule: schedule.name });
    }
    await deps.store.recordTick(schedule.name, { tickAtMs, ...(runId === undefined ? {} : { runId }) });
  }
  return started;
}

function dueTicks(schedule: Schedule, afterMs: EpochMs, untilMs: EpochMs): readonly EpochMs[] {
  const ticks: EpochMs[] = [];
  for (
    let at = schedule.nextAfterMs(afterMs);
    at !== undefined && at <= untilMs && ticks.length < ticksPerSweep;
    at = schedule.nextAfterMs(at)
  ) {
    ticks.push(at);
  }
  return ticks;
}

async function mayStart(deps: Deps, { overlap }: Schedule, lastRunId: RunId | undefined): Promise<boolean> {
  if (overlap === 'allow' || lastRunId === undefined) return true;
  const head = await deps.store.readHead(lastRunId);
  const isUnderWay = head?.status === 'running' || head?.status === 'ending';
  if (!isUnderWay) return true;
  if (overlap === 'skip') return false;
  await requestStop(deps, {
    runId: lastRunId,
    kind: overlap,
    requestId: 'next-tick',
    reason: 'the next tick of its schedule came',
  });
  return true;
}

async function startTick(deps: Deps, schedule: Schedule, tickAtMs: EpochMs): Promise<RunId> {
  const tick = new Date(tickAtMs).toISOString();
  const { runId } = await startRun(deps, {
    workflow: schedule.workflow.name,
    key: `schedule ${schedule.name} ${tick}`,
    ...(schedule.input === undefined ? {} : { input: schedule.input }),
    tags: { schedule: schedule.name, tick },
  });
  return runId;
}
