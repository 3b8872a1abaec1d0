import { dueShards, queueDelayMaxMs, sweepIntervalMs } from '../base/limits.js';
import type { RunId } from '../base/ids.js';
import type { DueEntry } from '../store/records.js';
import type { Deps } from './deps.js';
import { wakeRun, wakeRunAt } from './wake.js';

const pageSize = 500;

/**
 * The sweep: reads the due index and turns what is due by the next sweep into messages. It is what makes every other
 * message a mere hint. Sends one wake per run and minute; reads of remote tasks are delayed to their due instant.
 */
export async function fanOutDue(deps: Deps): Promise<{ readonly wakes: number; readonly polls: number }> {
  const nowMs = deps.clock.nowMs();
  const shards = await Promise.all(Array.from({ length: dueShards }, (_, shard) => sweepShard(deps, shard, nowMs)));
  return shards.reduce((sum, shard) => ({ wakes: sum.wakes + shard.wakes, polls: sum.polls + shard.polls }), {
    wakes: 0,
    polls: 0,
  });
}

async function sweepShard(deps: Deps, shard: number, nowMs: number): Promise<{ wakes: number; polls: number }> {
  const woken = new Set<RunId>();
  let polls = 0;
  let cursor: string | undefined;
  do {
    const page = await deps.store.listDue(shard, nowMs + sweepIntervalMs, pageSize, cursor);
    for (const entry of page.rows) {
      if (entry.kind === 'token' && !entry.settled) {
        await sendPoll(deps, entry, nowMs);
        polls++;
      } else if (entry.dueAtMs > nowMs) {
        await wakeRunAt(deps, entry.runId, entry.dueAtMs);
      } else if (!woken.has(entry.runId)) {
        woken.add(entry.runId);
        // One sweep wake per run and minute, however often the schedule fires.
        await wakeRun(deps, entry.runId, `sweep-${entry.runId}-${Math.floor(nowMs / sweepIntervalMs)}`);
      }
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { wakes: woken.size, polls };
}

async function sendPoll(deps: Deps, entry: Extract<DueEntry, { kind: 'token' }>, nowMs: number): Promise<void> {
  const { runId, waitId, dueAtMs } = entry;
  try {
    await deps.queues.sendWork(
      { kind: 'poll', runId, waitId, dueAtMs },
      Math.min(Math.max(0, dueAtMs - nowMs), queueDelayMaxMs),
    );
  } catch (error) {
    deps.log.warn('poll not sent', { runId, error });
  }
}
