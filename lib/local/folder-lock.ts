import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../base/errors.js';
import { isRunning, type ProcessIdentity, processOf } from './process-identity.js';

const lockFile = /^lock-(\d+)\.json$/;

/**
 * Locks the folder for this process, as long as it runs; there is nothing to release.
 *
 * A lock is a numbered file that names a process. The file with the highest number is valid as long as its process
 * runs. To take over from a dead process, create the next number, which succeeds for one process only. The valid file
 * is never removed; otherwise a slow process could take a number that it had seen as free.
 * @throws EngineError `CONFIG_INVALID` that names the folder and the process that locks it
 */
export async function lockFolder(folder: string): Promise<void> {
  const self = processOf(process.pid) ?? { pid: process.pid, start: '' };
  for (;;) {
    const highest = Math.max(0, ...(await lockNumbers(folder)));
    if (highest > 0) {
      const owner = await readOwner(fileOf(folder, highest));
      // Removed between the two calls: another process is further along.
      if (owner === 'gone') continue;
      if (owner !== undefined && isRunning(owner)) throw heldBy(folder, owner);
    }
    const mine = highest + 1;
    if (!(await createOnce(folder, fileOf(folder, mine), JSON.stringify(self)))) continue;
    const numbers = await lockNumbers(folder);
    if (Math.max(...numbers) > mine) {
      // Other processes took this and later numbers meanwhile, and cleaned up.
      await rm(fileOf(folder, mine), { force: true });
      continue;
    }
    for (const number of numbers) if (number < mine) await rm(fileOf(folder, number), { force: true });
    return;
  }
}

/** Returns the process that locks the folder now, if any, without locking it. */
export async function ownerOf(folder: string): Promise<ProcessIdentity | undefined> {
  const highest = Math.max(0, ...(await lockNumbers(folder)));
  const owner = highest === 0 ? undefined : await readOwner(fileOf(folder, highest));
  return owner !== undefined && owner !== 'gone' && isRunning(owner) ? owner : undefined;
}

/** Creates the file atomically with its content. Returns false if it exists. */
async function createOnce(folder: string, file: string, content: string): Promise<boolean> {
  const draft = join(folder, `lock-draft-${randomUUID()}`);
  await writeFile(draft, content, { mode: 0o600 });
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function lockNumbers(folder: string): Promise<number[]> {
  return (await readdir(folder)).flatMap((name) => {
    const number = lockFile.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
}

async function readOwner(file: string): Promise<ProcessIdentity | undefined | 'gone'> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone';
    throw error;
  }
  try {
    const { pid, start } = JSON.parse(text) as Partial<ProcessIdentity>;
    return typeof pid === 'number' && typeof start === 'string' ? { pid, start } : undefined;
  } catch {
    // Power was lost before the content was on the disk: the process that wrote it no longer runs.
    return undefined;
  }
}

function fileOf(folder: string, number: number): string {
  return join(folder, `lock-${number}.json`);
}

function heldBy(folder: string, { pid }: ProcessIdentity): EngineError {
  return new EngineError(
    'CONFIG_INVALID',
    `${folder} is in use by another outwait dev (process ${pid}); stop that one (kill ${pid}), or choose another folder with --state`,
  );
}
