/**
 * Marks the promises of a method as handled. A wait may be rejected before the workflow awaits it, or never be awaited;
 * Node must not end the process for that.
 */
export function handled<Args extends unknown[], Result>(
  method: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return (...args) => {
    const promise = method(...args);
    promise.catch(() => undefined);
    return promise;
  };
}
