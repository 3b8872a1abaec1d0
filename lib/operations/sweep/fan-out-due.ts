import { defined } from '../../base/defined.js';
import { queueDelayMaxMs, startPatienceMs, startTakeMs, sweepIntervalMs } from '../../base/limits.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { PushMessage, StartMessage } from '../../queue/queue.js';
import type { DueEntry } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { pushAt, startNow, stepAt, wakeRun, wakeRunAt } from '../wake.js';

const pageSize = 500;

interface Swept {
  readonly wakes: number;
  readonly polls: number;
  /** Attempts of long steps. */
  readonly steps: number;
  /** How long the oldest due entry had been due; 0 if there was none. */
  readonly oldestDueAgeMs: number;
}

/**
 * The sweep: reads the due index and sends messages for everything due by the next sweep. Because of it every other
 * message is only a hint. Sends one wake per run and minute; reads of remote tasks and attempts of long steps are
 * delayed to their due instant. A shard that cannot be read does not stop the others: its error is thrown after all are
 * done. `atBoot`: this process is the only one of its table and has just started. A read that is claimed for the next
 * minute was then claimed by a process that died, so it is made now; so is a start that a worker has claimed, however
 * long its answer may take.
 */
export async function fanOutDue(deps: Deps, options: { readonly atBoot?: boolean } = {}): Promise<Swept> {
  const atBoot = options.atBoot ?? false;
  const nowMs = deps.clock.nowMs();
  const own = deps.store.dueShards;
  return together([
    sweepShards(deps, { from: 0, until: own, atBoot }, nowMs),
    // Markers of processes that are, or once were, configured with more shards.
    deps.store.lists.readDueShards().then((until) => sweepShards(deps, { from: own, until, atBoot }, nowMs)),
  ]);
}

function sweepShards(
  deps: Deps,
  { from, until, atBoot }: { readonly from: number; readonly until: number; readonly atBoot: boolean },
  nowMs: EpochMs,
): Promise<Swept> {
  return together(Array.from({ length: until - from }, (_, at) => sweepShard(deps, from + at, nowMs, atBoot)));
}

/** Sums the parts. Waits for all of them, even if one fails. */
async function together(parts: readonly Promise<Swept>[]): Promise<Swept> {
  const settled = await Promise.allSettled(parts);
  const failed = settled.find((part) => part.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.reduce(
    (sum, part) =>
      part.status === 'rejected'
        ? sum
        : {
            wakes: sum.wakes + part.value.wakes,
            polls: sum.polls + part.value.polls,
            steps: sum.steps + part.value.steps,
            oldestDueAgeMs: Math.max(sum.oldestDueAgeMs, part.value.oldestDueAgeMs),
          },
    { wakes: 0, polls: 0, steps: 0, oldestDueAgeMs: 0 },
  );
}

async function sweepShard(deps: Deps, shard: number, nowMs: EpochMs, atBoot: boolean): Promise<Swept> {
  const woken = new Set<RunId>();
  let polls = 0;
  let steps = 0;
  let oldestDueAgeMs = 0;
  let cursor: string | undefined;
  const untilMs = nowMs + (atBoot ? Math.max(sweepIntervalMs, startPatienceMs + startTakeMs) : sweepIntervalMs);
  do {
    const page = await deps.store.lists.due(shard, untilMs, pageSize, cursor);
    // In parallel, so that the queues can send many in one request.
    const sends: Promise<void>[] = [];
    for (const entry of page.rows) {
      oldestDueAgeMs = Math.max(oldestDueAgeMs, nowMs - entry.dueAtMs);
      if (entry.kind === 'push') sends.push(pushAt(deps, pushOf(entry), entry.dueAtMs));
      else if (entry.dueAtMs > nowMs + sweepIntervalMs) {
        // The receiver drops the message if no worker has the start of this wait.
        if (entry.kind === 'token' && !entry.settled && !entry.isLongStep) sends.push(startNow(deps, startOf(entry)));
      } else if (entry.kind === 'token' && !entry.settled && entry.isLongStep) {
        sends.push(stepAt(deps, { runId: entry.runId, waitId: entry.waitId, dueAtMs: entry.dueAtMs }, entry.dueAtMs));
        steps++;
      } else if (entry.kind === 'token' && !entry.settled) {
        sends.push(sendPoll(deps, entry, atBoot ? entry.dueAtMs : nowMs));
        polls++;
      } else if (entry.dueAtMs > nowMs) {
        sends.push(wakeRunAt(deps, entry.runId, entry.dueAtMs));
      } else if (!woken.has(entry.runId)) {
        woken.add(entry.runId);
        // Sends one sweep wake per run and minute, however often the schedule fires.
        sends.push(wakeRun(deps, entry.runId, `sweep-${entry.runId}-${Math.floor(nowMs / sweepIntervalMs)}`));
      }
    }
    await Promise.all(sends);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { wakes: woken.size, polls, steps, oldestDueAgeMs };
}

function pushOf({ runId, configId }: Extract<DueEntry, { kind: 'push' }>): PushMessage {
  return { kind: 'push', runId, configId };
}

function startOf({ runId, waitId, dueAtMs }: Extract<DueEntry, { kind: 'token' }>): StartMessage {
  return { kind: 'start', runId, waitId, dueAtMs };
}

async function sendPoll(deps: Deps, entry: Extract<DueEntry, { kind: 'token' }>, nowMs: number): Promise<void> {
  const { runId, waitId, server, dueAtMs } = entry;
  try {
    await deps.queues.sendWork(
      { kind: 'poll', runId, waitId, ...defined({ server }), dueAtMs },
      Math.min(Math.max(0, dueAtMs - nowMs), queueDelayMaxMs),
    );
  } catch (error) {
    deps.log.warn('poll not sent', { runId, error });
  }
}
