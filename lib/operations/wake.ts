import { defined } from '../base/defined.js';
import type { RunId } from '../base/ids.js';
import { delayedMessageMaxMs, queueDelayMaxMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type {
  News,
  PollMessage,
  PushMessage,
  StartMessage,
  StepMessage,
  TurnMessage,
  UnharmedStart,
  WorkMessage,
} from '../queue/queue.js';
import type { Deps } from './deps.js';

type Notifier = Pick<Deps, 'queues' | 'random' | 'clock' | 'log'>;

/**
 * Asks for a turn. A wake is a hint: what made it necessary is already committed, with a marker, so a failed send is
 * logged and the next sweep makes up for it. The dedup id is fresh: SQS must not drop this wake for an earlier one.
 */
export async function wakeRun(deps: Notifier, runId: RunId, dedupId: string = deps.random.hex(16)): Promise<void> {
  await sendTurn(deps, { runId }, dedupId);
}

/** Asks for a turn that takes in what has just come. */
export async function wakeRunFor(deps: Notifier, runId: RunId, news: News): Promise<void> {
  await sendTurn(deps, { runId, news: [news] }, deps.random.hex(16));
}

/** Asks for a turn in place of this one, which is short of time; `unharmed`: starts that it logged but did not make. */
export async function wakeForRest(deps: Notifier, runId: RunId, unharmed: readonly UnharmedStart[]): Promise<void> {
  await sendTurn(
    deps,
    { runId, ...defined({ unharmed: unharmed.length === 0 ? undefined : unharmed }) },
    deps.random.hex(16),
  );
}

/**
 * Asks for a turn in place of one that gives up.
 * @throws what the queue throws: then this turn's message must come again
 */
export async function handOver(deps: Notifier, runId: RunId, unharmed: readonly UnharmedStart[]): Promise<void> {
  await deps.queues.sendTurn(
    { runId, ...defined({ unharmed: unharmed.length === 0 ? undefined : unharmed }) },
    deps.random.hex(16),
  );
}

/**
 * Asks for a turn that looks at what is due, without news. The turn queue deduplicates wakes for one due instant: one
 * turn sees all that is due.
 */
export async function wakeRunForDue(deps: Notifier, runId: RunId, dueAtMs: EpochMs): Promise<void> {
  await sendTurn(deps, { runId, news: [] }, `due-${runId}-${dueAtMs}`);
}

async function sendTurn(deps: Notifier, message: TurnMessage, dedupId: string): Promise<void> {
  try {
    await deps.queues.sendTurn(message, dedupId);
  } catch (error) {
    deps.log.warn('wake not sent', { runId: message.runId, error });
  }
}

/** Asks for a turn at `dueAtMs`, if that is soon; later instants are left to the sweep. */
export async function wakeRunAt(deps: Notifier, runId: RunId, dueAtMs: EpochMs): Promise<void> {
  await sendSoon(deps, { kind: 'wake', runId, dueAtMs }, dueAtMs);
}

/** Asks a worker for an attempt of a long step at `atMs`, if that is soon. */
export async function stepAt(deps: Notifier, message: StepMessage, atMs: EpochMs): Promise<void> {
  await soon(deps, { runId: message.runId, kind: 'step', atMs }, (delayMs) => deps.queues.sendStep(message, delayMs));
}

/** Asks a worker to make a start of a remote task now. */
export async function startNow(deps: Notifier, message: StartMessage): Promise<void> {
  const { runId, kind } = message;
  await soon(deps, { runId, kind, atMs: deps.clock.nowMs() }, (delayMs) => deps.queues.sendStart(message, delayMs));
}

/** Asks for a read of the remote task at `atMs`, if that is soon. */
export async function pollAt(deps: Notifier, message: PollMessage, atMs: EpochMs): Promise<void> {
  await sendSoon(deps, message, atMs);
}

/** Asks for a read of the remote task at `atMs`, at most 15 minutes ahead, for which no sweep would ask then. */
export async function pollAhead(deps: Notifier, message: PollMessage, atMs: EpochMs): Promise<void> {
  const { runId, kind } = message;
  const send = (delayMs: number): Promise<void> => deps.queues.sendWork(message, delayMs);
  await soon(deps, { runId, kind, atMs, maxMs: queueDelayMaxMs }, send);
}

/** Asks for the pushes of a config at `atMs`, if that is soon. */
export async function pushAt(deps: Notifier, message: PushMessage, atMs: EpochMs): Promise<void> {
  await sendSoon(deps, message, atMs);
}

async function sendSoon(deps: Notifier, message: WorkMessage, atMs: EpochMs): Promise<void> {
  const { runId, kind } = message;
  await soon(deps, { runId, kind, atMs }, (delayMs) => deps.queues.sendWork(message, delayMs));
}

interface DelayedMessage {
  readonly runId: RunId;
  readonly kind: WorkMessage['kind'] | 'step' | 'start';
  readonly atMs: EpochMs;
  /** Delay above which nothing is sent, since the sweep asks. */
  readonly maxMs?: number;
}

async function soon(
  deps: Notifier,
  { runId, kind, atMs, maxMs = delayedMessageMaxMs }: DelayedMessage,
  send: (delayMs: number) => Promise<void>,
): Promise<void> {
  const delayMs = Math.max(0, atMs - deps.clock.nowMs());
  if (delayMs > maxMs) return;
  try {
    await send(delayMs);
  } catch (error) {
    deps.log.warn('delayed message not sent', { runId, kind, error });
  }
}
