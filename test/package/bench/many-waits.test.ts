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

  it('EN-20: the p99 of the lag of one server’s waits is at most a quarter longer beside a slow server’s', async () => {
    const alone = await manyWaits(besideSlow(300, false));
    const beside = await manyWaits(besideSlow(300, true));
    expect([alone.lost, beside.lost]).toEqual([0, 0]);
    expect(beside.lagMs.p99).toBeLessThanOrEqual(1.25 * alone.lagMs.p99);
  });
});
