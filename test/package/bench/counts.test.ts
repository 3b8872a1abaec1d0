import { afterAll, beforeAll, expect, it } from 'vitest';
import { costOfRun } from '../../../bench/measure-requests.js';
import { openDatabase, type Database } from '../../../bench/stores.js';
import { describeWithDynoxide } from '../../support/dynoxide.js';

describeWithDynoxide('what a run costs on DynamoDB', () => {
  let database: Database;

  beforeAll(async () => {
    database = await openDatabase();
  });

  afterAll(async () => {
    await database.close();
  });

  it('three steps and one remote wait are 11 write requests, 23 write units and 2 turns', async () => {
    const cost = await costOfRun(database, { steps: 3, polls: 0 });

    expect(cost).toEqual({
      writes: { requests: 11, tableUnits: 14, indexUnits: 9 },
      reads: { requests: 4, tableUnits: 4, indexUnits: 0 },
      writesByMethod: {
        'heads.create': { requests: 1, tableUnits: 1, indexUnits: 2 },
        'log.commit': { requests: 4, tableUnits: 4, indexUnits: 0 },
        'tokens.put': { requests: 1, tableUnits: 1, indexUnits: 0 },
        'starts.storeHandle': { requests: 1, tableUnits: 1, indexUnits: 1 },
        'headMarkers.set': { requests: 1, tableUnits: 1, indexUnits: 1 },
        'tokens.settle': { requests: 1, tableUnits: 1, indexUnits: 2 },
        'log.commitEnd': { requests: 1, tableUnits: 4, indexUnits: 2 },
        'tokens.clearMarker': { requests: 1, tableUnits: 1, indexUnits: 1 },
      },
      turnInvocations: 2,
      // Sent with the start, and found stale, since the token was settled before it arrived.
      pollMessages: 1,
      remoteReads: 0,
      busEvents: 0,
      busRequests: 0,
    });
  });

  it('with a bus it is a commit and a write at its end more, and 4 events in a request for each turn', async () => {
    const cost = await costOfRun(database, { steps: 3, polls: 0, hasBus: true });

    expect(cost).toMatchObject({ turnInvocations: 2, busEvents: 4, busRequests: 2 });
    expect(cost.writes).toEqual({ requests: 13, tableUnits: 16, indexUnits: 9 });
    expect(cost.writesByMethod).toMatchObject({
      'log.commit': { requests: 5 },
      'headMarkers.setPublished': { requests: 1 },
    });
  });

  it('each further sequential step is one write request of one unit, and no turn', async () => {
    const cost = await costOfRun(database, { steps: 13, polls: 0 });

    expect(cost.writes).toEqual({ requests: 21, tableUnits: 24, indexUnits: 9 });
    expect(cost.turnInvocations).toBe(2);
  });

  it('a hundred polls are at most a claim a minute, and no turn', async () => {
    const cost = await costOfRun(database, { steps: 3, polls: 100 });

    expect(cost.remoteReads).toBe(100);
    expect(cost.writesByMethod).toMatchObject({
      'polls.claim': { requests: 72, tableUnits: 72, indexUnits: 144 },
      'tokens.settle': { requests: 1, tableUnits: 1, indexUnits: 2 },
    });
    expect(cost.writes).toEqual({ requests: 84, tableUnits: 87, indexUnits: 155 });
    expect(cost.turnInvocations).toBe(2);
  });
});
