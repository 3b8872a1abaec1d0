import { describe, expect, it } from 'vitest';
import { manyBehindRate } from '../../../bench/polling/many-behind-a-rate.js';

function countOf(instants: readonly number[], minute: number): number {
  return instants.filter((atMin) => Math.floor(atMin) === minute).length;
}

describe('200 calls behind 30 requests a minute, over as many processes as there are', () => {
  it('EN-20, GB-29: cost at most 1,500 writes in 20 minutes, are started within 14, and leave a third to reads', async () => {
    const { writes, startsAtMin, readsAtMin } = await manyBehindRate({
      ...{ calls: 200, perMinute: 30, minutes: 20, apartMs: 20 },
    });
    expect(startsAtMin).toHaveLength(200);
    expect(Math.max(...startsAtMin)).toBeLessThan(14);
    expect(writes).toBeLessThanOrEqual(1_500);
    for (let minute = 0; minute < 20; minute++) {
      const [starts, reads] = [countOf(startsAtMin, minute), countOf(readsAtMin, minute)];
      expect(starts, `starts of minute ${minute}`).toBeLessThanOrEqual(20);
      expect(starts + reads, `minute ${minute}`).toBeLessThanOrEqual(30);
      // A place is reached within the batching window, so some reads come in the minute after.
      expect(reads, `reads of minute ${minute}`).toBeGreaterThanOrEqual(7);
    }
    expect(readsAtMin.length).toBeGreaterThan(330);
  });

  it('EN-20: are started within 14 minutes too if all come in one instant, to a hundred processes', async () => {
    const { writes, startsAtMin } = await manyBehindRate({
      ...{ calls: 200, perMinute: 30, minutes: 20, apartMs: 0 },
    });
    expect(startsAtMin).toHaveLength(200);
    expect(Math.max(...startsAtMin)).toBeLessThan(14);
    expect(writes).toBeLessThanOrEqual(2_000);
  });

  it('GB-29: are (n + 5) minutes of requests in n with clocks that differ by up to two minutes', async () => {
    const { startsAtMin, readsAtMin } = await manyBehindRate({
      ...{ calls: 100, perMinute: 12, minutes: 15, apartMs: 100 },
      skewMsOf: (process) => ((process * 37) % 240_000) - 120_000 + (process % 2) * 60_000,
    });
    const all = [...startsAtMin, ...readsAtMin].sort((a, b) => a - b);
    for (const minutes of [1, 3, 8])
      for (const from of all)
        expect(all.filter((atMin) => atMin >= from && atMin < from + minutes).length).toBeLessThanOrEqual(
          12 * (minutes + 5),
        );
    expect(startsAtMin.length).toBeGreaterThan(50);
  });
});
