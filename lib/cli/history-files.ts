import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunId } from '../base/ids.js';
import type { HistoryView } from '../operations/views/read-history.js';
import { CliError, exitCodes } from './cli-error.js';

/**
 * Returns the files of the given paths, sorted: a file with any name, or all `.json` files of a folder.
 * @throws CliError (usage) that names a path that cannot be read
 */
export async function historyFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files = await Promise.all(
    paths.map(async (path) => {
      try {
        return (await stat(path)).isDirectory() ? await jsonFilesIn(path) : [path];
      } catch (error) {
        throw new CliError(unreadable(path, error), exitCodes.usage);
      }
    }),
  );
  return [...new Set(files.flat())].sort();
}

async function jsonFilesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Reads a history. @throws CliError if the file cannot be read or is not a history */
export async function readHistoryFile(file: string): Promise<HistoryView> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(unreadable(file, error), exitCodes.failed);
  }
  let history: unknown;
  try {
    history = JSON.parse(text);
  } catch {
    history = undefined;
  }
  if ((history as { readonly omittedEvents?: unknown } | null | undefined)?.omittedEvents !== undefined)
    throw new CliError(`${file} lacks the first events; export it without --limit`, exitCodes.failed);
  if (!isHistory(history))
    throw new CliError(`${file} is not a history; export one with outwait history <runId> --json`, exitCodes.failed);
  return history;
}

function unreadable(path: string, error: unknown): string {
  return `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`;
}

function isHistory(value: unknown): value is HistoryView {
  if (typeof value !== 'object' || value === null) return false;
  const { runId, workflow, seed, events } = value as Partial<Record<keyof HistoryView, unknown>>;
  return (
    typeof runId === 'string' &&
    isRunId(runId) &&
    typeof workflow === 'string' &&
    typeof seed === 'string' &&
    Array.isArray(events) &&
    events.every((event: unknown) => typeof (event as { type?: unknown } | null)?.type === 'string')
  );
}
