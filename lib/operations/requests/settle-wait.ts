import { EngineError, hasCode } from '../../base/errors.js';
import { isRunId, isWaitId, type RunId, type WaitId } from '../../base/ids.js';
import type { Deps } from '../deps.js';
import { type SettleRequest, type SettleResult, settleToken } from './settle-token.js';

/**
 * Settles a wait for an operator, who needs no token: anyone who may manage runs may derive it. Only waits that have a
 * token can be settled: remote tasks, external tokens, children, long steps.
 * @throws EngineError `TOKEN_INVALID`, `PAYLOAD_TOO_LARGE`, `INPUT_INVALID` for a result if the wait is a question
 */
export async function settleWait(
  deps: Deps,
  runId: RunId,
  waitId: WaitId,
  outcome: SettleRequest['outcome'],
): Promise<SettleResult> {
  if (!isRunId(runId) || !isWaitId(waitId)) throw noSuchWait();
  try {
    return await settleToken(deps, { token: deps.tokens.settleToken({ runId, waitId }), outcome }, 'operator');
  } catch (error) {
    throw hasCode(error, 'TOKEN_INVALID') ? noSuchWait() : error;
  }
}

function noSuchWait(): EngineError {
  return new EngineError('TOKEN_INVALID', 'the run has no wait with this id that can be settled from outside');
}
