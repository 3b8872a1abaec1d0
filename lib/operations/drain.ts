import { promiseHooks } from 'node:v8';

/**
 * Resolves when the microtask queue has run dry. No phase of the event loop comes in between, so what a workflow awaits
 * of its own (a timer, a reply) can never arrive within a turn: whether it is found stuck does not hang on timing.
 * `quietly`: what is rejected meanwhile counts as handled. The end of a run rejects waits of code that nobody waits for,
 * and the promise of an async function around such a wait is in nobody's hands; Node would take it for a bug.
 */
export function drainMicrotasks({ quietly = false }: { readonly quietly?: boolean } = {}): Promise<void> {
  return quietly ? drainQuietly() : drain();
}

async function drainQuietly(): Promise<void> {
  const own = new WeakSet<Promise<unknown>>();
  const stop = promiseHooks.onSettled((promise) => {
    // Its own handlers settle too.
    if (!own.has(promise)) own.add(promise.then(ignore, ignore));
  }) as () => void;
  try {
    await drain();
  } finally {
    stop();
  }
}

function drain(): Promise<void> {
  return new Promise((resolve) => {
    // From inside a microtask, a tick comes after all microtasks; from elsewhere it would come before them.
    queueMicrotask(() => {
      process.nextTick(resolve);
    });
  });
}

function ignore(): void {
  // Nobody is there to be told.
}
