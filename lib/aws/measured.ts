import type { Deps } from '../operations/deps.js';

/** Does the work of one invocation, then writes the metrics and sends the spans that were gathered meanwhile. */
export async function measured<Result>(
  { metrics, spans }: Pick<Deps, 'metrics' | 'spans'>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } finally {
    metrics?.flush?.();
    // Lambda freezes the process when the handler has returned.
    await spans?.flush();
  }
}
