import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Counted, countUsage } from '../../../bench/cost/counted.js';
import { tablesIn, withTables } from '../../../bench/cost/document.js';
import { formatCost } from '../../../bench/cost/report.js';
import { invocations, perMillion, plus, times } from '../../../bench/cost/usage.js';
import { openDatabase, type Database } from '../../../bench/stores.js';
import { describeWithDynoxide } from '../../support/dynoxide.js';

const document = readFileSync(new URL('../../../docs/cost.md', import.meta.url), 'utf8');

describeWithDynoxide('the page about cost', () => {
  let database: Database;
  let counted: Counted;

  beforeAll(async () => {
    database = await openDatabase();
    counted = await countUsage(database);
  });

  afterAll(async () => {
    await database.close();
  });

  it('holds the tables that npm run cost computes today', () => {
    expect(tablesIn(document)).toBe(formatCost(counted));
  });

  it('is computed from what a run, a step, a poll and a settlement use', () => {
    expect(counted.run).toEqual({
      writeUnits: 23,
      readUnits: 4,
      turns: 2,
      polls: 1,
      fifoRequests: 6,
      standardRequests: 3,
      httpRequests: 2,
      apiCalls: 2,
    });
    expect(counted.step).toMatchObject({ writeUnits: 1, turns: 0, polls: 0 });
    expect(counted.poll).toMatchObject({ writeUnits: 2.19, readUnits: 0.99, turns: 0, polls: 0.99 });
    expect(counted.settlement).toMatchObject({ writeUnits: 6, turns: 1, httpRequests: 1 });
  });
});

describe('dollars for a million', () => {
  it('are units and requests by their prices', () => {
    expect(perMillion({ writeUnits: 8, readUnits: 8 })).toMatchObject({ dynamodb: 6, total: 6 });
    expect(perMillion({ fifoRequests: 3, standardRequests: 2 }).queues).toBeCloseTo(2.3, 10);
    expect(perMillion({ httpRequests: 4 }).gateway).toBe(4);
  });

  it('of invocations are requests, and seconds by memory', () => {
    // 150 ms of 1 GiB: 150,000 GB-seconds.
    expect(invocations(150, 1_024)).toBeCloseTo(0.2 + 150_000 * 0.0000133334, 10);
    expect(perMillion({ turns: 2 }).lambda).toBeCloseTo(2 * invocations(150, 1_024), 10);
  });

  it('add up', () => {
    expect(plus({ turns: 1 }, { turns: 2, polls: 1 })).toEqual({ turns: 3, polls: 1 });
    expect(times({ turns: 3 }, 0.5)).toEqual({ turns: 1.5 });
  });
});

it('tables go between the marks and nowhere else', () => {
  const changed = withTables(document, '| new |');
  expect(tablesIn(changed)).toBe('| new |');
  expect(withTables(changed, tablesIn(document))).toBe(document);
  expect(() => withTables('no marks', 'x')).toThrow('the document must have the marks');
});
