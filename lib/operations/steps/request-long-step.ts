import { defined } from '../../base/defined.js';
import { longStepResendMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { Traced } from '../../base/trace-context.js';
import type { OpenLongStep } from '../../history/run-state.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import type { Persist } from '../persist.js';
import { stepAt } from '../wake.js';

/**
 * Puts the item of a long step, if absent, and asks a worker for its first attempt. The item's marker backs up the
 * message: the sweep sends another one for the same instant.
 */
export async function requestLongStep(
  deps: Deps,
  { runId, traceparent }: Traced,
  wait: OpenLongStep,
  persist: Persist,
): Promise<TokenRecord> {
  const { waitId, deadlineAtMs } = wait;
  const nowMs = deps.clock.nowMs();
  const writerId = deps.random.hex(16);
  const dueAtMs = nowMs + longStepResendMs;
  const fresh: TokenRecord = {
    runId,
    waitId,
    attempt: 1,
    writerId,
    createdAtMs: nowMs,
    ...defined({ deadlineAtMs, traceparent }),
    step: { failedAttempts: 0, strikes: 0, sinceMs: nowMs },
    pollErrors: 0,
    dueAtMs,
  };
  const { token } = await persist(() => deps.store.tokens.put(fresh));
  // A worker acts on the instant on the item, whenever the message arrives.
  if (token.writerId === writerId) await stepAt(deps, { runId, waitId, dueAtMs }, nowMs);
  return token;
}

/**
 * Makes the next attempt of a long step due now if it is waiting for its instant and the wait began before `askedAtMs`.
 * Returns the current item; undefined if there is none.
 */
export async function hastenLongStep(
  deps: Deps,
  { runId, waitId }: Pick<TokenRecord, 'runId' | 'waitId'>,
  askedAtMs: EpochMs,
  persist: Persist,
): Promise<TokenRecord | undefined> {
  const token = await persist(() => deps.store.tokens.read(runId, waitId));
  const nowMs = deps.clock.nowMs();
  if (token?.step === undefined || token.settlement !== undefined || token.dueAtMs === undefined) return token;
  const { strikes, sinceMs } = token.step;
  if (strikes > 0 || sinceMs > askedAtMs || token.dueAtMs <= nowMs) return token;
  const move = { seenDueAtMs: token.dueAtMs, dueAtMs: nowMs };
  const moved = await persist(() => deps.store.longSteps.move(runId, waitId, move));
  if (moved) await stepAt(deps, { runId, waitId, dueAtMs: nowMs }, nowMs);
  return moved ? { ...token, dueAtMs: nowMs } : token;
}
