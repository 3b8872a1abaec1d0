import { isUnreadable } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { Deps } from './deps.js';

/**
 * Returns what `work` returns. If this deployment cannot read the item, logs a warning and returns undefined: another
 * delivery would not read it either, but its marker stays, and the sweep retries.
 */
export async function skipUnreadable<Value>(
  deps: Pick<Deps, 'log'>,
  what: 'run' | 'wait' | 'question' | 'start' | 'long step',
  where: { readonly runId: RunId; readonly waitId?: WaitId },
  work: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    deps.log.warn(`${what} skipped: it cannot be read`, { ...where, code: error.code, reason: error.message });
    return undefined;
  }
}
