import type { EpochMs } from '../../lib/base/time.js';
import type { Deps } from '../../lib/operations/deps.js';
import type { TurnMessage } from '../../lib/queue/queue.js';

/** Takes a settlement in as a turn would: removes its marker. Returns its instant; undefined if there is none. */
export async function settleInPlace({ runId }: TurnMessage, deps: Deps): Promise<EpochMs | undefined> {
  const token = await deps.store.tokens.read(runId, '1');
  if (token?.settlement === undefined) return undefined;
  const { dueAtMs } = token;
  if (dueAtMs !== undefined) await deps.store.tokens.clearMarker(runId, '1', { dueAtMs, hasHandle: true });
  return token.settlement.atMs;
}
