import { storedError } from '../base/errors.js';
import { utf8Bytes, type JsonValue } from '../base/json.js';
import { payloadMaxBytes } from '../base/limits.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { RemoteEnd } from '../history/remote-end.js';

/** The outcome that a remote end settles its token with. A result that no item can hold fails the wait and says why. */
export function outcomeOf(end: RemoteEnd, server: string): TokenOutcome {
  if (end.kind === 'failed') return end;
  const sizeBytes = utf8Bytes(JSON.stringify(end.result));
  return sizeBytes <= payloadMaxBytes ? end : tooLarge(server, sizeBytes, end);
}

function tooLarge(server: string, sizeBytes: number, end: { readonly taskId?: string }): TokenOutcome {
  const message = `the result of the remote task on "${server}" is ${sizeBytes} bytes of JSON, the limit is ${payloadMaxBytes}`;
  const details: Record<string, JsonValue> = { server, sizeBytes, limitBytes: payloadMaxBytes };
  return {
    kind: 'failed',
    error: storedError(
      'PAYLOAD_TOO_LARGE',
      message,
      end.taskId === undefined ? details : { ...details, taskId: end.taskId },
    ),
  };
}
