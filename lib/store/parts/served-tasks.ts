import type { WaitId } from '../../base/ids.js';
import type { InboxRecord, Settlement } from '../../history/records.js';
import { itemAbsent, itemExists, notOverdue, notSettled, statusIs } from '../conditions.js';
import { inboxItem } from '../items/inbox.js';
import { listAttributes, marker } from '../items/indexes.js';
import { headKey, tokenKey } from '../items/keys.js';
import { tokenFields } from '../items/token.js';
import type { Table } from '../table.js';

/** Result of an answer. `closed`: the question has been answered, maybe by this message, or its time is over. */
export type AnswerPut = 'accepted' | 'closed' | 'run_ended' | 'run_not_found';

/** Writes of callers to the tasks that they have started. */
export class ServedTasks {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Accepts the answer to a question of a running run, all or nothing: its message is counted and in the inbox, and the
   * wait is settled. So an accepted answer is never left unread, and a repeat of its message is known.
   */
  async answer(
    record: InboxRecord & { readonly kind: 'message'; readonly answers: WaitId },
    settlement: Settlement,
  ): Promise<AnswerPut> {
    const { runId, answers } = record;
    const result = await this.#table.transact([
      {
        kind: 'update',
        key: headKey(runId),
        increment: { inboxCount: 1 },
        conditions: [itemExists, statusIs('running')],
      },
      { kind: 'put', item: inboxItem(record), conditions: [itemAbsent] },
      {
        kind: 'update',
        key: tokenKey(runId, answers),
        set: { ...tokenFields.write({ settlement }), ...marker(runId, settlement.atMs) },
        remove: listAttributes,
        conditions: [itemExists, notSettled, notOverdue(settlement.atMs)],
      },
    ]);
    if (result.ok) return 'accepted';
    const [head] = result.refused;
    if (head === undefined) return 'closed';
    return head.old === undefined ? 'run_not_found' : 'run_ended';
  }
}
