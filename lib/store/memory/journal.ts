// An append-only file behind a memory table. First line: the format. Then one line per write or transaction: a JSON
// array of the whole new items. A transaction is one line, so a torn write loses all of it or nothing.

import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EngineError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import { durableTable, JournalWriter, lineOf } from './journal-writer.js';
import { MemoryTable } from './memory-table.js';
import type { Item, Table } from '../table.js';

/** A journal is rewritten at open if it has this many lines more than twice its items. */
const journalSpareLines = 1_000;

const format = 'outwait-journal';
const version = 1;
const header = `${JSON.stringify({ format, version })}\n`;
const newline = 0x0a;
const chunkBytes = 1024 * 1024;

export interface JournalOptions {
  /** Created if missing; its folder must exist. One process at a time: the caller holds the lock. */
  readonly file: string;
  readonly log: Log;
  /** Called if a write to the journal has failed: the table takes no further calls. */
  readonly onLost?: (error: EngineError) => void;
}

export interface JournaledTable {
  readonly table: Table;
  /** Resolves when everything is on disk. The table takes no calls afterwards. */
  readonly close: () => Promise<void>;
}

/**
 * Reads the journal into memory and continues it. A last line that a crash cut short was never acknowledged: it is
 * removed, with a warning to `log`. Throws EngineError `HISTORY_FORMAT_UNKNOWN` for a journal of another version and
 * `CONFIG_INVALID` for a file that is not a journal or is damaged before its last line; the file is then left as it is.
 */
export async function openJournaledTable({ file, log, onLost }: JournalOptions): Promise<JournaledTable> {
  // Opened as it is, created if missing; appends go to the end.
  let handle = await open(file, 'a+');
  try {
    const journal: { current?: JournalWriter } = {};
    const memory = new MemoryTable({ onApplied: (items) => journal.current?.append(items) });
    const lines = await replay(handle, memory, { file, log });
    const items = [...memory.items()];
    if (lines > 2 * items.length + journalSpareLines) {
      await handle.close();
      handle = await compact(file, items);
      log.info('journal compacted', { file, lines, items: items.length });
    }
    const writer = new JournalWriter(handle, onLost);
    journal.current = writer;
    return { table: durableTable(memory, writer), close: () => writer.close() };
  } catch (error) {
    await handle.close().catch(() => undefined);
    throw error;
  }
}

/** Reads the lines of the journal into `memory`; returns their count. An empty file gets its first line. */
async function replay(handle: FileHandle, memory: MemoryTable, { file, log }: JournalOptions): Promise<number> {
  let goodBytes = 0;
  let lineNumber = 0;
  let torn: { readonly line: number } | undefined;
  for await (const line of linesOf(handle)) {
    // There is something after the unreadable line, so it was not the last.
    if (torn !== undefined) throw damaged(file, torn.line);
    lineNumber++;
    if (lineNumber === 1 && line.complete) {
      checkHeader(line.text, file);
    } else {
      const items = line.complete ? parseLine(line.text) : undefined;
      if (items === undefined) {
        torn = { line: lineNumber };
        continue;
      }
      for (const item of items) memory.restore(item);
    }
    goodBytes += line.bytes;
  }
  if (torn !== undefined) {
    if (lineNumber === 1 && !(await startsLikeHeader(handle))) throw notAJournal(file);
    await handle.truncate(goodBytes);
    log.warn('journal: last line cut short by a crash, removed', { file, line: torn.line });
  }
  if (goodBytes === 0) {
    await handle.appendFile(header);
    await handle.sync();
    await syncFolder(file);
  } else if (torn !== undefined) {
    await handle.sync();
  }
  return lineNumber;
}

interface Line {
  readonly text: string;
  readonly bytes: number;
  /** Whether it ends with a newline. */
  readonly complete: boolean;
}

async function* linesOf(handle: FileHandle): AsyncGenerator<Line> {
  const chunk = Buffer.alloc(chunkBytes);
  let parts: Buffer[] = [];
  let position = 0;
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    let rest = Buffer.from(chunk.subarray(0, bytesRead));
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]);
      parts = [];
      rest = rest.subarray(end + 1);
      yield { text: line.toString(), bytes: line.length + 1, complete: true };
    }
    if (rest.length > 0) parts.push(rest);
  }
  const last = Buffer.concat(parts);
  if (last.length > 0) yield { text: last.toString(), bytes: last.length, complete: false };
}

function checkHeader(line: string, file: string): void {
  const first = parsed(line) as { format?: unknown; version?: unknown } | null | undefined;
  if (first?.format !== format) throw notAJournal(file);
  if (first.version !== version) {
    throw new EngineError(
      'HISTORY_FORMAT_UNKNOWN',
      `${file} is a journal of format version ${String(first.version)}; this release reads version ${version}`,
    );
  }
}

/** Returns true for a first line that a crash may have cut; a file that never was a journal is left alone. */
async function startsLikeHeader(handle: FileHandle): Promise<boolean> {
  const start = Buffer.alloc(header.length);
  const { bytesRead } = await handle.read(start, 0, start.length, 0);
  return header.startsWith(start.subarray(0, bytesRead).toString());
}

function parseLine(line: string): Item[] | undefined {
  const items = parsed(line);
  return Array.isArray(items) && items.length > 0 && items.every(isItem)
    ? items.map((item) => Object.freeze(item))
    : undefined;
}

function isItem(value: unknown): value is Item {
  if (typeof value !== 'object' || value === null) return false;
  const item = value as Record<string, unknown>;
  const isScalar = (field: unknown) => typeof field === 'string' || typeof field === 'number';
  return typeof item['pk'] === 'string' && typeof item['sk'] === 'string' && Object.values(item).every(isScalar);
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Writes a journal of `items` next to the old one and replaces it; a crash leaves one or the other, whole. */
async function compact(file: string, items: readonly Item[]): Promise<FileHandle> {
  const fresh = `${file}.new`;
  const handle = await open(fresh, 'w');
  try {
    await handle.appendFile(header);
    let text = '';
    for (const item of items) {
      text += lineOf([item]);
      if (text.length < chunkBytes) continue;
      await handle.appendFile(text);
      text = '';
    }
    await handle.appendFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
  await syncFolder(file);
  return open(file, 'a+');
}

/** Makes the name of a new or renamed file durable. */
async function syncFolder(file: string): Promise<void> {
  // Windows cannot open folders.
  const folder = await open(dirname(file), 'r').catch(() => undefined);
  try {
    await folder?.sync();
  } finally {
    await folder?.close();
  }
}

function damaged(file: string, line: number): EngineError {
  return new EngineError('CONFIG_INVALID', `${file} is damaged: line ${line} cannot be read and is not the last`);
}

function notAJournal(file: string): EngineError {
  return new EngineError('CONFIG_INVALID', `${file} is not a journal of outwait`);
}
