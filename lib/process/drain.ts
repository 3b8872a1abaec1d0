import { promiseHooks } from 'node:v8';

/**
 * Resolves when the microtask queue is empty. No phase of the event loop comes in between, so what a workflow awaits on
 * its own (a timer, a reply) can never arrive within a turn: finding it stuck does not depend on timing.
 * `quietly`: rejections meanwhile count as handled. The end of a run rejects waits that no code awaits any more, and
 * nothing holds the promise of an async function around such a wait; Node would report it as a bug.
 */
export function drainMicrotasks({ quietly = false }: { readonly quietly?: boolean } = {}): Promise<void> {
  return quietly ? drainQuietly() : drain();
}

/**
 * Handlers of all quiet drains in the process, shared: two drains that handled each other's handlers would never end.
 */
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

/** Skips handlers, which settle too. */
function handle(promise: Promise<unknown>): void {
  if (!handlers.has(promise)) handlers.add(promise.then(ignore, ignore));
}

// Taken when the module loads: fake timers of test runners replace both, and nothing would ever resolve.
const nextTick = process.nextTick.bind(process);
const { queueMicrotask: afterMicrotasks } = globalThis;

function drain(): Promise<void> {
  return new Promise((resolve) => {
    // From inside a microtask, a tick comes after all microtasks; from elsewhere it would come before them.
    afterMicrotasks(() => {
      nextTick(resolve);
    });
  });
}

function ignore(): void {
  // Drops the outcome: nothing waits for it.
}
