// Search for the task of a start of unknown outcome, among the tasks that an agent lists.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import type { Exchange } from '../rpc/exchange.js';
import { remoteError, unknown } from '../rpc/remote-error.js';
import type { FindReply } from '../transport.js';
import { isErrorOf, pollReplyOf, type FailedExchange } from '../rpc/failed-exchange.js';
import type { A2aInterface, TaskOrigin } from './interface.js';
import type { A2aOperation } from './operation.js';
import { handleOf } from './read-reply.js';
import { taskListPagesMax, taskListPageSize } from './limits.js';

export type TaskList = Extract<A2aOperation, { kind: 'list' }>;

/** JSON-RPC errors of A2A (section 5.4): no such method, or an unsupported operation or version. */
const unsupportedCodes: readonly number[] = [-32601, -32004, -32009];
/** Errors that also refuse a plain list: parameters not accepted, or nothing at that path. */
const refusedCodes: readonly number[] = [...unsupportedCodes, -32602, -32001];
/** HTTP+JSON statuses: nothing at that path, or no such method there. */
const absentStatuses: readonly number[] = [404, 405, 501];

/**
 * Finds the one task that shows the message of the start as a user's and as its own. Lists are newest first (section
 * 3.1.4), so a few pages hold a task of just now, however many others there are. Tasks without a timestamp come last:
 * if the pages do not reach the end, submitted tasks are searched too. A filter by time would hide them. All searched
 * tasks count, since a message that two tasks show identifies neither.
 */
export async function findByMessage(
  ask: (list: TaskList) => Promise<Exchange>,
  { messageId, to, origin }: { readonly messageId: string; readonly to: A2aInterface; readonly origin: TaskOrigin },
  hasTime: () => boolean,
): Promise<FindReply> {
  const search = new TaskSearch(ask, messageId, to, hasTime);
  const all = await search.walk({});
  if (typeof all === 'object') return all;
  const submitted = all === 'whole' ? all : await search.walk({ status: 'TASK_STATE_SUBMITTED' });
  return typeof submitted === 'object' ? submitted : search.found(origin, all);
}

/** Extent of a search. `part`: there are more tasks, or it is unknown. */
type Walked = 'whole' | 'part';

class TaskSearch {
  readonly #ask: (list: TaskList) => Promise<Exchange>;
  readonly #messageId: string;
  readonly #to: A2aInterface;
  readonly #hasTime: () => boolean;
  readonly #listed = new Set<string>();
  readonly #ours = new Map<string, JsonObject>();
  #pageSize = taskListPageSize;
  #pagesRead = 0;

  constructor(ask: (list: TaskList) => Promise<Exchange>, messageId: string, to: A2aInterface, hasTime: () => boolean) {
    this.#ask = ask;
    this.#messageId = messageId;
    this.#to = to;
    this.#hasTime = hasTime;
  }

  /** Searches the first pages of a list, or returns why there is nothing to search. */
  async walk(filter: Pick<TaskList, 'status'>): Promise<Walked | FindReply> {
    const tokens = new Set<string>();
    let next: { readonly pageToken?: string } = {};
    for (let pages = 0; pages < taskListPagesMax && (this.#pagesRead === 0 || this.#hasTime()); pages++) {
      const exchange = await this.#ask({ kind: 'list', pageSize: this.#pageSize, ...filter, ...next });
      if (exchange.kind !== 'result') {
        const why = this.#replyToFailure(exchange);
        if (why === 'smaller') continue;
        return why;
      }
      this.#pagesRead++;
      const { result } = exchange;
      if (!isJsonObject(result) || !Array.isArray(result['tasks']))
        return unknown('the result of ListTasks has no tasks');
      for (const task of result['tasks'] as readonly JsonValue[]) this.#look(task);
      const pageToken = result['nextPageToken'];
      if (pageToken === undefined || pageToken === null || pageToken === '') return 'whole';
      // Stops at a repeated page token: such a list has no end.
      if (!isPageToken(pageToken) || tokens.has(pageToken)) return 'part';
      tokens.add(pageToken);
      next = { pageToken };
    }
    return 'part';
  }

  /** Returns the result of what was searched so far. */
  found(origin: TaskOrigin, walked: Walked): FindReply {
    const [only, second] = this.#ours.values();
    const listed = this.#listed.size;
    if (second !== undefined)
      return { kind: 'none', note: `${this.#ours.size} tasks of the agent show the message of this start` };
    if (only !== undefined) {
      const handle = handleOf(only['id'], only['contextId'], origin);
      return handle === undefined ? unknown('the task has no usable id') : { kind: 'found', handle };
    }
    if (listed === 0 && walked === 'whole') return { kind: 'none', note: 'the agent lists no task' };
    const which =
      walked === 'whole' ? `that the agent lists (${listed})` : `that were searched (${listed}, and there are more)`;
    return {
      kind: 'none',
      note: `none of the tasks ${which} shows the message of this start; probeByContext: true helps if the agent keeps the context ids of its callers`,
    };
  }

  #look(task: JsonValue): void {
    if (!isJsonObject(task) || typeof task['id'] !== 'string') return;
    this.#listed.add(task['id']);
    if (showsStart(task, this.#messageId)) this.#ours.set(task['id'], task);
  }

  #replyToFailure(failure: FailedExchange): FindReply | 'part' | 'smaller' {
    if ('error' in failure && failure.error.code === 'PAYLOAD_TOO_LARGE' && this.#pageSize > 1) {
      this.#pageSize = Math.ceil(this.#pageSize / 5);
      return 'smaller';
    }
    if (!isErrorOf(failure, refusedCodes) && !isAbsent(failure, this.#to))
      return { kind: 'unknown', error: pollReplyOf(failure).error };
    // Takes what was listed as all there is if the agent does not accept a filter or page token.
    return this.#pagesRead > 0 ? 'part' : listsNothing(failure);
  }
}

/** Classifies a failed list of one context: the agent lists nothing, or does not know the context yet. */
export function contextNotListed(failure: FailedExchange, to: A2aInterface): FindReply {
  const isUnsupported = isErrorOf(failure, unsupportedCodes) || isAbsent(failure, to);
  return isUnsupported ? listsNothing(failure) : { kind: 'unknown', error: pollReplyOf(failure).error };
}

export const hasNoLists: FindReply = {
  kind: 'unsupported',
  error: remoteError('REMOTE_START_AMBIGUOUS', 'the agent lists no tasks: A2A 0.3 has no lists'),
};

function listsNothing(failure: FailedExchange): FindReply {
  const { message, details } = pollReplyOf(failure).error;
  const error = remoteError('REMOTE_START_AMBIGUOUS', `the agent lists no tasks: ${message}`, details);
  return { kind: 'unsupported', error };
}

/**
 * Whether a task shows the message. A message that was handed on to another task still names the first, if the agent
 * says so.
 */
function showsStart({ id, history }: JsonObject, messageId: string): boolean {
  return (
    Array.isArray(history) &&
    (history as readonly JsonValue[]).some(
      (message) =>
        isJsonObject(message) &&
        message['messageId'] === messageId &&
        (message['role'] === 'ROLE_USER' || message['role'] === 'user') &&
        [undefined, null, '', id].includes(message['taskId']),
    )
  );
}

function isAbsent(failure: FailedExchange, { binding }: A2aInterface): boolean {
  return binding === 'HTTP+JSON' && 'status' in failure && absentStatuses.includes(failure.status);
}

const pageTokenMaxChars = 4_096;

function isPageToken(token: JsonValue): token is string {
  return typeof token === 'string' && token.length <= pageTokenMaxChars && token.isWellFormed();
}
