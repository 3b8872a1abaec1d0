import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';
import type { Notices } from '../../history/question.js';
import type { TokenRecord } from '../../history/records.js';
import { notSettled, writerIs } from '../conditions.js';
import { markerAttributes } from '../items/indexes.js';
import { tokenFields } from '../items/token.js';
import type { Table } from '../table.js';
import { updateToken } from './update-token.js';

/** Notices to people about questions. */
export class QuestionNotices {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Replaces the schedule of the notices about a question, and moves its marker, if the token is as it was read and there
   * is no settlement. The writer id is fresh in each write: of two workers that read the same, one writes.
   */
  async write(
    { runId, waitId, writerId }: Pick<TokenRecord, 'runId' | 'waitId' | 'writerId'>,
    next: { readonly writerId: string; readonly notices: Notices; readonly dueAtMs: EpochMs | undefined },
  ): Promise<boolean> {
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write(next),
      ...defined({ remove: next.dueAtMs === undefined ? markerAttributes : undefined }),
      conditions: [notSettled, writerIs(writerId)],
    });
    return ok || token?.writerId === next.writerId;
  }
}
