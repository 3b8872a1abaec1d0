import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import { sideRequestTimeoutMs, turnReserveMs } from '../../base/limits.js';
import { nextPollAtMs, pollHint } from '../../decide/poll.js';
import { changedTrail } from '../../decide/task-trail.js';
import { boundedQuestions } from '../../decide/questions.js';
import type { RemoteClosePolicy, RemoteTaskHandle } from '../../history/event.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { RemoteQuestion, RemoteTaskTransport } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { Settlement, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { whenRead } from '../admission.js';
import { isStoreFailure, lastTries, type Persist } from '../persist.js';
import { pollAt } from '../wake.js';

export interface KnownTask {
  readonly runId: RunId;
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  readonly transport: RemoteTaskTransport;
  /** Whether the next owner can find the task: its server deduplicates starts, or can be asked for the task. */
  readonly isFoundAgain: boolean;
  /** The token before the start. */
  readonly token: TokenRecord;
  readonly persist: Persist;
  /** Whether a worker made the start. Its cancel is recorded, so that end effects do not repeat the start. */
  readonly byWorker?: boolean;
}

interface TaskReply {
  readonly handle: RemoteTaskHandle;
  /** 0: the task has already ended and only its result is missing. */
  readonly pollAfterMs?: number;
  readonly state?: string;
  readonly note?: string;
  readonly progress?: number;
  readonly total?: number;
  readonly questions?: readonly RemoteQuestion[];
}

/**
 * Stores the handle of a started task, which makes it the task of the wait, and schedules its first read. If the wait
 * was closed meanwhile, the handle cannot be stored: the task is cancelled, unless the call leaves it running. `found`:
 * the task was looked for, so a handle that was stored meanwhile stays. Returns the current token.
 */
export async function recordHandle(
  deps: Deps,
  task: KnownTask,
  reply: TaskReply,
  options: { readonly found?: boolean } = {},
): Promise<TokenRecord> {
  const { runId, wait, command, token } = task;
  const nowMs = deps.clock.nowMs();
  const { pollAfterMs: hintMs, questions, state } = reply;
  const wantedAtMs = hintMs === 0 ? nowMs : nextPollAtMs({ ...token, deadlineAtMs: wait.deadlineAtMs }, nowMs, hintMs);
  const dueAtMs = Math.min(await whenRead(deps, command.server, wantedAtMs), wait.deadlineAtMs);
  const { stored, token: now } = await storeHandle(deps, task, {
    handle: reply.handle,
    startedAtMs: nowMs,
    dueAtMs,
    ...defined({
      pollHintMs: hintMs === undefined || hintMs === 0 ? undefined : pollHint(hintMs),
      questions:
        command.answersQuestions && questions !== undefined ? { list: boundedQuestions(questions) } : undefined,
      trail: state === undefined ? undefined : changedTrail(undefined, { ...reply, state }, nowMs),
      onlyWithoutHandle: options.found === true ? true : undefined,
    }),
  });
  if (stored)
    await pollAt(deps, { kind: 'poll', runId, waitId: wait.waitId, server: command.server, dueAtMs }, dueAtMs);
  // The handle is stored: only the store's answer was lost. The process that ended the wait stops the task.
  else if (now?.handle?.taskId === reply.handle.taskId) return now;
  else if (options.found !== true || now?.settlement !== undefined)
    await dropUnwanted(deps, task, reply.handle, now?.settlement);
  return now ?? token;
}

/**
 * Stores the handle, which only this process knows: retries a failing store as long as there is time. If it keeps
 * failing, a task that the next owner can find is left running; any other is cancelled.
 */
async function storeHandle(
  deps: Deps,
  { runId, wait, command, transport, isFoundAgain, persist }: KnownTask,
  started: Parameters<Deps['store']['starts']['storeHandle']>[2],
): ReturnType<Deps['store']['starts']['storeHandle']> {
  try {
    const needsMs = isFoundAgain ? turnReserveMs : turnReserveMs + sideRequestTimeoutMs;
    return await persist(() => deps.store.starts.storeHandle(runId, wait.waitId, started), needsMs, lastTries);
  } catch (error) {
    const isLost = !(isFoundAgain && isStoreFailure(error));
    const reply = isLost && command.onCancel === 'cancel' ? await transport.cancel(started.handle) : undefined;
    deps.log.error('remote task not recorded: the store did not take its handle', {
      runId,
      server: command.server,
      foundAgain: !isLost,
      cancelled: reply?.kind === 'done',
    });
    throw error;
  }
}

/**
 * Cancels a task whose wait was closed during its start. If that fails, the handle is left for the run's end effects.
 */
async function dropUnwanted(
  deps: Deps,
  { runId, wait, command, transport, persist, byWorker }: KnownTask,
  handle: RemoteTaskHandle,
  settlement: Settlement | undefined,
): Promise<void> {
  const policy: RemoteClosePolicy = settlement?.outcome.kind === 'timed_out' ? command.onTimeout : command.onCancel;
  const reply = policy === 'cancel' ? await transport.cancel(handle) : undefined;
  deps.log.info('wait was closed while its remote task started', {
    runId,
    server: command.server,
    cancelled: reply?.kind === 'done',
  });
  if (reply?.kind === 'done') {
    const sent = { kind: 'sent', atMs: deps.clock.nowMs() } as const;
    if (byWorker === true)
      await persist(() => deps.store.unwantedTasks.recordCancel(runId, wait.waitId, sent), turnReserveMs, lastTries);
    return;
  }
  const left = { atMs: deps.clock.nowMs(), forCancel: policy === 'cancel' };
  await persist(() => deps.store.unwantedTasks.leaveHandle(runId, wait.waitId, handle, left), turnReserveMs, lastTries);
}
