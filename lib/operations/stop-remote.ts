import { cancelGiveUpMs } from '../base/limits.js';
import type { WaitId } from '../base/ids.js';
import type { Commit, RemoteTaskHandle } from '../history/event.js';
import { foldHistory } from '../history/run-state.js';
import type { StartReply } from '../remote/transport.js';
import type { StartRemoteTask } from '../replay/command.js';
import type { RemoteCancel, RunRecords, TokenRecord } from '../store/records.js';
import type { Deps } from './deps.js';
import { openExecution } from './open-execution.js';
import { callKeyOf, traitsOf } from './remote-target.js';

/** The wait of a remote call ended before its task, and the call does not leave such a task alone. */
export function mayNeedCancel({ server, settlement, onCancel, onTimeout }: TokenRecord): boolean {
  if (server === undefined) return false;
  switch (settlement?.outcome.kind) {
    case 'timed_out':
      return onTimeout !== 'leave';
    case 'abandoned':
    case 'run_ended':
      return onCancel !== 'leave';
    case 'completed':
    case 'failed':
    case undefined:
      return false;
  }
}

/**
 * Asks the server once to cancel the remote task of a wait that has ended. `later`: it did not answer, and there is time
 * to ask again. Undefined: there is nothing to cancel, or nobody to ask.
 */
export async function cancelRemote(deps: Deps, token: TokenRecord): Promise<RemoteCancel | 'later' | undefined> {
  const { runId, server, settlement } = token;
  if (server === undefined || settlement === undefined || !Object.hasOwn(deps.app.servers, server)) return undefined;
  const givesUp = deps.clock.nowMs() - settlement.atMs > cancelGiveUpMs;
  const unanswered = (): RemoteCancel | 'later' =>
    givesUp ? { kind: 'gaveUp', atMs: deps.clock.nowMs() } : 'later';

  const handle = token.handle ?? (await handleOfLostStart(deps, token, server));
  if (handle === 'none') return undefined;
  if (handle === 'unknown') return unanswered();
  const reply = await deps.transports.get(server).cancel(handle);
  switch (reply.kind) {
    case 'done':
      return { kind: 'sent', atMs: deps.clock.nowMs() };
    case 'refused':
      deps.log.info('remote task not cancelled: the server refuses', { runId, server, code: reply.error.code });
      return { kind: 'refused', atMs: deps.clock.nowMs() };
    case 'retry':
      deps.log.warn(givesUp ? 'remote task left running: it could not be cancelled' : 'remote cancel failed', {
        runId,
        server,
        code: reply.error.code,
      });
      return unanswered();
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
): Promise<RemoteTaskHandle | 'none' | 'unknown'> {
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
  if (typeof handle === 'object') await deps.store.leaveHandle(runId, waitId, handle, deps.clock.nowMs());
  return handle;

  async function lookedUp(): Promise<RemoteTaskHandle | 'none' | 'unknown'> {
    const reply = await transport.find?.(request);
    return reply?.kind === 'found' ? reply.handle : (reply?.kind ?? 'none');
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
function mayRun(commits: readonly Commit[], { waitId, attempt }: TokenRecord): boolean {
  let known = 0;
  let wasSent = false;
  for (const event of commits.flatMap(({ events }) => events)) {
    if (event.type !== 'RemoteTaskStartFailed' && event.type !== 'RemoteTaskStartAsked') continue;
    if (event.waitId !== waitId) continue;
    known = event.attempt;
    wasSent ||= event.type === 'RemoteTaskStartFailed' && event.sent === true;
  }
  return wasSent || attempt > known;
}

/** What the workflow asked for, which is nowhere but in its code. Undefined: this deployment does not fit the history. */
async function commandOf(
  deps: Deps,
  { head, commits, tokens, inbox }: RunRecords,
  waitId: WaitId,
): Promise<StartRemoteTask | undefined> {
  const workflow = deps.app.workflows.get(head.workflow);
  if (workflow === undefined) return undefined;
  const execution = openExecution(
    deps,
    workflow,
    head,
    foldHistory(commits),
    new Map(tokens.map((token) => [token.waitId, token])),
    new Map(inbox.map((item) => [item.inboxId, item])),
  );
  for (const event of commits.flatMap(({ events }) => events)) {
    await execution.apply(event);
    if (event.type !== 'RemoteTaskRequested' || event.waitId !== waitId) continue;
    const command = execution.command(waitId);
    return command?.kind === 'startRemoteTask' ? command : undefined;
  }
  return undefined;
}
