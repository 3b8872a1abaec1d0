import { defined } from '../base/defined.js';
import type { EpochMs } from '../base/time.js';
import type { Settlement, TokenRecord } from '../history/records.js';
import type { SettleGuard, Settling } from '../store/run-store.js';
import type { Deps } from './deps.js';
import { timedOut } from '../decide/worker-start.js';
import { recordSettlement } from './trace.js';

export interface Settled {
  readonly settled: boolean;
  /**
   * Whether the deadline had passed unseen, and this call has settled the wait as timed out: its run is to be woken.
   */
  readonly timedOut: boolean;
  /** The current token. */
  readonly token: TokenRecord | undefined;
}

/** Creates a settlement as of now, for one write: its writer id shows whether a refused write was this one. */
export function newSettlement(
  deps: Pick<Deps, 'random' | 'clock' | 'caller'>,
  end: Pick<Settlement, 'by' | 'caller' | 'proof' | 'outcome'>,
): Settlement {
  const caller = defined({ caller: deps.caller?.id });
  return { writerId: deps.random.hex(16), atMs: deps.clock.nowMs(), ...caller, ...end };
}

/**
 * Settles a wait if its deadline has not passed, by the clock of this process. If it has, and no sweep has noticed yet,
 * the wait is settled as timed out.
 */
export async function settleInTime(
  deps: Deps,
  { runId, waitId }: Pick<TokenRecord, 'runId' | 'waitId'>,
  settlement: Settling,
  unless?: 'handle' | 'form',
): Promise<Settled> {
  for (;;) {
    const { settled, token } = await settle(deps, { runId, waitId }, settlement, { kind: 'inTime', unless });
    if (settled || !isOverdue(token, settlement.atMs)) return { settled, timedOut: false, token };
    const late = await timeOut(deps, token, settlement.atMs);
    // Another process may have moved the deadline by a heartbeat: then there is time.
    if (late.timedOut || late.token?.settlement !== undefined) return { settled: false, ...late };
  }
}

/** Settles a wait whose deadline has passed, unless the deadline was moved since `token` was read. */
export async function timeOut(deps: Deps, overdue: OverdueToken, atMs: EpochMs): Promise<Omit<Settled, 'settled'>> {
  const { runId, waitId, deadlineAtMs } = overdue;
  const writerId = deps.random.hex(16);
  const settlement: Settlement = { writerId, atMs, by: 'timeout', outcome: timedOut(overdue) };
  const guard = { kind: 'deadlineIs', deadlineAtMs } as const;
  const { settled, token } = await settle(deps, { runId, waitId }, settlement, guard);
  return { timedOut: settled, token };
}

/** Settles a wait with one write, counts the settlement and records its span. Every settlement of a wait goes through here. */
export async function settle(
  deps: Pick<Deps, 'store' | 'metrics' | 'spans'>,
  { runId, waitId }: Pick<TokenRecord, 'runId' | 'waitId'>,
  settlement: Settling,
  guard?: SettleGuard,
): Promise<Omit<Settled, 'timedOut'>> {
  const { settled, token } = await deps.store.tokens.settle(runId, waitId, settlement, guard);
  if (settled) deps.metrics?.put('Settlements', 1, { source: settlement.by });
  if (settled && token !== undefined) recordSettlement(deps, token, settlement);
  return { settled, token };
}

type OverdueToken = TokenRecord & { readonly deadlineAtMs: EpochMs };

/** Returns true if the token is not settled and its deadline has passed. */
export function isOverdue(token: TokenRecord | undefined, nowMs: EpochMs): token is OverdueToken {
  return token !== undefined && token.settlement === undefined && (token.deadlineAtMs ?? Infinity) <= nowMs;
}
