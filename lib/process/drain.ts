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

/** Shared by all quiet drains of the process: two that handled each other's handlers would never run dry. */
const handlers = new WeakSet<Promise<unknown>>();
let quietDrains = 0;
let stop = (): void => undefined;

async function drainQuietly(): Promise<void> {
  if (quietDrains++ === 0) stop = promiseHooks.onSettled(handle) as () => void;
  try {
    await drain();
  } finally {
    if (--quietDrains === 0) stop();
  }
}

/** Handlers settle too. */
function handle(promise: Promise<unknown>): void {
  if (!handlers.has(promise)) handlers.add(promise.then(ignore, ignore));
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
