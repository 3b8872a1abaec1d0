import { fstatSync } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';

// Whether a pipe still has a reader, for a process that writes nothing. Node cannot poll the writing end of a pipe, so
// the reader is looked up under /proc, once, and then only that one is looked at.

const intervalMs = 1_000;

/**
 * Calls `onGone` once when the last reader of the pipe behind `descriptor` has closed it. Resolves when the reader was
 * found. Does nothing on systems without /proc, for what is no pipe, and if no reader can be seen. Keeps no process alive.
 */
export async function pipeReader(descriptor: number, onGone: () => void): Promise<void> {
  const pipe = nameOfPipe(descriptor);
  let reader = pipe === undefined ? undefined : await findReader(pipe);
  if (pipe === undefined || reader === undefined) return;
  const look = async (): Promise<void> => {
    if (reader === undefined || !(await reads(reader, pipe))) reader = await findReader(pipe);
    if (reader === undefined) onGone();
    else lookLater();
  };
  const lookLater = (): void => {
    setTimeout(() => void look(), intervalMs).unref();
  };
  lookLater();
}

function nameOfPipe(descriptor: number): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const status = fstatSync(descriptor);
    return status.isFIFO() ? `pipe:[${status.ino}]` : undefined;
  } catch {
    // The descriptor is closed.
    return undefined;
  }
}

/** Returns the path of an open end of the pipe from which another process reads. */
async function findReader(pipe: string): Promise<string | undefined> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  // The newest first: the reader of a pipeline has just been started.
  for (const id of processes.reverse()) {
    const folder = `/proc/${id}/fd`;
    const descriptors = await readdir(folder).catch(() => []);
    for (const name of descriptors) if (await reads(`${folder}/${name}`, pipe)) return `${folder}/${name}`;
  }
  return undefined;
}

/** Whether a path below /proc is the reading end of the pipe. The bits of the link tell for what it is open. */
async function reads(path: string, pipe: string): Promise<boolean> {
  try {
    return (await readlink(path)) === pipe && ((await lstat(path)).mode & 0o400) !== 0;
  } catch {
    // It has been closed.
    return false;
  }
}
