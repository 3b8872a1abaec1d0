import { isUnreadable } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { Deps } from './deps.js';

/**
 * Gives what `work` gives. Undefined, with a warning, for what this deployment cannot read: another delivery of a message
 * would not read it either, its marker stands, and the sweep comes back to it.
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
