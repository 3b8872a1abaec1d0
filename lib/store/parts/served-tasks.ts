import type { WaitId } from '../../base/ids.js';
import { defined } from '../../base/defined.js';
import type { TaskHint } from '../../history/task-content.js';
import type { InboxRecord, RunHead, Settlement } from '../../history/records.js';
import { itemAbsent, itemExists, notOverdue, notSettled, statusIs, taskHintNotAfter } from '../conditions.js';
import { inboxItem } from '../items/inbox.js';
import { hintAttributes, toTaskRow, type TaskRow } from '../items/head.js';
import { type ListedTask, listAttributes, marker, taskPartition, textBelow } from '../items/indexes.js';
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
   * Stores on the first head of a continued task what a later run says of its status, unless something newer is there.
   */
  async setHint(first: ListedTask, hint: TaskHint): Promise<void> {
    await this.#table.write({
      kind: 'update',
      key: headKey(first.runId),
      set: hintAttributes(first, hint),
      conditions: [itemExists, taskHintNotAfter(hint.atMs)],
    });
  }

  /** Lists the tasks of a caller by their hints, newest first; `below`: those after this sort key. */
  async list(caller: Pick<RunHead, 'owner' | 'tenant'>, limit: number, below?: string): Promise<readonly TaskRow[]> {
    const { items } = await this.#table.queryIndex({
      ...{ index: 'task', partition: taskPartition(caller), order: 'descending', limit },
      ...defined({ until: below === undefined ? undefined : textBelow(below) }),
    });
    return items.map(toTaskRow);
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
