import { EngineError } from '../../base/errors.js';
import type { EpochMs } from '../../base/time.js';
import type { PollMessage } from '../../queue/queue.js';
import type { Deps } from '../deps.js';

/** Shortest time between two pokes that one process sends for one task. */
const pokeIntervalMs = 1_000;
/** Most tasks whose last poke is remembered. */
const rememberedMax = 10_000;

/** The last poke for a task: when it was sent, and before when it surely was not delivered. */
interface Poke {
  readonly sentAtMs: EpochMs;
  readonly notBeforeMs: EpochMs;
}

/** Last pokes of this process, by queue and task. */
const pokes = new WeakMap<Deps['queues'], Map<string, Poke>>();

/**
 * Sends a poke, at most one a second for each task and process: the next one is delayed, and covers all that come before
 * the queue delivers it. So no write is needed, and a poke is never dropped for one that may have been delivered.
 * @throws EngineError `STORE_UNAVAILABLE` if the queue does not take it
 */
export async function pokeTask(deps: Deps, message: PollMessage): Promise<void> {
  const { runId, waitId, saidEnded } = message;
  const ofQueue = pokes.get(deps.queues) ?? new Map<string, Poke>();
  pokes.set(deps.queues, ofQueue);
  // A poke after the end reads more often, so another one does not cover it.
  const key = `${runId}.${waitId}${saidEnded === true ? '.ended' : ''}`;
  const last = ofQueue.get(key);
  const nowMs = deps.clock.nowMs();
  if (last !== undefined && nowMs < last.notBeforeMs) return;
  const delayMs = last !== undefined && nowMs - last.sentAtMs < pokeIntervalMs ? pokeIntervalMs : 0;
  try {
    await deps.queues.sendWork(message, delayMs);
  } catch (error) {
    throw new EngineError('STORE_UNAVAILABLE', 'the push cannot be passed on now', { cause: error });
  }
  // Last in order, so that the first one is the oldest.
  ofQueue.delete(key);
  ofQueue.set(key, { sentAtMs: nowMs, notBeforeMs: nowMs + delayMs });
  for (const [oldest] of ofQueue) {
    if (ofQueue.size <= rememberedMax) break;
    ofQueue.delete(oldest);
  }
}
