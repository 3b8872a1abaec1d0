import type { PassContext } from './pass-context.js';

/**
 * Lets a run whose start was debounced begin: later starts no longer change its input. Returns false if one has done so
 * since the run was read, or if another turn was first: the run must be read again. Keeps B3 (debounced-start.ts).
 */
export async function closeDebounce({ deps, run }: PassContext): Promise<boolean> {
  const { runId, debounce } = run.head;
  return debounce === undefined || (await deps.store.limitedStarts()).closeDebounce(runId, debounce);
}
