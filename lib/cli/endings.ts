import { pipeReader } from './pipe-reader.js';

// What ends a command from outside: a signal, or that nobody reads its output any more (`| head`).

/** As a shell reports a process that SIGPIPE has ended. Node ignores the signal, and gets an error instead. */
export const closedOutputCode = 128 + 13;

let onClosed = (): void => process.exit(closedOutputCode);

/** Sets what happens once when the output is closed, in place of the end of the process. */
export function whenOutputCloses(handle: () => void): void {
  onClosed = handle;
}

let isClosed = false;
const close = (): void => {
  if (isClosed) return;
  isClosed = true;
  onClosed();
};

/** Ends this process at the first write that nobody reads any more. Call it once. */
export function endWithOutput(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    // EIO: the terminal is gone.
    if (code === 'EPIPE' || code === 'EIO') close();
  });
  // Nowhere to say it.
  process.stderr.on('error', () => undefined);
}

/**
 * Also ends this process if nobody reads its output and it writes nothing, a second or so later: for a command that may wait
 * for long. Works for pipes on Linux. Await it before anything is written: as long as a reader such as `head` is still there.
 */
export async function endWithReader(): Promise<void> {
  await pipeReader(1, close);
}
