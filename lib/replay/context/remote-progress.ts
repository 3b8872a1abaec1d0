import { EngineError, readable } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import type { TaskProgress } from '../../history/task-trail.js';
import type { ProgressHandler } from '../../workflow/context.js';
import type { Scope } from '../waits/scope.js';
import { checkDeed, type ContextHost } from './host.js';

/** Hears of the changes of a call's task. */
interface Hearer {
  readonly callId: WaitId;
  readonly handler: ProgressHandler;
  /** Scope of what the handler waits for; closed with the call. */
  readonly scope: Scope;
}

/**
 * Returns what passes the changes of a task to the handler of its call, one at a time: of those that come while the
 * handler waits, it gets the last. The call fails if the handler fails.
 */
export function hearing(host: ContextHost, { callId, handler, scope }: Hearer): (shown: TaskProgress) => void {
  let next: TaskProgress | undefined;
  let isHearing = false;
  const hear = async (): Promise<void> => {
    isHearing = true;
    try {
      for (; next !== undefined && host.news.hearer(callId) !== undefined;) {
        const shown = next;
        next = undefined;
        await handler(shown, host.contextOf(scope));
        checkDeed(host, 'onProgress of a call ended');
      }
    } catch (error) {
      failCall(host, callId, 'onProgress', error);
    }
    isHearing = false;
  };
  return (shown) => {
    next = shown;
    if (!isHearing) void hear();
  };
}

/** Fails a call whose handler has failed; without effect once the call has ended. */
export function failCall(host: ContextHost, callId: WaitId, name: 'onInput' | 'onProgress', error: unknown): void {
  // Outside of the turn: a replay could not repeat it at this point.
  if (!host.position.isAdvancing) return;
  const thrown = readable(error);
  host.waits.drop(
    callId,
    thrown instanceof Error ? thrown : new EngineError('INPUT_INVALID', `${name} threw a value that is not an Error`),
  );
}
