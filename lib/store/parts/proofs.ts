import type { EpochMs } from '../../base/time.js';
import { endedBy } from '../conditions.js';
import { proofKey } from '../items/keys.js';
import { proofFields } from '../items/proof.js';
import type { Table } from '../table.js';

/** Proofs of senders that have been used, each until nobody would accept it any more. */
export class Proofs {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Takes a proof for one use. Returns false if it is taken for another use until later than now. The condition compares
   * the instant, since DynamoDB removes an item up to days after its end; `use` is fresh or the same for a repetition,
   * so a writer whose acknowledgement was lost finds its own.
   */
  async take(
    id: string,
    { use, atMs, untilMs }: { readonly use: string; readonly atMs: EpochMs; readonly untilMs: EpochMs },
  ): Promise<boolean> {
    const { ok, ...found } = await this.#table.write({
      kind: 'update',
      key: proofKey(id),
      set: proofFields.write({ use, untilMs, expiresAtS: Math.ceil(untilMs / 1_000) }),
      conditions: [endedBy(atMs)],
    });
    return ok || ('old' in found && found.old !== undefined && proofFields.read(found.old).use === use);
  }
}
