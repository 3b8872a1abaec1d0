// Classification of the outcomes of calls to an agent. Pure.

import type { RemoteTaskHandle } from '../../history/event.js';
import type { Exchange } from '../rpc/exchange.js';
import { beyondLimits, cancelReplyOf, isErrorOf, pollReplyOf, startReplyOf } from '../rpc/failed-exchange.js';
import { remoteError } from '../rpc/remote-error.js';
import type { CancelReply, PollReply, StartReply } from '../transport.js';
import type { TaskOrigin } from './interface.js';
import { readSendResult, readStartedTask, readTask, unwrappedTask, type SendReply } from './read-reply.js';

/** JSON-RPC errors of A2A (section 5.4), which HTTP+JSON expresses differently. */
const taskNotFound = -32001;
const taskNotCancelable = -32002;
const pushNotSupported = -32003;
const unsupportedOperation = -32004;
const generationMismatch = -32010;
/** Method not found, version not supported. */
const outdatedCodes: readonly number[] = [-32601, -32009];

/** Whether the agent no longer speaks the version that it was called in. */
export function isOutdated(exchange: Exchange): boolean {
  return isErrorOf(exchange, outdatedCodes);
}

/** Whether the task has changed since it was read, so that nothing was executed (1.1). */
export function hasChanged(exchange: Exchange): boolean {
  return isErrorOf(exchange, [generationMismatch]);
}

/** Whether the agent refused only the registration of pushes: the start was surely not processed. */
export function refusesPush(exchange: Exchange): boolean {
  return isErrorOf(exchange, [pushNotSupported]);
}

/** Whether the agent declares streaming but does not support it: nothing was started. */
export function streamsNothing(exchange: Exchange): boolean {
  return isErrorOf(exchange, [unsupportedOperation, ...outdatedCodes]);
}

/** Stands for the answer to a call that no URL can express: the agent has no task with such an id. */
export const unnameable: Exchange = {
  kind: 'rpc_error',
  status: 404,
  code: taskNotFound,
  message: 'the id of the task is not well-formed text, so no URL can hold it',
};

/** Classifies the outcome of SendMessage. */
export function classifyStart(exchange: Exchange, origin: TaskOrigin, contextId?: string): SendReply {
  return exchange.kind === 'result'
    ? readSendResult(exchange.result, origin, contextId)
    : (beyondLimits(exchange) ?? startReplyOf(exchange));
}

/** Classifies the outcome of GetTask. */
export function classifyPoll(exchange: Exchange, handle: RemoteTaskHandle): PollReply {
  return exchange.kind === 'result' ? readTask(exchange.result, handle) : pollReplyOf(exchange, [taskNotFound]);
}

/** Classifies the outcome of CancelTask. */
export function classifyCancel(exchange: Exchange): CancelReply {
  if (exchange.kind === 'result') return { kind: 'done' };
  return cancelReplyOf(exchange, [taskNotFound], [taskNotCancelable, unsupportedOperation]);
}

/**
 * Classifies the outcome of GetTask for a task that was started elsewhere. Nothing is started, so a failed read is
 * retried.
 */
export function classifyAdoption(
  exchange: Exchange,
  origin: TaskOrigin,
  { taskId, contextId }: { readonly taskId: string; readonly contextId?: string },
): StartReply {
  if (exchange.kind !== 'result') {
    const failure = startReplyOf(exchange);
    return failure.kind === 'unknown' ? { ...failure, kind: 'retry' } : failure;
  }
  const task = unwrappedTask(exchange.result);
  const reply = readStartedTask(task, origin);
  if (reply.kind === 'unknown') return { ...reply, kind: 'retry' };
  if (reply.kind !== 'started' && reply.kind !== 'ended') return reply;
  const problem =
    reply.handle?.taskId !== taskId
      ? 'the task is not the one requested'
      : contextId !== undefined && reply.handle.contextId !== contextId
        ? 'the task is in another context'
        : undefined;
  return problem === undefined ? reply : { kind: 'refused', error: remoteError('REMOTE_START_REFUSED', problem) };
}
