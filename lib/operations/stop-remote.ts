import { hasCode } from '../base/errors.js';
import { cancelGiveUpMs, taskMissingGraceMs } from '../base/limits.js';
import type { WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import { isYoung } from '../decide/sighting.js';
import type { Commit, RemoteTaskHandle } from '../history/event.js';
import type { StartReply } from '../remote/transport.js';
import type { StartRemoteTask } from '../replay/command.js';
import type { RemoteCancel, RunRecords, TokenRecord } from '../store/records.js';
import { workflowOf } from '../workflow/app.js';
import type { Deps } from './deps.js';
import { openRecords } from './open-execution.js';
import { callKeyOf, traitsOf } from './remote-target.js';

/** What became of a remote task whose wait has ended. */
export interface Stopped {
  /** What came of asking its server. */
  readonly cancel?: RemoteCancel;
  /** Nobody waits for it, and it may be running. */
  readonly orphanedAtMs?: EpochMs;
  /** The token as it is since its handle was found and left on it, with another marker. */
  readonly token?: TokenRecord;
}

/**
 * Deals with the remote task of a wait that ended before it: leaves it, if the call says so, or asks the server once to
 * cancel it. `later`: it did not answer, or too little time is left for a cancel, and there is time to ask again.
 */
export async function stopRemote(
  deps: Deps,
  token: TokenRecord,
  hasTimeToCancel: () => boolean,
): Promise<Stopped | 'later'> {
  const { runId, server, settlement, onCancel, onTimeout } = token;
  if (server === undefined || settlement === undefined) return {};
  const atMs = deps.clock.nowMs();
  const policy = settlement.outcome.kind === 'timed_out' ? onTimeout : onCancel;
  // A server that is gone from the configuration has nobody to be asked with.
  if (policy === 'leave' || !Object.hasOwn(deps.app.servers, server))
    return token.handle === undefined ? {} : { orphanedAtMs: atMs };

  // A worker that has dealt with its task has left no handle.
  if (token.handle === undefined && token.cancel?.kind === 'sent') return {};
  if (token.handle === undefined && isCalling(token, atMs)) return 'later';

  const givesUp = atMs - settlement.atMs > cancelGiveUpMs;
  const found = token.handle ?? (await handleOrUnknown(deps, token, server));
  // A start may still be on its way, or a replica lag behind.
  if (found === 'not found') return atMs - settlement.atMs < taskMissingGraceMs ? 'later' : {};
  if (found === 'none') return {};
  if (found === 'unknown') return givesUp ? {} : 'later';
  // One that was looked for is on the item by now.
  if (!hasTimeToCancel()) return 'later';
  const left: Pick<Stopped, 'token'> = 'runId' in found ? { token: found } : {};
  const handle = 'runId' in found ? found.handle : found;
  const reply = await deps.transports.get(server).cancel(handle);
  if (reply.kind === 'done') return { ...left, cancel: { kind: 'sent', atMs } };
  // A replica that lags may not know the task yet that it is to stop.
  if (reply.kind === 'gone')
    return isYoung(left.token ?? token, atMs) ? 'later' : { ...left, cancel: { kind: 'sent', atMs } };
  const isOver = reply.kind === 'refused' || givesUp;
  deps.log.warn(isOver ? 'remote task left running: it could not be cancelled' : 'remote cancel failed', {
    runId,
    server,
    code: reply.error.code,
  });
  if (!isOver) return 'later';
  return { ...left, cancel: { kind: reply.kind === 'refused' ? 'refused' : 'gaveUp', atMs }, orphanedAtMs: atMs };
}

/** A worker may still call, and deals with the task of its call itself. */
function isCalling({ workerStart, attempt }: TokenRecord, nowMs: EpochMs): boolean {
  if (workerStart?.attempt !== attempt || workerStart.came !== undefined) return false;
  return (workerStart.untilMs ?? 0) > nowMs;
}

type TokenWithHandle = TokenRecord & { readonly handle: RemoteTaskHandle };

/** What cannot be found out now may be tomorrow, by other code; it must not keep what else is to be stopped. */
async function handleOrUnknown(
  deps: Deps,
  token: TokenRecord,
  server: string,
): Promise<TokenWithHandle | 'none' | 'not found' | 'unknown'> {
  try {
    return await handleOfLostStart(deps, token, server);
  } catch (error) {
    if (hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN')) throw error;
    deps.log.warn('start of unknown fate: it cannot be looked for', { runId: token.runId, server, error });
    return 'unknown';
  }
}

/**
 * The task of a start whose fate nobody knows: the process died with it, or it got no answer. Towards a server that
 * dedupes the start is made again with the same key, which names the task, or makes it only to be cancelled; where the
 * server can be asked, it is. The handle is stored before anything else is done with it.
 */
async function handleOfLostStart(
  deps: Deps,
  token: TokenRecord,
  server: string,
): Promise<TokenWithHandle | 'none' | 'not found' | 'unknown'> {
  const { runId, waitId } = token;
  const transport = deps.transports.get(server);
  const { dedupes, finds } = await traitsOf(deps, transport);
  if (!dedupes && !finds) return 'none';
  const records = await deps.store.readRun(runId);
  if (records === undefined || !mayRun(records.commits, token)) return 'none';
  const command = await commandOf(deps, records, waitId);
  if (command === undefined) return 'unknown';
  if (command.request.kind === 'attach') return 'none';
  const request = { request: command.request, idempotencyKey: callKeyOf(deps, runId, command) };
  const handle = dedupes ? startedBy(await transport.start(request)) : await lookedUp();
  deps.log.info('wait was closed with a start of unknown fate', { runId, server, found: typeof handle === 'object' });
  if (typeof handle !== 'object') return handle;
  const left = await deps.store.leaveHandle(runId, waitId, handle, { atMs: deps.clock.nowMs(), forCancel: true });
  return { ...(left ?? token), handle };

  async function lookedUp(): Promise<RemoteTaskHandle | 'not found' | 'unknown'> {
    const reply = await transport.find?.(request);
    if (reply?.kind === 'found') return reply.handle;
    return reply?.kind === 'unknown' ? 'unknown' : 'not found';
  }
}

function startedBy(reply: StartReply): RemoteTaskHandle | 'none' | 'unknown' {
  switch (reply.kind) {
    case 'started':
      return reply.handle;
    case 'ended':
    case 'asked':
    case 'refused':
      return 'none';
    case 'retry':
    case 'unknown':
      return 'unknown';
  }
}

/** An attempt to start was sent without an answer, or has no end in the log. */
function mayRun(commits: readonly Commit[], token: TokenRecord): boolean {
  const { waitId, attempt } = token;
  let known = knownByWorker(token);
  let wasSent = false;
  for (const event of commits.flatMap(({ events }) => events)) {
    if (event.type !== 'RemoteTaskStartFailed' && event.type !== 'RemoteTaskStartAsked') continue;
    if (event.waitId !== waitId) continue;
    known = Math.max(known, event.attempt);
    wasSent ||= event.type === 'RemoteTaskStartFailed' && event.sent === true;
  }
  return wasSent || attempt > known;
}

/** The last attempt of which a worker has said that it has made none, or that nothing came of it; 0: none. */
function knownByWorker({ workerStart, attempt }: TokenRecord): number {
  if (workerStart?.attempt !== attempt) return 0;
  const { claim, came } = workerStart;
  // Not begun, and it cannot be any more.
  if (claim === undefined) return attempt;
  const hasRunNothing =
    came?.type === 'RemoteTaskStartAsked' || (came?.type === 'RemoteTaskStartFailed' && came.sent !== true);
  return hasRunNothing ? attempt : 0;
}

/** What the workflow asked for, which is nowhere but in its code. Undefined: this deployment does not fit the history. */
async function commandOf(deps: Deps, records: RunRecords, waitId: WaitId): Promise<StartRemoteTask | undefined> {
  const workflow = workflowOf(deps.app, records.head);
  if (workflow === undefined) return undefined;
  const execution = openRecords(deps, workflow, records);
  for (const event of records.commits.flatMap(({ events }) => events)) {
    await execution.apply(event);
    if (event.type !== 'RemoteTaskRequested' || event.waitId !== waitId) continue;
    const command = execution.command(waitId);
    return command?.kind === 'startRemoteTask' ? command : undefined;
  }
  return undefined;
}
