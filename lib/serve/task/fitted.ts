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

/** What a page of tasks holds of them: no more than is shown, or a page of large ones would fill the memory. */
export interface PageContents {
  /** Messages of each task. */
  readonly historyLength: number;
  readonly artifacts: boolean;
  /** Room for messages and artifacts of the whole page, as JSON. It may have up to twice as much. */
  readonly maxBytes: number;
}

/** The tasks of a page, which keeps to its room as it grows. */
export class FittedPage {
  readonly #contents: PageContents | undefined;
  #tasks: readonly ServedTask[] = [];
  /** Number of tasks that the room is divided by: doubles when there are so many. */
  #shares = 1;

  constructor(contents: PageContents | undefined) {
    this.#contents = contents;
  }

  get tasks(): readonly ServedTask[] {
    return this.#tasks;
  }

  add(task: ServedTask): void {
    const all = [...this.#tasks, task];
    if (all.length < this.#shares * 2) {
      this.#tasks = [...this.#tasks, this.#cut(task)];
    } else {
      this.#shares *= 2;
      this.#tasks = all.map((one) => this.#cut(one));
    }
  }

  #cut(task: ServedTask): ServedTask {
    if (this.#contents === undefined) return task;
    const { historyLength, artifacts, maxBytes } = this.#contents;
    const asked = artifacts ? task : { ...task, artifacts: [] };
    return { ...asked, ...fitted(asked, historyLength, maxBytes / this.#shares) };
  }
}

function bytesOf(value: object): number {
  return utf8Bytes(JSON.stringify(value));
}
