import type { StoredError } from '../../base/errors.js';
import { utf8Bytes, type JsonValue } from '../../base/json.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import { remoteError } from '../rpc/remote-error.js';

/** An id of a server that can be kept, shown and sent back in a header or a URL. */
export function isUsableId(id: JsonValue | undefined): id is string {
  return (
    typeof id === 'string' &&
    id.isWellFormed() &&
    // Something that is seen, and nothing that steers a terminal.
    /[^\s\p{Cf}]/u.test(id) &&
    !/\p{Cc}/u.test(id) &&
    utf8Bytes(id) <= remoteIdMaxBytes
  );
}

/** A task to be taken over under an id that no server can have given out. */
export const unusableId = {
  kind: 'refused',
  error: remoteError(
    'REMOTE_START_REFUSED',
    `the id of a task, or of its context, is well-formed text of at most ${remoteIdMaxBytes} bytes, not blank and without control characters`,
  ),
} as const;

/** Why a transport for `protocol` and `wire` cannot use `handle`, if so: the configuration or the version of outwait changed under it. */
export function handleProblem(
  handle: RemoteTaskHandle,
  protocol: RemoteTaskHandle['protocol'],
  wire: string,
): StoredError | undefined {
  if (handle.protocol === protocol && handle.wire === wire) return undefined;
  return remoteError(
    'CONFIG_INVALID',
    `the task was started over ${handle.protocol} ${handle.wire}, but the server is now asked over ${protocol} ${wire}`,
  );
}
