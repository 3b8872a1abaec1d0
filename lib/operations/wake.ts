import type { RunId } from '../base/ids.js';
import { delayedMessageMaxMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { PollMessage, WorkMessage } from '../queue/queue.js';
import type { Deps } from './deps.js';

type Notifier = Pick<Deps, 'queues' | 'random' | 'clock' | 'log'>;

/**
 * Asks for a turn. A wake is a hint: what made it necessary is already committed, with a marker, so a send that fails is
 * logged and the next sweep makes up for it. The dedup id is fresh: SQS must not take this wake for an earlier one.
 */
export async function wakeRun(deps: Notifier, runId: RunId, dedupId: string = deps.random.hex(16)): Promise<void> {
  try {
    await deps.queues.sendTurn({ runId }, dedupId);
  } catch (error) {
    deps.log.warn('wake not sent', { runId, error });
  }
}

/** Asks for a turn at `dueAtMs`, if that is soon; later instants are the sweep's. */
export async function wakeRunAt(deps: Notifier, runId: RunId, dueAtMs: EpochMs): Promise<void> {
  await sendSoon(deps, { kind: 'wake', runId, dueAtMs }, dueAtMs);
}

/** Asks for a read of the remote task at `atMs`, if that is soon. */
export async function pollAt(deps: Notifier, message: PollMessage, atMs: EpochMs): Promise<void> {
  await sendSoon(deps, message, atMs);
}

async function sendSoon(deps: Notifier, message: WorkMessage, atMs: EpochMs): Promise<void> {
  const delayMs = Math.max(0, atMs - deps.clock.nowMs());
  if (delayMs > delayedMessageMaxMs) return;
  try {
    await deps.queues.sendWork(message, delayMs);
  } catch (error) {
    deps.log.warn('delayed message not sent', { runId: message.runId, kind: message.kind, error });
  }
}
