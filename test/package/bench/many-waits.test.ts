import { describe, expect, it } from 'vitest';
import { manyWaits } from '../../../bench/polling/many-waits.js';
import { besideSlow, threeServers } from '../../../bench/polling/polling-figures.js';

describe('many waits, over as many processes as there are', () => {
  it('R17: of three servers, the healthy one’s are found in time, none is lost, and none is asked by too many', async () => {
    const { lagToInterval, lost, settled, mostInFlight, requests } = await manyWaits(threeServers(450, 3));
    expect({ lost, settled }).toEqual({ lost: 0, settled: 150 });
    expect(lagToInterval.p50).toBeLessThan(0.7);
    expect(lagToInterval.p99).toBeLessThan(1.5);
    for (const most of Object.values(mostInFlight)) expect(most).toBeLessThanOrEqual(24);
    // The breaker leaves one alone, its Retry-After the other.
    expect(requests.hanging).toBeLessThan(60);
    expect(requests.refusing).toBeLessThan(requests.healthy / 4);
  });

  it('EN-20: the p99 of the lag of one server’s waits is at most 5 % longer beside a slow server’s', async () => {
    const alone = await manyWaits(besideSlow(600, false));
    const beside = await manyWaits(besideSlow(600, true));
    expect([alone.lost, beside.lost]).toEqual([0, 0]);
    expect([alone.settled, beside.settled]).toEqual([600, 600]);
    expect(beside.lagMs.p99).toBeLessThanOrEqual(1.05 * alone.lagMs.p99);
    expect(beside.lagToInterval.p99).toBeLessThanOrEqual(1.05 * alone.lagToInterval.p99);
    // Its own reads go on meanwhile, as many as there are invocations for.
    expect(beside.requests.slow).toBeGreaterThan(4_000);
  });
});
