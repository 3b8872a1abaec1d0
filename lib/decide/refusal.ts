import type { TokenRecord } from '../history/records.js';

/** Why a wait takes no settlement. */
export type Refusal = 'already_settled' | 'run_ended' | 'timed_out';

/** Why a token that has a settlement takes no other. */
export function refusalOf(token: TokenRecord): Refusal {
  const kind = token.settlement?.outcome.kind;
  return kind === 'run_ended' || kind === 'timed_out' ? kind : 'already_settled';
}
