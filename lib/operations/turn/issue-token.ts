import { defined } from '../../base/defined.js';
import type { Traced } from '../../base/trace-context.js';
import type { ExternalWaitIssued } from '../../history/event.js';
import type { OpenExternal } from '../../history/run-state.js';
import type { RunHead, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import type { Persist } from '../persist.js';

/**
 * Puts the item of a token, if absent, so that the token can be given out. The id of its signing key is in the event.
 */
export async function issueToken(
  deps: Deps,
  { runId, traceparent, tenant }: Traced & Pick<RunHead, 'tenant'>,
  wait: OpenExternal,
  persist: Persist,
): Promise<{ readonly token: TokenRecord; readonly issued: ExternalWaitIssued }> {
  const { waitId, deadlineAtMs, form } = wait;
  const fresh: TokenRecord = {
    runId,
    waitId,
    attempt: 1,
    writerId: deps.random.hex(16),
    createdAtMs: deps.clock.nowMs(),
    ...defined({ deadlineAtMs, traceparent, form, tenant: form === undefined ? undefined : tenant }),
    pollErrors: 0,
  };
  const { token } = await persist(() => deps.store.tokens.put(fresh));
  return {
    token,
    issued: { type: 'ExternalWaitIssued', atMs: deps.clock.nowMs(), waitId, keyId: deps.tokens.currentKeyId },
  };
}
