import { defined } from '../../base/defined.js';
import { holdsInfinity, type NumberOverflow } from '../../base/bounded-json.js';
import { remoteError } from '../rpc/remote-error.js';
import type { Reply } from './redact.js';

/**
 * Returns `reply` unchanged, unless it ends a task with a result that has a number beyond those of JavaScript, which
 * JSON would store as null. In that case the task has failed for the caller, and the error says where the number is.
 */
export function finiteOrRefused<Kind extends Reply>(
  reply: Kind,
  overflow: NumberOverflow | undefined,
  server: string,
): Kind {
  const { end } = reply;
  if (overflow === undefined || end?.kind !== 'completed' || !holdsInfinity(end.result)) return reply;
  const { path, number } = overflow;
  const message = `the result of the remote task on "${server}" has a number that is too large, ${number} at ${path}`;
  const details = { server, ...defined({ taskId: end.taskId }), path, number };
  return { ...reply, end: { kind: 'failed', error: remoteError('REMOTE_RESULT_INVALID', message, details) } };
}
