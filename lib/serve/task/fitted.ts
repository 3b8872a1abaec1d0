import { utf8Bytes } from '../../base/json.js';
import type { Artifact, ServedTask, TaskMessage } from './served-task.js';

/** What is shown of a task beside its status. */
export interface Fitted {
  readonly history: readonly TaskMessage[];
  readonly artifacts: readonly Artifact[];
}

/**
 * Returns the artifacts, and the newest messages of the history, at most `historyLength`, so that their JSON has about
 * `maxBytes` at most. The newest artifacts come first: of one that does not fit, a text says how large it is. Messages
 * have what is left.
 */
export function fitted({ history, artifacts }: ServedTask, historyLength: number, maxBytes: number): Fitted {
  let left = maxBytes;
  const shown: Artifact[] = [];
  for (const artifact of artifacts.toReversed()) {
    const size = bytesOf(artifact);
    const isLeftOut = size > left;
    shown.unshift(isLeftOut ? { ...artifact, parts: [{ text: `left out: ${size} bytes` }] } : artifact);
    if (!isLeftOut) left -= size;
  }
  const newest = historyLength === 0 ? [] : history.slice(-historyLength);
  const tooMuchAt = newest.findLastIndex((message) => {
    left -= bytesOf(message);
    return left < 0;
  });
  return { history: newest.slice(tooMuchAt + 1), artifacts: shown };
}

function bytesOf(value: object): number {
  return utf8Bytes(JSON.stringify(value));
}
