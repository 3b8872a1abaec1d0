import type { RunId, WaitId } from '../../base/ids.js';
import type { TokenRecord } from '../../history/records.js';
import { tokenKey } from '../items/keys.js';
import { toToken } from '../items/token.js';
import type { Table, Update } from '../table.js';

/** Updates the item of a wait. Returns its current `token`, also after a refusal; undefined if it does not exist. */
export async function updateToken(
  table: Table,
  runId: RunId,
  waitId: WaitId,
  update: Omit<Update, 'kind' | 'key'>,
): Promise<{ readonly ok: boolean; readonly token: TokenRecord | undefined }> {
  const result = await table.write({ kind: 'update', key: tokenKey(runId, waitId), ...update });
  const item = result.ok ? result.item : result.old;
  return { ok: result.ok, token: item === undefined ? undefined : toToken(item) };
}
