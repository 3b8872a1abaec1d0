import { defined } from '../../base/defined.js';
import { EngineError, type StoredError } from '../../base/errors.js';
import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import { shownOf, stateOfEnd } from '../../decide/task-trail.js';
import type { TokenRecord } from '../../history/records.js';
import type { TaskProgress } from '../../history/task-trail.js';
import type { PollReply, RemoteTaskTransport } from '../../remote/transport.js';
import { whenAdmitted } from '../admission.js';
import type { Deps } from '../deps.js';
import { readOpenTokens } from './list-remote-tasks.js';

/** Most pages of runs under way that are searched for waits: 500 runs. */
const pagesMax = 20;

/** A wait that holds a remote task. */
export interface TaskWait {
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** Whether the wait is open: its run learns of the end of the task. */
  readonly open: boolean;
  /** When the task is read next. */
  readonly nextAtMs?: EpochMs;
  readonly deadlineAtMs?: EpochMs;
}

/** What a server says of a task now. */
export interface RemoteTaskReading extends Partial<TaskProgress> {
  readonly server: string;
  readonly taskId: string;
  /** `missing`: the server does not know the task; `unreadable`: it was not asked, or gave no usable answer. */
  readonly kind: 'working' | 'ended' | 'missing' | 'unreadable';
  /** With `ended`: whether the task failed, or its tool says so. */
  readonly isError?: boolean;
  readonly error?: StoredError;
  /** Waits of runs under way that hold the task. */
  readonly waits: readonly TaskWait[];
  /** Whether only the 500 newest runs under way were searched for such waits. */
  readonly partlySearched?: true;
  /** What can be done next, as a sentence. */
  readonly next: string;
}

/**
 * Reads a task now, with the credentials of its server, and changes nothing. A task that no wait holds is read as
 * attaching to it would.
 * @throws EngineError `REMOTE_TASK_NOT_FOUND` if no server has that name
 */
export async function readRemoteTaskNow(deps: Deps, server: string, taskId: string): Promise<RemoteTaskReading> {
  if (!Object.hasOwn(deps.app.servers, server)) {
    const known = Object.keys(deps.app.servers).join(', ');
    throw new EngineError('REMOTE_TASK_NOT_FOUND', `no server is named "${server}"; known servers: ${known || 'none'}`);
  }
  const { tokens, isWhole } = await waitsFor(deps, server, taskId);
  const tried = await whenAdmitted(deps, { server, purpose: 'read' }, () =>
    read(deps.transports.get(server), taskId, tokens[0]),
  );
  const reply: PollReply = tried.kind === 'done' ? tried.result : { kind: 'unreadable', error: tried.error };
  const waits = tokens.map(toWait);
  return {
    server,
    taskId,
    kind: reply.kind,
    ...saidIn(reply, deps.clock.nowMs()),
    waits,
    ...defined({ partlySearched: isWhole ? undefined : true }),
    next: nextStep(reply, waits),
  };
}

async function waitsFor(
  deps: Deps,
  server: string,
  taskId: string,
): Promise<{ readonly tokens: readonly TokenRecord[]; readonly isWhole: boolean }> {
  const tokens: TokenRecord[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const found = await readOpenTokens(deps, after);
    tokens.push(...found.tokens.filter(({ handle }) => handle?.server === server && handle.taskId === taskId));
    after = found.nextAfter;
    if (after === undefined) return { tokens, isWhole: true };
  }
  return { tokens, isWhole: false };
}

async function read(
  transport: RemoteTaskTransport,
  taskId: string,
  token: TokenRecord | undefined,
): Promise<PollReply> {
  if (token?.handle !== undefined) return transport.get(token.handle);
  const error = {
    code: 'REMOTE_TASK_NOT_FOUND',
    message: 'no wait holds the task, and its server can only be asked by one that does',
  } as const;
  const came = await transport.adopt?.({ taskId });
  switch (came?.kind) {
    case undefined:
    case 'asked':
      return { kind: 'unreadable', error };
    case 'started': {
      // A reply that shows no state says that the task runs.
      const { state = 'working', note, progress, total } = came;
      return { kind: 'working', state, ...defined({ note, progress, total }) };
    }
    case 'ended':
      return { kind: 'ended', end: came.end };
    case 'refused':
      return { kind: 'missing', error: came.error };
    case 'retry':
    case 'unknown':
      return { kind: 'unreadable', error: came.error };
  }
}

function saidIn(reply: PollReply, nowMs: EpochMs): Partial<RemoteTaskReading> {
  switch (reply.kind) {
    case 'working':
      return shownOf(reply, nowMs);
    case 'ended': {
      const { end } = reply;
      const isError = end.kind === 'failed' || end.isError;
      return {
        ...shownOf({ state: stateOfEnd(end) }, nowMs),
        isError,
        ...defined({ error: end.kind === 'failed' ? end.error : undefined }),
      };
    }
    case 'missing':
    case 'unreadable':
      return { error: reply.error };
  }
}

function toWait({ runId, waitId, settlement, dueAtMs, deadlineAtMs }: TokenRecord): TaskWait {
  const open = settlement === undefined;
  return { runId, waitId, open, ...defined({ nextAtMs: open ? dueAtMs : undefined, deadlineAtMs }) };
}

function nextStep(reply: PollReply, waits: readonly TaskWait[]): string {
  const open = waits.find((wait) => wait.open);
  const poll = open === undefined ? '' : `outwait remote poll ${open.runId} ${open.waitId}`;
  switch (reply.kind) {
    case 'working':
      if (open === undefined) return 'no run waits for the task: a workflow can attach to it (ctx.attachRemoteTask)';
      return (reply.questions ?? []).length > 0
        ? `the task asks for input: outwait why ${open.runId} shows whether it is answered`
        : 'the run that waits for the task reads it again by itself';
    case 'ended':
      return open === undefined
        ? 'the task has ended, and no run waits for it'
        : `the task has ended: the run that waits for it learns of that with its next read, or now with ${poll}`;
    case 'missing':
      return open === undefined
        ? 'the server does not know the task: check the id, and whether the credentials of the server may see the task'
        : 'the server does not know the task: if it says so three times in a row, the wait ends as lost';
    case 'unreadable':
      return 'the state of the task is unknown: try again, and see outwait servers for the state of the server';
  }
}
