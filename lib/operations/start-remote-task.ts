import { storedError, type StoredError } from '../base/errors.js';
import { remoteKeyOf, type RunId } from '../base/ids.js';
import { outcomeOf } from '../decide/outcome.js';
import { nextPollAtMs, pollHint } from '../decide/poll.js';
import { startRetryDelayMs } from '../decide/retry.js';
import { storeHandleBackoffMs, storeHandleTries } from '../base/limits.js';
import type { RemoteTaskHandle, RemoteTaskStartFailed } from '../history/event.js';
import type { OpenRemoteTask } from '../history/run-state.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { RemoteTaskTransport, StartReply } from '../remote/transport.js';
import type { StartRemoteTask } from '../replay/command.js';
import type { Settlement, TokenRecord } from '../store/records.js';
import type { Deps } from './deps.js';
import { pollAt } from './wake.js';

/** What an attempt to start leaves behind. */
export interface StartResult {
  /** The token item as it is now. */
  readonly token: TokenRecord;
  /** The attempt is known to be repeatable and the next one has an instant: to be committed before it. */
  readonly failed?: RemoteTaskStartFailed;
}

export interface StartAttempt {
  readonly runId: RunId;
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  /** This turn, so that its own put is recognised after a lost acknowledgement. */
  readonly turnId: string;
  /** Writer ids under which this turn has called the server already. */
  readonly called: Set<string>;
}

/**
 * One attempt to start the remote task of a wait that is in the log.
 *
 * The token item is put, or claimed for this attempt, before the call. If it is there already, the old item rules: a
 * settlement or a handle on it means that nothing is started. Towards a server that does not dedupe only the writer of
 * the attempt calls, and once; whoever else finds the item with neither settles it as ambiguous, unless one came
 * meanwhile. A handle that can no longer be stored belongs to a wait that was closed: its task is cancelled.
 */
export async function startRemoteTask(deps: Deps, start: StartAttempt): Promise<StartResult> {
  const { runId, wait, command } = start;
  const attempt = wait.failedAttempts + 1;
  const writerId = `${start.turnId}/${wait.waitId}/${attempt}`;

  const found = await claimAttempt(deps, start, attempt, writerId);
  if (found.token.settlement !== undefined || found.token.handle !== undefined) return { token: found.token };
  if (deps.clock.nowMs() >= wait.deadlineAtMs)
    return settled(await settle(deps, start, 'timeout', { kind: 'timed_out' }), found.token);

  const target = transportFor(deps, command);
  if (target.kind === 'refused')
    return settled(await settle(deps, start, 'start', { kind: 'failed', error: target.error }), found.token);
  const { transport } = target;

  const mayRepeat = transport.dedupes || command.retrySafe;
  const isOwner = found.claimed || (found.token.writerId === writerId && !start.called.has(writerId));
  if (!mayRepeat && !isOwner) return settled(await settleAmbiguous(deps, start), found.token);

  start.called.add(writerId);
  const reply = await transport.start({
    request: command.request,
    idempotencyKey: remoteKeyOf(runId, wait.waitId, deps.digest),
  });
  return takeReply(deps, start, attempt, found.token, transport, mayRepeat, reply);
}

async function claimAttempt(
  deps: Deps,
  { runId, wait, command }: StartAttempt,
  attempt: number,
  writerId: string,
): Promise<{ readonly claimed: boolean; readonly token: TokenRecord }> {
  const fresh: TokenRecord = {
    runId,
    waitId: wait.waitId,
    server: command.server,
    attempt,
    writerId,
    createdAtMs: deps.clock.nowMs(),
    deadlineAtMs: wait.deadlineAtMs,
    pollErrors: 0,
  };
  if (attempt === 1) {
    const { put, token } = await deps.store.putToken(fresh);
    return { claimed: put, token };
  }
  const { claimed, token } = await deps.store.claimStartAttempt(runId, wait.waitId, { attempt, writerId });
  return { claimed, token: token ?? fresh };
}

type Target =
  | { readonly kind: 'transport'; readonly transport: RemoteTaskTransport }
  | { readonly kind: 'refused'; readonly error: StoredError };

function transportFor(deps: Deps, command: StartRemoteTask): Target {
  if (!Object.hasOwn(deps.app.servers, command.server)) {
    const known = Object.keys(deps.app.servers).join(', ') || 'none';
    return {
      kind: 'refused',
      error: storedError('SERVER_NOT_FOUND', `no server is named "${command.server}"; there is ${known}`),
    };
  }
  const transport = deps.transports.get(command.server);
  const problem = transport.problemWith(command.request);
  if (problem === undefined) return { kind: 'transport', transport };
  return {
    kind: 'refused',
    error: storedError('CONFIG_INVALID', `the call to "${command.server}" cannot be made: ${problem}`),
  };
}

