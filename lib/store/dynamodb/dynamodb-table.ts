import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { EngineError } from '../../base/errors.js';
import type { Random } from '../../base/ids.js';
import { formatCursor, type IndexPosition } from '../index-cursor.js';
import { type IndexPage, type IndexQuery, type Item, type Key, type Table, tableIndexes } from '../table.js';
import type { Put, TransactResult, Update, Write, WriteResult } from '../table.js';
import { checkTransaction } from '../write-rules.js';
import { type Attributes, fromAttributes, toAttributes } from './attributes.js';
import {
  compileGet,
  compileIndexQuery,
  compilePartitionQuery,
  compilePut,
  compileTransaction,
  compileUpdate,
} from './compile.js';
import { whileInConflict } from './conflicts.js';
import { cancelledResult, conflictError, type Fate, isConflict, storeError, watchAttempts } from './failures.js';

export interface DynamoDbTableOptions {
  readonly client: DynamoDBClient;
  readonly tableName: string;
  readonly random: Random;
  /** Resolves after `delayMs`. */
  readonly delay: (delayMs: number) => Promise<void>;
}

/**
 * The table in DynamoDB. The SDK retries requests, with the same bytes; a write that conflicts with another transaction
 * is retried here, with full jitter, for as long as a request may take.
 */
export class DynamoDbTable implements Table {
  readonly #client: DynamoDBClient;
  readonly #tableName: string;
  readonly #random: Random;
  readonly #delay: (delayMs: number) => Promise<void>;

  constructor({ client, tableName, random, delay }: DynamoDbTableOptions) {
    this.#client = client;
    this.#tableName = tableName;
    this.#random = random;
    this.#delay = delay;
  }

  async write(write: Write): Promise<WriteResult> {
    return this.#repeated((fate) => (write.kind === 'put' ? this.#put(write, fate) : this.#update(write, fate)));
  }

  async transact(writes: readonly Write[]): Promise<TransactResult> {
    checkTransaction(writes);
    const [only] = writes;
    // A transaction costs twice the write units, and a single write is atomic anyway.
    if (writes.length === 1 && only !== undefined) {
      const result = await this.write(only);
      return result.ok ? { ok: true } : { ok: false, refused: [{ old: result.old }] };
    }
    const input = compileTransaction(this.#tableName, writes, this.#random.hex(16));
    return this.#repeated(async (fate) => {
      const command = new TransactWriteItemsCommand(input);
      command.middlewareStack.add(watchAttempts(fate), { step: 'deserialize', priority: 'high' });
      try {
        await this.#client.send(command);
        return { ok: true };
      } catch (error) {
        if (error instanceof TransactionCanceledException) return cancelledResult(error);
        throw error;
      }
    });
  }

  async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    const { Item: found } = await this.#read(() =>
      this.#client.send(new GetItemCommand(compileGet(this.#tableName, key, attributes))),
    );
    return found === undefined ? undefined : fromAttributes(found);
  }

  async queryPartition(pk: string, skPrefix?: string, after?: string, attributes?: readonly string[]): Promise<Item[]> {
    const items: Item[] = [];
    // Begins as if a page had ended there: the start key of a page need not be the key of an item.
    let startKey = after === undefined ? undefined : toAttributes({ pk, sk: after });
    do {
      const input = compilePartitionQuery(this.#tableName, { pk, skPrefix, attributes }, startKey);
      const page = await this.#read(() => this.#client.send(new QueryCommand(input)));
      items.push(...(page.Items ?? []).map(fromAttributes));
      startKey = page.LastEvaluatedKey;
    } while (startKey !== undefined);
    return items;
  }

  async queryIndex(query: IndexQuery): Promise<IndexPage> {
    const input = compileIndexQuery(this.#tableName, query);
    const page = await this.#read(() => this.#client.send(new QueryCommand(input)));
    const items = (page.Items ?? []).map(fromAttributes);
    if (page.LastEvaluatedKey === undefined) return { items };
    return { items, cursor: formatCursor(query.partition, positionOf(query, page.LastEvaluatedKey)) };
  }

  async #put(put: Put, fate: Fate): Promise<WriteResult> {
    const input = compilePut(this.#tableName, put);
    const command = new PutItemCommand(input);
    command.middlewareStack.add(watchAttempts(fate), { step: 'deserialize', priority: 'high' });
    return orRefused(async () => {
      await this.#client.send(command);
      return fromAttributes(input.Item ?? {});
    });
  }

  async #update(update: Update, fate: Fate): Promise<WriteResult> {
    const command = new UpdateItemCommand(compileUpdate(this.#tableName, update));
    command.middlewareStack.add(watchAttempts(fate), { step: 'deserialize', priority: 'high' });
    return orRefused(async () => {
      const { Attributes: now } = await this.#client.send(command);
      return fromAttributes(now ?? {});
    });
  }

  async #read<Output>(send: () => Promise<Output>): Promise<Output> {
    try {
      return await send();
    } catch (error) {
      throw storeError(error, { unknown: false });
    }
  }

  async #repeated<Result>(send: (fate: Fate) => Promise<Result | 'conflict'>): Promise<Result> {
    const fate: Fate = { unknown: false };
    const result = await whileInConflict(
      async () => {
        try {
          return await send(fate);
        } catch (error) {
          if (isConflict(error)) return 'conflict';
          throw storeError(error, fate);
        }
      },
      { random: this.#random, delay: this.#delay },
    );
    if (result === 'conflict') throw conflictError(fate);
    return result;
  }
}

async function orRefused(send: () => Promise<Item>): Promise<WriteResult> {
  try {
    return { ok: true, item: await send() };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    return { ok: false, old: error.Item === undefined ? undefined : fromAttributes(error.Item) };
  }
}

function positionOf(query: IndexQuery, lastKey: Attributes): IndexPosition {
  const last = fromAttributes(lastKey);
  const sort = last[tableIndexes[query.index].sort];
  if (sort === undefined) throw new EngineError('INTERNAL', 'a key of an index lacks its sort attribute');
  return { sort, pk: last.pk, sk: last.sk };
}
