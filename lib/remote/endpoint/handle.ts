import type { StoredError } from '../../base/errors.js';
import { utf8Bytes, type JsonValue } from '../../base/json.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import { remoteError } from '../rpc/remote-error.js';

/** Whether an id from a server can be stored, shown and sent back in a header or a URL. */
export function isUsableId(id: JsonValue | undefined): id is string {
  return (
    typeof id === 'string' &&
    id.isWellFormed() &&
    // Requires a visible character and no terminal control sequences.
    /[^\s\p{Cf}]/u.test(id) &&
    !/\p{Cc}/u.test(id) &&
    utf8Bytes(id) <= remoteIdMaxBytes
  );
}

/** Refusal to take over a task under an id that no server can have issued. */
export const unusableId = {
  kind: 'refused',
  error: remoteError(
    'REMOTE_START_REFUSED',
    `the id of a task, or of its context, must be well-formed text of at most ${remoteIdMaxBytes} bytes, not blank and without control characters`,
  ),
} as const;

/**
 * Returns why a transport for `protocol` and `wire` cannot use `handle`, if the configuration or the version of outwait
 * has changed.
 */
export function handleProblem(
  handle: RemoteTaskHandle,
  protocol: RemoteTaskHandle['protocol'],
  wire: string,
): StoredError | undefined {
  if (handle.protocol === protocol && handle.wire === wire) return undefined;
  return remoteError(
    'CONFIG_INVALID',
    `the task was started over ${handle.protocol} ${handle.wire}, but the server is now called over ${protocol} ${wire}`,
  );
}
