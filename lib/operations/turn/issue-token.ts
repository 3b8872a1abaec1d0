import { defined } from '../../base/defined.js';
import { storedError } from '../../base/errors.js';
import { noticesDueAtMs, noticesOf } from '../../decide/notices.js';
import type { Traced } from '../../base/trace-context.js';
import type { ExternalWaitIssued } from '../../history/event.js';
import type { OpenExternal } from '../../history/run-state.js';
import type { RunHead, TokenRecord } from '../../history/records.js';
import { problemWithAddressees } from '../../workflow/people.js';
import type { Deps } from '../deps.js';
import type { Persist } from '../persist.js';
import { newSettlement, settle } from '../settle-in-time.js';
import { pollAt } from '../wake.js';

/**
 * Puts the item of a token, if absent, so that the token can be given out. The id of its signing key is in the event.
 * The item of a question has the schedule of its notices, and the marker of the first: a worker sends it. A question to
 * an addressee that the app does not have is settled as failed at once, and not given out.
 */
export async function issueToken(
  deps: Deps,
  { runId, workflow, traceparent, tenant }: Traced & Pick<RunHead, 'workflow' | 'tenant'>,
  wait: OpenExternal,
  persist: Persist,
): Promise<{ readonly token: TokenRecord | undefined; readonly issued: ExternalWaitIssued | undefined }> {
  const { waitId, deadlineAtMs, form } = wait;
  const createdAtMs = deps.clock.nowMs();
  const byDefault = deps.app.people?.default;
  const notices = form === undefined ? undefined : noticesOf(form, { byDefault, workflow, atMs: createdAtMs });
  const dueAtMs = notices === undefined ? undefined : noticesDueAtMs(notices, deadlineAtMs);
  const fresh: TokenRecord = {
    runId,
    waitId,
    attempt: 1,
    writerId: deps.random.hex(16),
    createdAtMs,
    ...defined({ deadlineAtMs, traceparent, form, tenant: form === undefined ? undefined : tenant }),
    ...defined({ notices, dueAtMs }),
    pollErrors: 0,
  };
  const { token } = await persist(() => deps.store.tokens.put(fresh));
  const problem = form === undefined ? undefined : problemWithAddressees(deps.app.people, form);
  if (problem !== undefined) {
    const outcome = { kind: 'failed', error: storedError('CONFIG_INVALID', problem) } as const;
    const settlement = newSettlement(deps, { by: 'start', outcome });
    return { token: (await persist(() => settle(deps, token, settlement))).token, issued: undefined };
  }
  if (dueAtMs !== undefined) await pollAt(deps, { kind: 'poll', runId, waitId, dueAtMs }, dueAtMs);
  return {
    token,
    issued: { type: 'ExternalWaitIssued', atMs: deps.clock.nowMs(), waitId, keyId: deps.tokens.currentKeyId },
  };
}
