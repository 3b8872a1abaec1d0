import { defined } from '../../base/defined.js';
import { EngineError, storedError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { refusalOf, type Refusal } from '../../decide/refusal.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { Deps } from '../deps.js';
import { newSettlement, settleInTime } from '../settle-in-time.js';
import { wakeRunFor } from '../wake.js';

export interface SettleRequest {
  readonly token: string;
  /** What proved the sender, besides the token; recorded. */
  readonly proof?: string | undefined;
  readonly outcome:
    | { readonly kind: 'completed'; readonly result: JsonValue; readonly isError: boolean }
    /** `retryable`: whether the caller expects a retry to succeed; the workflow finds it in the error's details. */
    | { readonly kind: 'failed'; readonly message: string; readonly retryable?: boolean };
}

export type SettleResult = { readonly settled: true } | { readonly settled: false; readonly reason: Refusal };

/**
 * Settles an external wait for the holder of its token, or for an operator. The first settlement wins. A later one, or
 * one for a run that has ended or a wait whose deadline has passed, has no effect and gets the reason.
 * @throws EngineError `TOKEN_INVALID` (without reading the table, or if its wait is unknown), `PAYLOAD_TOO_LARGE`,
 * `INPUT_INVALID` for a result if the wait is a question: that takes an answer, by another route
 */
export async function settleToken(
  deps: Deps,
  request: SettleRequest,
  by: 'relay' | 'operator' = 'relay',
): Promise<SettleResult> {
  const { runId, waitId } = deps.tokens.parseSettleToken(request.token);
  const outcome = toOutcome(request.outcome);
  const unless = outcome.kind === 'completed' ? 'form' : undefined;
  const settlement = newSettlement(deps, { by, outcome, ...defined({ proof: request.proof }) });
  const { settled, timedOut, token } = await settleInTime(deps, { runId, waitId }, settlement, unless);
  if (token === undefined) throw new EngineError('TOKEN_INVALID', 'no wait is known for this token');
  if (!settled && token.settlement === undefined)
    throw new EngineError('INPUT_INVALID', 'this wait is a question: it takes an answer, not a result');
  if (settled || timedOut) await wakeRunFor(deps, runId, { waitId });
  return settled ? { settled } : { settled, reason: refusalOf(token) };
}

function toOutcome(given: SettleRequest['outcome']): TokenOutcome {
  if (given.kind === 'failed') {
    const details = given.retryable === undefined ? undefined : { retryable: given.retryable };
    return {
      kind: 'failed',
      error: storedError('REMOTE_TASK_FAILED', `remote task failed: ${given.message}`, details),
    };
  }
  checkJsonBytes('the result is', jsonBytes(given.result));
  return given;
}
