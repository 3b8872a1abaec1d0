import { storeHandleBackoffMs, storeHandleTries } from '../base/limits.js';
import type { RunId } from '../base/ids.js';
import { nextPollAtMs, pollHint } from '../decide/poll.js';
import { boundedQuestions } from '../decide/questions.js';
import type { RemoteClosePolicy, RemoteTaskHandle } from '../history/event.js';
import type { OpenRemoteTask } from '../history/run-state.js';
import type { RemoteQuestion, RemoteTaskTransport } from '../remote/transport.js';
import type { StartRemoteTask } from '../replay/command.js';
import type { Settlement, TokenRecord } from '../store/records.js';
import type { Deps } from './deps.js';
import { pollAt } from './wake.js';

export interface TakenTask {
  readonly runId: RunId;
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  readonly transport: RemoteTaskTransport;
  /** As it was before. */
  readonly token: TokenRecord;
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
export async function takeHandle(
  deps: Deps,
  task: TakenTask,
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
    ...(hintMs === undefined || hintMs === 0 ? {} : { pollHintMs: pollHint(hintMs) }),
    ...(command.answersQuestions && questions !== undefined
      ? { questions: { list: boundedQuestions(questions) } }
      : {}),
    ...(options.found === true ? { onlyWithoutHandle: true } : {}),
  });
  if (stored)
    await pollAt(deps, { kind: 'poll', runId, waitId: wait.waitId, server: command.server, dueAtMs }, dueAtMs);
  else if (options.found !== true || now?.settlement !== undefined)
    await dropUnwanted(deps, task, reply.handle, now?.settlement);
  return now ?? token;
}

/**
 * A task runs, and its handle is in this process alone: a store that fails is tried again for a while. If it stays away,
 * the task is cancelled, since nobody will find it again.
 */
async function storeHandle(
  deps: Deps,
  { runId, wait, command, transport }: TakenTask,
  started: Parameters<Deps['store']['storeHandle']>[2],
): ReturnType<Deps['store']['storeHandle']> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await deps.store.storeHandle(runId, wait.waitId, started);
    } catch (error) {
      if (attempt < storeHandleTries) {
        await deps.delay(storeHandleBackoffMs * 2 ** (attempt - 1));
        continue;
      }
      const reply = command.onCancel === 'cancel' ? await transport.cancel(started.handle) : undefined;
      deps.log.error('remote task not recorded: the store does not take its handle', {
        runId,
        server: command.server,
        cancelled: reply?.kind === 'done',
      });
      throw error;
    }
  }
}

/** The wait was closed while its task started. A cancel that fails is left to the run's end effects, with the handle. */
async function dropUnwanted(
  deps: Deps,
  { runId, wait, command, transport }: TakenTask,
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
  if (reply?.kind === 'done') return;
  await deps.store.leaveHandle(runId, wait.waitId, handle, {
    atMs: deps.clock.nowMs(),
    forCancel: policy === 'cancel',
  });
}
