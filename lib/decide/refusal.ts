import type { TokenRecord } from '../history/records.js';

/** Why a settlement is refused. */
export type Refusal = 'already_settled' | 'run_ended' | 'timed_out';

/** Returns why a token that is settled refuses another settlement. */
export function refusalOf(token: TokenRecord): Refusal {
  const kind = token.settlement?.outcome.kind;
  return kind === 'run_ended' || kind === 'timed_out' ? kind : 'already_settled';
}
