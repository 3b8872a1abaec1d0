import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import { sideRequestTimeoutMs, turnReserveMs } from '../../base/limits.js';
import { nextPollAtMs, pollHint } from '../../decide/poll.js';
import { boundedQuestions } from '../../decide/questions.js';
import type { RemoteClosePolicy, RemoteTaskHandle } from '../../history/event.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { RemoteQuestion, RemoteTaskTransport } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { Settlement, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { isStoreFailure, lastTries, type Persist } from '../persist.js';
import { pollAt } from '../wake.js';

export interface KnownTask {
  readonly runId: RunId;
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  readonly transport: RemoteTaskTransport;
  /** The next owner finds the task: its server recognises a repeat of the start, or can be asked. */
  readonly isFoundAgain: boolean;
  /** As it was before. */
  readonly token: TokenRecord;
  readonly persist: Persist;
  /** No turn waits for it: what became of an unwanted task is noted, or the run's end effects would start it again to find it. */
  readonly byWorker?: boolean;
}

interface TaskReply {
  readonly handle: RemoteTaskHandle;
  /** 0: the task had ended already and only its result is missing. */
  readonly pollAfterMs?: number;
  readonly questions?: readonly RemoteQuestion[];
}

/**
 * A remote task is known: its handle is stored, which makes it the task of the wait, and its first read is arranged. A
 * handle that can no longer be stored belongs to a wait that was closed: its task is cancelled, unless the call leaves
 * it. `found`: the task was looked for, and a handle that came meanwhile stands. Gives the token as it is now.
 */
export async function recordHandle(
  deps: Deps,
  task: KnownTask,
  reply: TaskReply,
  options: { readonly found?: boolean } = {},
): Promise<TokenRecord> {
  const { runId, wait, command, token } = task;
  const nowMs = deps.clock.nowMs();
  const { pollAfterMs: hintMs, questions } = reply;
  const dueAtMs = hintMs === 0 ? nowMs : nextPollAtMs({ ...token, deadlineAtMs: wait.deadlineAtMs }, nowMs, hintMs);
  const { stored, token: now } = await storeHandle(deps, task, {
    handle: reply.handle,
    startedAtMs: nowMs,
    dueAtMs,
    ...defined({
      pollHintMs: hintMs === undefined || hintMs === 0 ? undefined : pollHint(hintMs),
      questions:
        command.answersQuestions && questions !== undefined ? { list: boundedQuestions(questions) } : undefined,
      onlyWithoutHandle: options.found === true ? true : undefined,
    }),
  });
  if (stored)
    await pollAt(deps, { kind: 'poll', runId, waitId: wait.waitId, server: command.server, dueAtMs }, dueAtMs);
  // The handle is there: an answer of the store was lost, and the task is the one of the wait. Whoever ended that stops it.
  else if (now?.handle?.taskId === reply.handle.taskId) return now;
  else if (options.found !== true || now?.settlement !== undefined)
    await dropUnwanted(deps, task, reply.handle, now?.settlement);
  return now ?? token;
}

/**
 * A task runs, and its handle is in this process alone: a store that fails is tried again as long as there is time. If it
 * stays away, a task that the next owner finds again goes on; one that nobody will is cancelled.
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
    deps.log.error('remote task not recorded: the store does not take its handle', {
      runId,
      server: command.server,
      foundAgain: !isLost,
      cancelled: reply?.kind === 'done',
    });
    throw error;
  }
}

/** The wait was closed while its task started. A cancel that fails is left to the run's end effects, with the handle. */
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
