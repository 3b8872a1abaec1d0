// What is built from other waits alone.

import { EngineError } from '../base/errors.js';
import type { Saga, WorkflowContext } from '../workflow/context.js';
import { ContinueAsNew } from './continue-as-new.js';

/** Results in the order of the items. After a failure no further item is begun. */
export async function mapInOrder<Item, Result>(
  items: readonly Item[],
  fn: (item: Item, index: number) => Promise<Result>,
  concurrency: number,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      const index = next++;
      try {
        results[index] = await fn(items[index] as Item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return results;
}

/** Compensations run shielded, the last one added first, each as a step; one that fails does not stop the others. */
export async function runSaga(body: (saga: Saga) => Promise<unknown>, shielded: WorkflowContext): Promise<unknown> {
  const compensations: Parameters<Saga['compensate']>[] = [];
  try {
    return await body({ compensate: (...compensation) => void compensations.push(compensation) });
  } catch (error) {
    // Going on as a new run is no failure.
    if (error instanceof ContinueAsNew) throw error;
    const failed: string[] = [];
    for (const [name, work, options] of compensations.reverse()) {
      await shielded.step(name, work, options).catch((reason: unknown) => {
        failed.push(name);
        // Whoever awaits the saga may be gone.
        shielded.log.warn('compensation failed', { runId: shielded.runId, name, error: reason });
      });
    }
    if (failed.length === 0) throw error;
    throw new EngineError('COMPENSATION_FAILED', `compensations failed: ${failed.join(', ')}`, {
      cause: error,
      details: { failed },
    });
  }
}

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
