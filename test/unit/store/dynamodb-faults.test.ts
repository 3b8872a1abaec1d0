import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Random } from '../../../lib/base/ids.js';
import { createDynamoDbClient } from '../../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../../lib/store/dynamodb/dynamodb-table.js';
import { cancelledResult } from '../../../lib/store/dynamodb/failures.js';
import { ensureTable } from '../../../lib/store/dynamodb/schema.js';
import type { Write } from '../../../lib/store/table.js';
import { openDynamoDbTable, systemRandom } from '../../support/dynamodb-tables.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../../support/dynoxide.js';
import {
  type FaultPlan,
  type FaultyDynamoDb,
  injectFaults,
  randomly,
  scripted,
  type StoreFault,
} from '../../support/faulty-dynamodb.js';

const settle = (sk: string, settledBy: string): Write => ({
  kind: 'update',
  key: { pk: 'p', sk },
  set: { settledBy },
  conditions: [{ kind: 'itemExists' }, { kind: 'absent', attribute: 'settledBy' }],
});
const commit = (sk: string, writerId: string): Write => ({
  kind: 'put',
  item: { pk: 'p', sk, writerId },
  conditions: [{ kind: 'itemAbsent' }],
});

describeWithDynoxide('a DynamoDB table with faults', () => {
  let dynoxide: Dynoxide;
  const ends: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    dynoxide = await startDynoxide();
    const { client } = await openDynamoDbTable(dynoxide.endpoint, 'faults');
    client.destroy();
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });
  afterAll(async () => {
    await dynoxide.stop();
  });

  interface Faulty {
    readonly table: DynamoDbTable;
    readonly faults: FaultyDynamoDb;
    readonly delaysMs: readonly number[];
  }
  const faulty = (plan: FaultPlan, { endpoint = dynoxide.endpoint, maxAttempts = 3 } = {}): Faulty => {
    const client = createDynamoDbClient({ endpoint, maxAttempts });
    ends.push(() => {
      client.destroy();
    });
    const faults = injectFaults(client, plan);
    const delaysMs: number[] = [];
    const delay = async (delayMs: number) => void delaysMs.push(delayMs);
    const random: Random = { ...systemRandom, fraction: () => 0.999 };
    return { table: new DynamoDbTable({ client, tableName: 'faults', random, delay }), faults, delaysMs };
  };
  const plain = () => faulty(() => undefined).table;
  let items = 0;
  const freshToken = async (): Promise<string> => {
    const sk = `t#${++items}`;
    await plain().write({ kind: 'put', item: { pk: 'p', sk }, conditions: [] });
    return sk;
  };
  const always =
    (fault: StoreFault): FaultPlan =>
    () =>
      fault;

  describe('whose reply is lost', () => {
    it('answers a settlement with its own writer id on the old item (B111)', async () => {
      const sk = await freshToken();
      const { table, faults } = faulty(scripted('lostAck'));
      expect(await table.write(settle(sk, 'me'))).toEqual({ ok: false, old: { pk: 'p', sk, settledBy: 'me' } });
      expect(faults.requests.map(({ attempt, fault }) => [attempt, fault])).toEqual([
        [1, 'lostAck'],
        [2, undefined],
      ]);
      expect(faults.requests[0]!.body).toBe(faults.requests[1]!.body);
    });

    it('answers a commit with its own writer id on the old item (B112)', async () => {
      const { table } = faulty(scripted('lostAck'));
      const sk = `h#${++items}`;
      expect(await table.write(commit(sk, 'me'))).toEqual({ ok: false, old: { pk: 'p', sk, writerId: 'me' } });
    });

    it('answers a transaction with ok and applies it once', async () => {
      const head = await freshToken();
      const sk = `i#${++items}`;
      const { table, faults } = faulty(scripted('lostAck'));
      const increment: Write = {
        kind: 'update',
        key: { pk: 'p', sk: head },
        increment: { inboxCount: 1 },
        conditions: [],
      };
      expect(await table.transact([increment, commit(sk, 'me')])).toEqual({ ok: true });
      expect(faults.requests).toHaveLength(2);
      expect(await plain().get({ pk: 'p', sk: head })).toEqual({ pk: 'p', sk: head, inboxCount: 1 });
    });

    it('every time, says that the result is not known, though it is applied', async () => {
      const sk = await freshToken();
      const { table, faults } = faulty(always('lostAck'));
      await expect(table.write(settle(sk, 'me'))).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
      expect(faults.requests).toHaveLength(3);
      expect(await plain().get({ pk: 'p', sk })).toEqual({ pk: 'p', sk, settledBy: 'me' });
    });

    it.each(['throttle', 'conflict'] as const)(
      'and whose repeats meet %s, still says that the result is not known',
      async (fault) => {
        const sk = await freshToken();
        const { table } = faulty(scripted('lostAck', ...Array.from({ length: 20 }, () => fault)));
        await expect(table.write(settle(sk, 'me'))).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
        expect(await plain().get({ pk: 'p', sk })).toEqual({ pk: 'p', sk, settledBy: 'me' });
      },
    );
  });

  describe('whose write lands late', () => {
    it('says that the result is not known; the first copy is applied and the others find it', async () => {
      const sk = await freshToken();
      const { table, faults } = faulty(always('lateApply'));
      await expect(table.write(settle(sk, 'me'))).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
      expect(await plain().get({ pk: 'p', sk })).toEqual({ pk: 'p', sk });
      expect(await faults.applyLate()).toEqual([200, 400, 400]);
      expect(await plain().get({ pk: 'p', sk })).toEqual({ pk: 'p', sk, settledBy: 'me' });
    });

    it('after another writer was first, changes nothing any more', async () => {
      const sk = await freshToken();
      const { table, faults } = faulty(always('lateApply'));
      await expect(table.write(settle(sk, 'late'))).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
      expect((await plain().write(settle(sk, 'first'))).ok).toBe(true);
      expect(await faults.applyLate()).toEqual([400, 400, 400]);
      expect(await plain().get({ pk: 'p', sk })).toEqual({ pk: 'p', sk, settledBy: 'first' });
    });

    it('as one transaction of several copies, is applied once', async () => {
      const head = await freshToken();
      const { table, faults } = faulty(always('lateApply'));
      const increment: Write = {
        kind: 'update',
        key: { pk: 'p', sk: head },
        increment: { inboxCount: 1 },
        conditions: [],
      };
      await expect(table.transact([increment, commit(`i#${++items}`, 'me')])).rejects.toMatchObject({
        code: 'STORE_RESULT_UNKNOWN',
      });
      expect(await faults.applyLate()).toEqual([200, 200, 200]);
      expect(await plain().get({ pk: 'p', sk: head })).toEqual({ pk: 'p', sk: head, inboxCount: 1 });
    });
  });

  describe('that does not answer', () => {
    it.each(['drop', 'serverError'] as const)(
      'after %s, says of writes that the result is not known, and of reads that the store is away',
      async (fault) => {
        const sk = await freshToken();
        const { table } = faulty(always(fault));
        await expect(table.write(settle(sk, 'me'))).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
        await expect(table.transact([settle(sk, 'me'), commit(`h#${++items}`, 'me')])).rejects.toMatchObject({
          code: 'STORE_RESULT_UNKNOWN',
        });
        await expect(table.get({ pk: 'p', sk })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        await expect(table.queryPartition('p')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        await expect(
          table.queryIndex({ index: 'due', partition: 's', order: 'ascending', limit: 1 }),
        ).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        expect(await plain().get({ pk: 'p', sk })).toEqual({ pk: 'p', sk });
      },
    );

    it('passes over a single fault of any kind', async () => {
      for (const fault of ['drop', 'serverError', 'throttle', 'conflict'] as const) {
        const sk = await freshToken();
        const { table, faults } = faulty(scripted(fault));
        expect(await table.write(settle(sk, 'me'))).toEqual({ ok: true, item: { pk: 'p', sk, settledBy: 'me' } });
        expect(faults.requests).toHaveLength(2);
      }
    });

    it('because the port is closed, has surely applied nothing', async () => {
      const ended = await startDynoxide();
      await ended.stop();
      const { table } = faulty(() => undefined, { endpoint: ended.endpoint });
      await expect(table.write(commit('h#1', 'me'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    });

    it('throttled to the end, has surely applied nothing', async () => {
      const sk = await freshToken();
      const { table } = faulty(always('throttle'), { maxAttempts: 1 });
      await expect(table.write(settle(sk, 'me'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await expect(table.transact([settle(sk, 'me'), commit(`h#${++items}`, 'me')])).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
      await expect(table.get({ pk: 'p', sk })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(await plain().get({ pk: 'p', sk })).toEqual({ pk: 'p', sk });
    });
  });

  describe('whose items another transaction holds (S4-08)', () => {
    it('tries for 20 s with full jitter under a doubling ceiling, then has applied nothing', async () => {
      const { table, faults, delaysMs } = faulty(always('conflict'));
      await expect(table.transact([commit('x', 'me'), commit('y', 'me')])).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
      expect(faults.requests).toHaveLength(11);
      expect(delaysMs.map(Math.round)).toEqual([40, 80, 160, 320, 639, 1279, 2557, 3996, 3996, 3996]);
      expect(new Set(faults.requests.map(({ body }) => body)).size).toBe(1);
    });

    it('answers once they are free', async () => {
      const { table } = faulty(scripted('conflict', 'conflict'));
      expect(await table.transact([commit(`h#${++items}`, 'me'), commit(`h#${++items}`, 'me')])).toEqual({ ok: true });
    });

    it('never repeats a write whose condition failed', async () => {
      const sk = await freshToken();
      await plain().write(settle(sk, 'other'));
      const { table, faults, delaysMs } = faulty(() => undefined);
      expect((await table.write(settle(sk, 'me'))).ok).toBe(false);
      expect((await table.transact([settle(sk, 'me'), commit(`h#${++items}`, 'me')])).ok).toBe(false);
      expect(faults.requests).toHaveLength(2);
      expect(delaysMs).toEqual([]);
    });
  });

  it('sends a transaction of one write as a plain write', async () => {
    const { table, faults } = faulty(() => undefined);
    await table.transact([commit(`h#${++items}`, 'me')]);
    expect(faults.requests.map(({ operation }) => operation)).toEqual(['PutItem']);
  });

  it('puts neither a stored value nor an address into its errors', async () => {
    const canary = 'canary-7f3a';
    const write = commit(`h#${++items}`, canary);
    const wrongType: Write = {
      kind: 'put',
      item: { pk: canary, sk: 's', dueShard: canary, dueAtMs: canary },
      conditions: [],
    };
    const away = await startDynoxide();
    await away.stop();
    const failures = [
      () => faulty(always('drop')).table.write(write),
      () => faulty(always('throttle')).table.write(write),
      () => faulty(always('serverError')).table.transact([write, wrongType]),
      () => faulty(() => undefined, { endpoint: away.endpoint }).table.write(write),
      () => plain().write(wrongType),
      () => plain().transact([write, wrongType]),
      () => plain().write({ kind: 'put', item: { pk: canary, sk: 's', text: canary.repeat(40_000) }, conditions: [] }),
    ];
    for (const failure of failures) {
      const error = (await failure().catch((thrown: unknown) => thrown)) as Error & { details?: unknown };
      expect(error.name).toBe('EngineError');
      const text = [error.message, String(error.stack), JSON.stringify(error.details), JSON.stringify(error)].join();
      expect(text).not.toContain(canary);
      expect(text).not.toMatch(/127\.0\.0\.1|http:/);
      expect(error.cause).toBeUndefined();
    }
  });

  it('with faults at random never tells two writers of one token yes, and never the wrong one (I2)', async () => {
    let state = 20_261_129;
    const fraction = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const plan = randomly(fraction, { lostAck: 0.1, lateApply: 0.1, drop: 0.1, serverError: 0.05, conflict: 0.1 });
    const { table, faults } = faulty(plan);
    for (let round = 0; round < 25; round++) {
      const sk = await freshToken();
      const told = await Promise.all(
        ['a', 'b', 'c'].map(async (writer) => {
          try {
            const result = await table.write(settle(sk, writer));
            return result.ok || result.old?.['settledBy'] === writer ? 'yes' : 'no';
          } catch (error) {
            return (error as { code?: string }).code === 'STORE_RESULT_UNKNOWN' ? 'unknown' : 'away';
          }
        }),
      );
      await faults.applyLate();
      const settledBy = (await plain().get({ pk: 'p', sk }))!['settledBy'];
      const winner = told['abc'.indexOf(String(settledBy ?? '-'))];
      expect(told.filter((answer) => answer === 'yes').length).toBeLessThanOrEqual(1);
      if (told.includes('yes')) expect(winner).toBe('yes');
      else if (settledBy !== undefined) expect(winner).toBe('unknown');
    }
    expect(new Set(faults.requests.map(({ fault }) => fault)).size).toBe(6);
  });

  it('keeps what it has acknowledged when the stand-in is killed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outwait-dynoxide-'));
    const start = async () => {
      const one = await startDynoxide({ dbPath: join(folder, 'db') });
      const { table, client } = await openDynamoDbTable(one.endpoint, 'faults');
      ends.push(async () => {
        client.destroy();
        await one.stop('SIGKILL');
      });
      return { one, table };
    };
    const before = await start();
    for (let n = 0; n < 20; n++) await before.table.write(commit(`h#${n}`, 'me'));
    await before.one.stop('SIGKILL');
    const after = await start();
    ends.push(() => rm(folder, { recursive: true }));
    expect(await after.table.queryPartition('p')).toHaveLength(20);
  });

  it('makes its table once, however often it is asked', async () => {
    const { client } = await openDynamoDbTable(dynoxide.endpoint, 'made-twice');
    await ensureTable(client, 'made-twice');
    client.destroy();
  });
});

describe('a client of DynamoDB', () => {
  it('gives up on a server that takes the request and never answers', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = createDynamoDbClient({ endpoint, requestTimeoutMs: 20, maxAttempts: 1 });
    const table = new DynamoDbTable({ client, tableName: 'none', random: systemRandom, delay: async () => undefined });
    await expect(table.write(commit('h#1', 'me'))).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
    await expect(table.get({ pk: 'p', sk: 'h#1' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('gives each of 300 requests at once a connection: none waits for another', async () => {
    const waiting: ServerResponse[] = [];
    const server = createServer((_, response) => {
      waiting.push(response);
      if (waiting.length < 300) return;
      for (const each of waiting) each.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = createDynamoDbClient({ endpoint, maxAttempts: 1 });
    const table = new DynamoDbTable({ client, tableName: 'none', random: systemRandom, delay: async () => undefined });
    const reads = Array.from({ length: 300 }, (_, at) => table.get({ pk: 'p', sk: `h#${at}` }));
    expect(new Set(await Promise.all(reads))).toEqual(new Set([undefined]));
    client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('says of a reply that breaks off that the result is not known', async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0', 'content-length': '100' });
      response.write('{"Attr');
      setImmediate(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = createDynamoDbClient({ endpoint, maxAttempts: 1 });
    const table = new DynamoDbTable({ client, tableName: 'none', random: systemRandom, delay: async () => undefined });
    await expect(table.write(settle('t#1', 'me'))).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN' });
    client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('the reasons of a cancelled transaction (B113)', () => {
  const cancelled = (...codes: string[]) =>
    new TransactionCanceledException({
      message: 'cancelled',
      $metadata: {},
      CancellationReasons: codes.map((Code) => ({
        Code,
        ...(Code === 'ConditionalCheckFailed' ? { Item: { pk: { S: 'p' }, sk: { S: 's' } } } : {}),
      })),
    });

  it.each([
    [['None', 'TransactionConflict']],
    [['ThrottlingError']],
    [['ProvisionedThroughputExceeded', 'None']],
    // Nothing shows yet whose condition held.
    [['ConditionalCheckFailed', 'TransactionConflict']],
  ])('%j pass: the transaction is tried again', (codes) => {
    expect(cancelledResult(cancelled(...codes))).toBe('conflict');
  });

  it('["None","ConditionalCheckFailed"] is an answer', () => {
    expect(cancelledResult(cancelled('None', 'ConditionalCheckFailed'))).toEqual({
      ok: false,
      refused: [undefined, { old: { pk: 'p', sk: 's' } }],
    });
  });

  it.each([[['ValidationError']], [['ConditionalCheckFailed', 'ValidationError']], [['None', 'AccessDenied']], [[]]])(
    '%j is a fault of ours',
    (codes: string[]) => {
      expect(() => cancelledResult(cancelled(...codes))).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    },
  );
});