async function takeReply(
  deps: Deps,
  start: StartAttempt,
  attempt: number,
  token: TokenRecord,
  transport: RemoteTaskTransport,
  mayRepeat: boolean,
  reply: StartReply,
): Promise<StartResult> {
  const { runId, wait, command } = start;
  switch (reply.kind) {
    case 'started': {
      const nowMs = deps.clock.nowMs();
      const hintMs = reply.pollAfterMs;
      // 0: the task had ended already and only its result is missing.
      const dueAtMs = hintMs === 0 ? nowMs : nextPollAtMs({ ...token, deadlineAtMs: wait.deadlineAtMs }, nowMs, hintMs);
      const { stored, token: now } = await storeHandle(deps, start, transport, {
        handle: reply.handle,
        startedAtMs: nowMs,
        dueAtMs,
        ...(hintMs === undefined || hintMs === 0 ? {} : { pollHintMs: pollHint(hintMs) }),
      });
      if (stored)
        await pollAt(deps, { kind: 'poll', runId, waitId: wait.waitId, server: command.server, dueAtMs }, dueAtMs);
      else await cancelUnwanted(deps, start, transport, reply.handle);
      return { token: now ?? token };
    }
    case 'asked': {
      const error = storedError(
        'REMOTE_START_REFUSED',
        `"${command.server}" wants input before it starts, and the call answers none`,
        { server: command.server },
      );
      return settled(await settle(deps, start, 'start', { kind: 'failed', error }), token);
    }
    case 'ended':
      return settled(await settle(deps, start, 'start', outcomeOf(reply.end, command.server)), token);
    case 'refused':
      return settled(
        await settle(deps, start, 'start', { kind: 'failed', error: withServer(reply.error, command) }),
        token,
      );
    case 'unknown':
      if (!mayRepeat) return settled(await settleAmbiguous(deps, start, reply.error), token);
      return retryOrGiveUp(deps, start, attempt, token, reply.error);
    case 'retry':
      return retryOrGiveUp(deps, start, attempt, token, reply.error, reply.retryAfterMs);
  }
}

/**
 * A task runs, and its handle is in this process alone: a store that fails is tried again for a while. If it stays away,
 * the task is cancelled, since nobody will find it again.
 */
async function storeHandle(
  deps: Deps,
  { runId, wait, command }: StartAttempt,
  transport: RemoteTaskTransport,
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
      const reply = await transport.cancel(started.handle);
      deps.log.error('remote task not recorded: the store does not take its handle', {
        runId,
        server: command.server,
        cancelled: reply.kind === 'done',
      });
      throw error;
    }
  }
}

/** The wait was closed while its task started. A cancel that fails is left to the run's end effects, with the handle. */
async function cancelUnwanted(
  deps: Deps,
  { runId, wait, command }: StartAttempt,
  transport: RemoteTaskTransport,
  handle: RemoteTaskHandle,
): Promise<void> {
  const reply = await transport.cancel(handle);
  deps.log.info('wait was closed while its remote task started', {
    runId,
    server: command.server,
    cancelled: reply.kind === 'done',
  });
  if (reply.kind !== 'done') await deps.store.leaveForCancel(runId, wait.waitId, handle, deps.clock.nowMs());
}

async function retryOrGiveUp(
  deps: Deps,
  start: StartAttempt,
  attempt: number,
  token: TokenRecord,
  error: StoredError,
  retryAfterMs?: number,
): Promise<StartResult> {
  const { runId, wait, command } = start;
  const delayMs = startRetryDelayMs(attempt, retryAfterMs);
  const atMs = deps.clock.nowMs();
  if (delayMs !== undefined) {
    deps.log.info('remote start failed', {
      runId,
      server: command.server,
      attempt,
      retryInMs: delayMs,
      code: error.code,
    });
    return {
      token,
      failed: { type: 'RemoteTaskStartFailed', atMs, waitId: wait.waitId, attempt, error, retryAtMs: atMs + delayMs },
    };
  }
  const gaveUp = storedError(
    'REMOTE_START_FAILED',
    `the remote task on "${command.server}" could not be started in ${attempt} attempts: ${error.message}`,
    {
      server: command.server,
      attempts: attempt,
    },
  );
  return settled(await settle(deps, start, 'start', { kind: 'failed', error: gaveUp }), token);
}

async function settleAmbiguous(deps: Deps, start: StartAttempt, cause?: StoredError): Promise<TokenRecord | undefined> {
  const { server } = start.command;
  const why = cause === undefined ? 'the process that started it is gone' : cause.message;
  const error = storedError(
    'REMOTE_START_AMBIGUOUS',
    `a task on "${server}" may have been started and its id is not known (${why}). It was not started again, since the server is not known to recognise a repeat.`,
    { server },
  );
  return settle(deps, start, 'start', { kind: 'failed', error }, { onlyWithoutHandle: true });
}

async function settle(
  deps: Deps,
  { runId, wait }: StartAttempt,
  by: Settlement['by'],
  outcome: TokenOutcome,
  options: { readonly onlyWithoutHandle?: boolean } = {},
): Promise<TokenRecord | undefined> {
  const settlement: Settlement = { writerId: deps.random.hex(16), atMs: deps.clock.nowMs(), by, outcome };
  // No wake: the turn that called takes it in with its next commit.
  return (await deps.store.settle(runId, wait.waitId, settlement, options)).token;
}

function settled(token: TokenRecord | undefined, before: TokenRecord): StartResult {
  return { token: token ?? before };
}

function withServer(error: StoredError, command: StartRemoteTask): StoredError {
  return { ...error, details: { server: command.server, ...error.details } };
}
