import type { StoredError } from '../base/errors.js';
import { utf8Bytes, type JsonValue } from '../base/json.js';
import { remoteIdMaxBytes } from '../base/limits.js';
import type { RemoteTaskHandle } from '../history/event.js';
import { remoteError } from './remote-error.js';

/** An id of a server that can be kept and sent back. */
export function isUsableId(id: JsonValue | undefined): id is string {
  return typeof id === 'string' && id !== '' && utf8Bytes(id) <= remoteIdMaxBytes;
}

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
