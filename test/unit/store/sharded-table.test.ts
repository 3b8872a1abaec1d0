import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { dueShardOf } from '../../../lib/store/sharded-table.js';
import type { Table } from '../../../lib/store/table.js';
import { openDynamoDbTable } from '../../support/dynamodb-tables.js';
import { describeWithDynoxide, startDynoxide } from '../../support/dynoxide.js';

/** Returns a run whose hash is the number. */
const runOf = (hash: number): string => hash.toString(16).padStart(4, '0').padEnd(32, 'a');
const head = (runId: string, dueAtMs = 5) => ({
  runId,
  workflow: 'w',
  version: '1',
  status: 'running' as const,
  seed: 's',
  createdAtMs: 1,
  inboxCount: 0,
  dueSeq: 0,
  blocks: 0,
  dueAtMs,
});
const remembered = { pk: 'due', sk: 'a' };

interface Opened {
  readonly table: Table;
  close(): Promise<void>;
}

/** Runs the tests on a store; `open` returns an empty table. */
function describeShards(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    let opened: Opened;
    let asked: string[];
    /** The table, which records its requests other than queries. */
    let table: Table;
    beforeEach(async () => {
      opened = await open();
      asked = [];
      const { table: inner } = opened;
      table = {
        write: (write) => {
          asked.push(`write ${write.kind === 'put' ? write.item.sk : write.key.sk}`);
          return inner.write(write);
        },
        transact: (writes) => inner.transact(writes),
        get: (key) => {
          asked.push(`get ${key.pk}`);
          return inner.get(key);
        },
        queryPartition: (...query) => inner.queryPartition(...query),
        queryIndex: (query) => inner.queryIndex(query),
      };
      return () => opened.close();
    });

    const storeOf = (dueShards?: number) => new RunStore(table, dueShards === undefined ? {} : { dueShards });
    const dueIn = async (shard: number) => (await storeOf().lists.due(shard, 10, 10)).rows.map(({ runId }) => runId);

    it('with 16 asks the table for nothing more', async () => {
      await storeOf().heads.create(head(runOf(255)), 'w1');
      expect(asked).toEqual(['write a']);
      expect(await dueIn(15)).toEqual([runOf(255)]);
    });

    it('with more has them remembered once, before the first marker that needs it', async () => {
      const store = storeOf(64);
      await store.heads.create(head(runOf(15)), 'w1');
      await store.heads.create(head(runOf(16)), 'w2');
      await store.heads.create(head(runOf(17)), 'w3');
      expect(asked).toEqual(['write a', 'get due', 'write a', 'write a', 'write a']);
      expect(await table.get(remembered)).toMatchObject({ shards: 64 });
      expect([await dueIn(15), await dueIn(16), await dueIn(17)]).toEqual([[runOf(15)], [runOf(16)], [runOf(17)]]);
    });

    it('with more reads once what others have had remembered', async () => {
      await storeOf(64).heads.create(head(runOf(16)), 'w1');
      asked = [];
      await storeOf(64).heads.create(head(runOf(17)), 'w2');
      expect(asked).toEqual(['get due', 'write a']);
    });

    it('never stores a smaller number, whichever process writes last', async () => {
      await Promise.all([24, 256, 64].map((shards) => storeOf(shards).heads.create(head(runOf(23)), `w${shards}`)));
      await storeOf(32).heads.create(head(runOf(31)), 'w4');
      expect(await table.get(remembered)).toMatchObject({ shards: 256 });
    });

    it('is swept as far as anybody ever spread, and as oneself does', async () => {
      expect([await storeOf().lists.readDueShards(), await storeOf(32).lists.readDueShards()]).toEqual([16, 32]);
      await storeOf(64).heads.create(head(runOf(63)), 'w1');
      expect([await storeOf().lists.readDueShards(), await storeOf(128).lists.readDueShards()]).toEqual([64, 128]);
    });

    it('writes no marker that it could not have remembered', async () => {
      const failing: Table = { ...table, get: () => Promise.reject(new Error('no answer')) };
      await expect(new RunStore(failing, { dueShards: 64 }).heads.create(head(runOf(63)), 'w1')).rejects.toThrow();
      expect(await dueIn(63)).toEqual([]);
      const store = storeOf(64);
      await store.heads.create(head(runOf(63)), 'w2');
      expect(await dueIn(63)).toEqual([runOf(63)]);
    });

    it('puts the marker of a transaction where it belongs as well', async () => {
      const runId = runOf(63);
      const signal = { runId, inboxId: 'i1', atMs: 1, kind: 'signal' as const, name: 's', dueAtMs: 6 };
      expect(await storeOf(64).heads.createWith(head(runId), 'w1', { signal })).toMatchObject({ created: true });
      expect(await dueIn(63)).toEqual([runId, runId]);
      expect(await table.get(remembered)).toMatchObject({ shards: 64 });
    });
  });
}

describeShards('markers in memory', async () => ({ table: new MemoryTable(), close: async () => undefined }));

describeWithDynoxide('over HTTP', () => {
  let dynoxide: Awaited<ReturnType<typeof startDynoxide>>;
  let tables = 0;
  beforeAll(async () => {
    dynoxide = await startDynoxide();
  });
  afterAll(async () => {
    await dynoxide.stop();
  });
  describeShards('markers on DynamoDB', async () => {
    const { table, client } = await openDynamoDbTable(dynoxide.endpoint, `shards-${++tables}`);
    return {
      table,
      close: async () => {
        client.destroy();
      },
    };
  });
});

describe('markers', () => {
  it.each([16, 24, 100, 256])('are spread evenly over %i partitions', (dueShards) => {
    const counts = Array.from({ length: dueShards }, () => 0);
    for (let hash = 0; hash < 65_536; hash++) counts[dueShardOf(runOf(hash), dueShards)]! += 1;
    expect(counts).toHaveLength(dueShards);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.01);
  });
});
