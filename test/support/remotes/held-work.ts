/** Work for a remote server of the examples that lasts until a test ends it. */
export interface HeldWork {
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Ends the work of every task, including tasks that are created later. */
  readonly finish: () => void;
}

export function heldWork(): HeldWork {
  const finished = new AbortController();
  return {
    work: (signal) =>
      new Promise((resolve, reject) => {
        if (finished.signal.aborted) {
          resolve();
          return;
        }
        finished.signal.addEventListener('abort', () => {
          resolve();
        });
        signal.addEventListener('abort', () => {
          reject(new Error('stopped'));
        });
      }),
    finish: () => {
      finished.abort();
    },
  };
}
