import { defined } from '../../base/defined.js';
import { hasCode } from '../../base/errors.js';
import { turnReserveMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { WaitId } from '../../base/ids.js';
import { mayHaveStarted } from '../../decide/lost-start.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { RemoteRequest, RemoteTaskTransport, StartReply } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { RunRecords, TokenRecord } from '../../history/records.js';
import { workflowOf } from '../../workflow/app.js';
import type { Deps } from '../deps.js';
import { openRecords } from '../open-execution.js';
import { lastTries, type Persist } from '../persist.js';
import { callKeyOf } from '../../replay/call-key.js';
import { pushRegistrationOf } from './push-registration.js';
import { traitsOf } from './remote-target.js';

/** A start of unknown fate whose wait is closed: the process died during it, or it got no answer. */
export interface LostStart {
  readonly transport: RemoteTaskTransport;
  readonly command: StartRemoteTask;
  readonly request: Exclude<StartRemoteTask['request'], { readonly kind: 'attach' }>;
  /**
   * Whether the start may be repeated with the same key, which names the task, or creates it only to be cancelled.
   * Otherwise the server is asked.
   */
  readonly mayRepeat: boolean;
  readonly calls: readonly string[] | undefined;
}

export type TokenWithHandle = TokenRecord & { readonly handle: RemoteTaskHandle };

/** `none`: no start may be running, or there is no way to find its task. `unknown`: this deployment cannot tell. */
export async function lostStartOf(
  deps: Deps,
  token: TokenRecord,
  server: string,
): Promise<LostStart | 'none' | 'unknown'> {
  const { runId, waitId } = token;
  const transport = deps.transports.get(server);
  const { dedupes, finds } = await traitsOf(deps, transport);
  if (!dedupes && !finds) return 'none';
  const records = await deps.store.runs.read(runId);
  if (records === undefined || !mayHaveStarted(records.commits, token)) return 'none';
  const command = await commandOf(deps, records, waitId);
  if (command === undefined) return 'unknown';
  const { request } = command;
  if (request.kind === 'attach') return 'none';
  return { transport, command, request, mayRepeat: dedupes, calls: records.head.calls };
}

/**
 * Finds the task of a start of unknown fate; the answer may take until `untilMs`, by default as long as a turn can
 * wait. Its handle is stored, with a marker, before anything else is done with it: by `persist`, since only this
 * process knows it. `none`: there is no task. `not found`: the server knows of none at present. `unknown`: the server
 * did not say.
 */
export async function findLostStart(
  deps: Deps,
  token: TokenRecord,
  { transport, command, request, mayRepeat, calls }: LostStart,
  { persist, untilMs }: { readonly persist: Persist; readonly untilMs?: EpochMs },
): Promise<TokenWithHandle | 'none' | 'not found' | 'unknown'> {
  const { runId, waitId, server } = token;
  // The same request as before, so that the server recognises it.
  const push = server === undefined ? undefined : pushRegistrationOf(deps, server, { runId, waitId });
  const asked = { request, idempotencyKey: callKeyOf(deps, runId, command), ...defined({ push, calls }) };
  const patience = untilMs === undefined ? {} : { untilMs };
  const handle = mayRepeat
    ? startedBy(await transport.start({ ...asked, ...patience }))
    : await lookUp(transport, asked);
  deps.log.info('wait was closed with a start of unknown fate', { runId, server, found: typeof handle === 'object' });
  if (typeof handle !== 'object') return handle;
  const forCancel = { atMs: deps.clock.nowMs(), forCancel: true };
  const left = await persist(
    () => deps.store.unwantedTasks.leaveHandle(runId, waitId, handle, forCancel),
    turnReserveMs,
    lastTries,
  );
  return { ...(left ?? token), handle };
}

/** Runs `look`. What cannot be found now may be found later, by other code; meanwhile it must not block other stops. */
export async function orUnknown<Found>(
  deps: Deps,
  { runId, server }: Pick<TokenRecord, 'runId' | 'server'>,
  look: () => Promise<Found>,
): Promise<Found | 'unknown'> {
  try {
    return await look();
  } catch (error) {
    if (hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN')) throw error;
    deps.log.warn('a start of unknown fate cannot be looked up', { runId, server, error });
    return 'unknown';
  }
}

async function lookUp(
  transport: RemoteTaskTransport,
  asked: { readonly request: RemoteRequest; readonly idempotencyKey: string },
): Promise<RemoteTaskHandle | 'none' | 'not found' | 'unknown'> {
  const reply = await transport.find?.(asked);
  if (reply?.kind === 'found') return reply.handle;
  // A server that does not list tasks will not name this one later either.
  if (reply?.kind === 'unsupported') return 'none';
  return reply?.kind === 'unknown' ? 'unknown' : 'not found';
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

/** Replays the run to get the command. Returns undefined if this deployment does not fit the history. */
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
