import type { EpochMs } from '../base/time.js';
import type { Settlement, TokenRecord } from '../history/records.js';
import type { Deps } from './deps.js';
import { timedOut } from '../decide/worker-start.js';

export interface Settled {
  readonly settled: boolean;
  /** The deadline had passed unseen, and this call has settled the wait as timed out: its run is to be woken. */
  readonly timedOut: boolean;
  /** As it is now. */
  readonly token: TokenRecord | undefined;
}

/** A settlement of this instant, for one write: its writer id tells whether a refused write was this one. */
export function newSettlement(
  deps: Pick<Deps, 'random' | 'clock'>,
  end: Pick<Settlement, 'by' | 'outcome'>,
): Settlement {
  return { writerId: deps.random.hex(16), atMs: deps.clock.nowMs(), ...end };
}

/**
 * Settles a wait if its deadline has not passed, by the clock of this process. One that has, and that no sweep has seen
 * yet, is settled as timed out: whoever looks first says so.
 */
export async function settleInTime(
  deps: Deps,
  { runId, waitId }: Pick<TokenRecord, 'runId' | 'waitId'>,
  settlement: Settlement,
  unless?: 'handle' | 'form',
): Promise<Settled> {
  for (;;) {
    const { settled, token } = await deps.store.tokens.settle(runId, waitId, settlement, { kind: 'inTime', unless });
    if (settled || !isOverdue(token, settlement.atMs)) return { settled, timedOut: false, token };
    const late = await timeOut(deps, token, settlement.atMs);
    // A heartbeat of another process may have moved the deadline since: then there is time.
    if (late.timedOut || late.token?.settlement !== undefined) return { settled: false, ...late };
  }
}

/** Settles a wait whose deadline has passed, unless the deadline has been moved since `token` was read. */
export async function timeOut(deps: Deps, overdue: OverdueToken, atMs: EpochMs): Promise<Omit<Settled, 'settled'>> {
  const { runId, waitId, deadlineAtMs } = overdue;
  const writerId = deps.random.hex(16);
  const settlement: Settlement = { writerId, atMs, by: 'timeout', outcome: timedOut(overdue) };
  const { settled, token } = await deps.store.tokens.settle(runId, waitId, settlement, {
    kind: 'deadlineIs',
    deadlineAtMs,
  });
  return { timedOut: settled, token };
}

type OverdueToken = TokenRecord & { readonly deadlineAtMs: EpochMs };

/** Nobody has settled it, and its deadline has passed. */
export function isOverdue(token: TokenRecord | undefined, nowMs: EpochMs): token is OverdueToken {
  return token !== undefined && token.settlement === undefined && (token.deadlineAtMs ?? Infinity) <= nowMs;
}
