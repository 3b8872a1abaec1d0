import { lazy } from '../../base/lazy.js';
import { cancelReserveMs, taskMissingGraceMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { isYoung } from '../../decide/bad-read.js';
import type { RemoteCancel, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import type { TokenWithHandle } from './find-lost-start.js';
import { persistWithin, type Persist } from '../persist.js';
import { mayTakeMinutes } from './remote-target.js';
import type { TurnLimits } from '../turn-limits.js';
import { startNow } from '../wake.js';

/** Time after which the cancel of a remote task is given up if the server does not answer. */
const cancelGiveUpMs = 24 * 3_600_000;

/** Loads what starts of unknown fate need; few waits end that way. */
export const loadLostStart = lazy(() => import('./find-lost-start.js'));

/** Fate of a remote task whose wait has ended. */
export interface Stopped {
  /** Result of the cancel request. */
  readonly cancel?: RemoteCancel;
  /** Set if the task may be running although nothing waits for it. */
  readonly orphanedAtMs?: EpochMs;
  /** The token after a found handle was stored on it, with another marker. */
  readonly token?: TokenRecord;
}

/**
 * Deals with the remote task of a wait that ended before it: leaves it running, if the call says so, or asks the server
 * once to cancel it. `later`: the server did not answer or too little time is left, and there is time to ask again.
 */
export async function stopRemote(deps: Deps, token: TokenRecord, limits: TurnLimits): Promise<Stopped | 'later'> {
  const { runId, server, settlement, onCancel, onTimeout } = token;
  if (server === undefined || settlement === undefined) return {};
  const atMs = deps.clock.nowMs();
  const policy = settlement.outcome.kind === 'timed_out' ? onTimeout : onCancel;
  // A server that is no longer configured cannot be asked.
  if (policy === 'leave' || !Object.hasOwn(deps.app.servers, server))
    return token.handle === undefined ? {} : { orphanedAtMs: atMs };

  // A worker that dealt with its task has left no handle.
  if (token.handle === undefined && token.cancel?.kind === 'sent') return {};
  if (token.handle === undefined && isCalling(token, atMs)) return 'later';

  const givesUp = atMs - settlement.atMs > cancelGiveUpMs;
  const found = token.handle ?? (await taskOfLostStart(deps, token, server, persistWithin(deps, limits)));
  // The start may still be on its way, or a replica may lag.
  if (found === 'not found') return atMs - settlement.atMs < taskMissingGraceMs ? 'later' : {};
  if (found === 'none') return {};
  if (found === 'unknown') return givesUp ? {} : 'later';
  // A handle that was found is on the item by now.
  if (limits.remainingMs() < cancelReserveMs) return 'later';
  const left: Pick<Stopped, 'token'> = 'runId' in found ? { token: found } : {};
  const handle = 'runId' in found ? found.handle : found;
  const reply = await deps.transports.get(server).cancel(handle);
  if (reply.kind === 'done') return { ...left, cancel: { kind: 'sent', atMs } };
  // A lagging replica may not know the task yet.
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

/** Returns true while a worker may still call, and handles the task itself, or looks for the task or waits to. */
function isCalling({ workerStart, attempt, lookUntilMs }: TokenRecord, nowMs: EpochMs): boolean {
  if ((lookUntilMs ?? 0) > nowMs) return true;
  if (workerStart?.attempt !== attempt || workerStart.came !== undefined) return false;
  return (workerStart.untilMs ?? 0) > nowMs;
}

/**
 * Looks for the task of a start that may be running. If that takes a repeated start whose answer may take minutes, a
 * worker is asked to do it.
 */
async function taskOfLostStart(
  deps: Deps,
  token: TokenRecord,
  server: string,
  persist: Persist,
): Promise<TokenWithHandle | 'none' | 'not found' | 'unknown'> {
  const { findLostStart, lostStartOf, orUnknown } = await loadLostStart();
  return orUnknown(deps, token, async () => {
    const { runId, waitId, dueAtMs } = token;
    const lost = await lostStartOf(deps, token, server);
    if (typeof lost !== 'object') return lost;
    if (!lost.mayRepeat || dueAtMs === undefined || !(await mayTakeMinutes(deps, lost.command)))
      return findLostStart(deps, token, lost, { persist });
    await startNow(deps, { kind: 'start', runId, waitId, dueAtMs, forCancel: true });
    return 'unknown';
  });
}
