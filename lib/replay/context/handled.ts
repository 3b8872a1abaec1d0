/**
 * A wait may be rejected before the workflow gets to awaiting it, or be dropped by the author; Node must not take that
 * for a bug of the process and end it.
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
