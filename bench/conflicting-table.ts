import { EngineError } from '../lib/base/errors.js';
import { whileInConflict, type Patience } from '../lib/store/dynamodb/conflicts.js';
import { keyOf } from '../lib/store/write-rules.js';
import type { Item, Key, Table, TransactResult, Write, WriteResult } from '../lib/store/table.js';
import { TableAround } from './table-around.js';

/**
 * A table with the conflicts of DynamoDB: a write is refused while a transaction on one of its items is in progress,
 * and a transaction while any other write of its items is. Each takes 10 to 20 ms. Refused requests are sent again, as
 * `DynamoDbTable` does.
 */
export class ConflictingTable extends TableAround {
  attempts = 0;
  readonly #patience: Patience;
  readonly #underWay = new Set<string>();

  constructor(table: Table, patience: Patience) {
    super(table);
    this.#patience = patience;
  }

  override write(write: Write): Promise<WriteResult> {
    return this.#held([write], false, () => super.write(write));
  }

  override transact(writes: readonly Write[]): Promise<TransactResult> {
    return this.#held(writes, true, () => super.transact(writes));
  }

  override async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    await this.#patience.delay(5);
    return super.get(key, attributes);
  }

  override async queryPartition(
    pk: string,
    skPrefix?: string,
    after?: string,
    attributes?: readonly string[],
  ): Promise<Item[]> {
    await this.#patience.delay(5);
    return super.queryPartition(pk, skPrefix, after, attributes);
  }

  async #held<Result>(writes: readonly Write[], isTransaction: boolean, apply: () => Promise<Result>): Promise<Result> {
    const keys = writes.map((write) => `${keyOf(write).pk} ${keyOf(write).sk}`);
    const result = await whileInConflict(async () => {
      this.attempts += 1;
      if (keys.some((key) => this.#underWay.has(key))) {
        await this.#patience.delay(5);
        return 'conflict';
      }
      if (isTransaction) for (const key of keys) this.#underWay.add(key);
      await this.#patience.delay(10 + 10 * this.#patience.random.fraction());
      const applied = await apply();
      if (isTransaction) for (const key of keys) this.#underWay.delete(key);
      return applied;
    }, this.#patience);
    if (result === 'conflict')
      throw new EngineError('STORE_UNAVAILABLE', 'the items are being written by other transactions');
    return result;
  }
}
