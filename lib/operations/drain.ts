/**
 * Resolves when the microtask queue has run dry. No phase of the event loop comes in between, so what a workflow awaits
 * of its own (a timer, a reply) can never arrive within a turn: whether it is found stuck does not hang on timing.
 */
export function drainMicrotasks(): Promise<void> {
  return new Promise((resolve) => {
    // From inside a microtask, a tick comes after all microtasks; from elsewhere it would come before them.
    queueMicrotask(() => {
      process.nextTick(resolve);
    });
  });
}
