import { EngineError } from '../../base/errors.js';
import type { IndexPage, IndexQuery, Item, Table, TransactResult, Write, WriteResult } from '../table.js';

/** The part of an open file that the writer needs; a `FileHandle` in append mode has it. */
export interface JournalFile {
  appendFile(text: string): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

/** Lines that are not yet on disk, written one write at a time. */
export class JournalWriter {
  readonly #file: JournalFile;
  readonly #onFailed: (error: EngineError) => void;
  #waiting: string[] = [];
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #failed = false;
  #closed = false;

  constructor(file: JournalFile, onFailed: (error: EngineError) => void = () => undefined) {
    this.#file = file;
    this.#onFailed = onFailed;
  }

  append(items: readonly Item[]): void {
    this.#waiting.push(lineOf(items));
  }

  /** Throws EngineError `STORE_UNAVAILABLE` if the journal is closed or a write to it has failed. */
  checkOpen(): void {
    if (this.#failed) throw new EngineError('STORE_UNAVAILABLE', 'the journal could not be written; open it again');
    if (this.#closed) throw new EngineError('STORE_UNAVAILABLE', 'the journal is closed');
  }

  /**
   * Resolves when every line appended so far is on disk. Lines appended during a flush share the next one. After a
   * failure all further flushes fail: it is unknown what was written.
   */
  async flushed(): Promise<void> {
    if (this.#waiting.length === 0) return this.#current;
    this.#next ??= this.#current.then(async () => {
      this.#current = this.#next ?? this.#current;
      this.#next = undefined;
      await this.#flush();
    });
    return this.#next;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    try {
      await this.flushed();
    } finally {
      await this.#file.close();
    }
  }

  async #flush(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    try {
      await this.#file.appendFile(lines.join(''));
      await this.#file.datasync();
    } catch (error) {
      if (!this.#failed) {
        this.#failed = true;
        this.#onFailed(unavailable(error));
      }
      throw error;
    }
  }
}

/**
 * Wraps a memory table so that every answer, including reads and refused writes, waits until everything applied before
 * it is on disk: no caller can act on a write that a crash may still undo. This costs nothing if nothing is waiting.
 * `memory` must do its work, and have passed the new items to `journal`, before it returns its promise.
 */
export function durableTable(memory: Table, journal: JournalWriter): Table {
  const read = async <T>(answer: () => Promise<T>): Promise<T> => {
    journal.checkOpen();
    const result = await both(answer(), journal.flushed());
    if (result.flushError !== undefined) throw unavailable(result.flushError);
    return result.value;
  };
  const write = async <T extends { readonly ok: boolean }>(answer: () => Promise<T>): Promise<T> => {
    journal.checkOpen();
    const result = await both(answer(), journal.flushed());
    if (result.flushError === undefined) return result.value;
    if (!result.value.ok) throw unavailable(result.flushError);
    throw new EngineError('STORE_RESULT_UNKNOWN', `the journal could not be written (${codeOf(result.flushError)})`);
  };
  return {
    write: (one: Write): Promise<WriteResult> => write(() => memory.write(one)),
    transact: (writes: readonly Write[]): Promise<TransactResult> => write(() => memory.transact(writes)),
    get: (...given: Parameters<Table['get']>): Promise<Item | undefined> => read(() => memory.get(...given)),
    queryPartition: (...given: Parameters<Table['queryPartition']>): Promise<Item[]> =>
      read(() => memory.queryPartition(...given)),
    queryIndex: (query: IndexQuery): Promise<IndexPage> => read(() => memory.queryIndex(query)),
  };
}

/** Returns the answer, and the flush error if there is one. An error of the call goes first: it has changed nothing. */
async function both<T>(answer: Promise<T>, flush: Promise<void>): Promise<{ value: T; flushError?: unknown }> {
  const flushed = flush.then(
    () => ({}),
    (error: unknown) => ({ flushError: error }),
  );
  return { value: await answer, ...(await flushed) };
}

function unavailable(error: unknown): EngineError {
  return new EngineError('STORE_UNAVAILABLE', `the journal could not be written (${codeOf(error)})`);
}

/** Returns the code of a system error; its message can quote more than belongs in ours. */
function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

/** Formats a write or transaction as it is stored. */
export function lineOf(items: readonly Item[]): string {
  return `${JSON.stringify(items)}\n`;
}
