import { AsyncLocalStorage } from 'node:async_hooks';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { RunStore } from '../lib/store/run-store.js';

/** Cost of the requests of one kind. */
export interface Usage {
  readonly requests: number;
  /** Units of the table itself: writes of up to 1 KB, doubled in a transaction; consistent reads of up to 4 KB. */
  readonly tableUnits: number;
  /** Units of index entries: those that a write adds, replaces or removes, or that a read of an index costs. */
  readonly indexUnits: number;
}

export interface Capacity {
  readonly writes: Usage;
  readonly reads: Usage;
  /** Writes, by the store method that made them. */
  readonly writesByMethod: Readonly<Record<string, Usage>>;
}

const nothing: Usage = { requests: 0, tableUnits: 0, indexUnits: 0 };
const writeCommands = ['PutItemCommand', 'UpdateItemCommand', 'TransactWriteItemsCommand'];

/** The `ReturnConsumedCapacity: INDEXES` figures of one table. */
interface Consumed {
  readonly Table?: { readonly CapacityUnits?: number };
  readonly GlobalSecondaryIndexes?: Readonly<Record<string, { readonly CapacityUnits?: number }>>;
}

/**
 * Counts the requests of a client and the capacity that the database reports for them. A write whose condition fails
 * reports none; it counts as the least that DynamoDB charges for it.
 */
export class CapacityMeter {
  readonly #method = new AsyncLocalStorage<string>();
  #writesByMethod = new Map<string, Usage>();
  #reads = nothing;

  constructor(client: DynamoDBClient) {
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          Object.assign(args.input, { ReturnConsumedCapacity: 'INDEXES' });
          try {
            const result = await next(args);
            const { ConsumedCapacity: consumed } = result.output as { ConsumedCapacity?: Consumed | Consumed[] };
            this.#count(commandName ?? '', usageOf(consumed));
            return result;
          } catch (error) {
            const items = (args.input as { TransactItems?: unknown[] }).TransactItems?.length;
            this.#count(commandName ?? '', {
              requests: 1,
              tableUnits: items === undefined ? 1 : 2 * items,
              indexUnits: 0,
            });
            throw error;
          }
        },
      { step: 'initialize', priority: 'high' },
    );
  }

  /** Returns the store with each method attributed to the requests that it makes. */
  name(store: RunStore): RunStore {
    return new Proxy(store, {
      get: (target, name) => {
        const part: unknown = Reflect.get(target, name, target);
        const isPart = typeof part === 'object' && part !== null && name !== 'servers';
        return isPart ? this.#namePart(String(name), part) : part;
      },
    });
  }

  #namePart<Part extends object>(partName: string, part: Part): Part {
    return new Proxy(part, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown =>
          this.#method.run(`${partName}.${String(name)}`, () => value.apply(target, args) as unknown);
      },
    });
  }

  /** Returns what was counted since the last call. */
  take(): Capacity {
    const writesByMethod = Object.fromEntries(this.#writesByMethod);
    const writes = Object.values(writesByMethod).reduce(plus, nothing);
    const reads = this.#reads;
    this.#writesByMethod = new Map();
    this.#reads = nothing;
    return { writes, reads, writesByMethod };
  }

  #count(command: string, usage: Usage): void {
    if (writeCommands.includes(command)) {
      const method = this.#method.getStore() ?? command;
      this.#writesByMethod.set(method, plus(this.#writesByMethod.get(method) ?? nothing, usage));
    } else {
      this.#reads = plus(this.#reads, usage);
    }
  }
}

export function unitsOf({ tableUnits, indexUnits }: Usage): number {
  return tableUnits + indexUnits;
}

/** Sums the usage of a request. A transaction reports each table that it touches, and here there is only one. */
function usageOf(consumed: Consumed | readonly Consumed[] | undefined): Usage {
  if (consumed === undefined) throw new Error('the database reports no consumed capacity');
  const [only] = [consumed].flat() as readonly Consumed[];
  const indexes = Object.values(only?.GlobalSecondaryIndexes ?? {});
  return {
    requests: 1,
    tableUnits: only?.Table?.CapacityUnits ?? 0,
    indexUnits: indexes.reduce((sum, index) => sum + (index.CapacityUnits ?? 0), 0),
  };
}

function plus(a: Usage, b: Usage): Usage {
  return {
    requests: a.requests + b.requests,
    tableUnits: a.tableUnits + b.tableUnits,
    indexUnits: a.indexUnits + b.indexUnits,
  };
}
