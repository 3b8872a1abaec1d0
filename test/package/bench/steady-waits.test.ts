import { expect, it } from 'vitest';
import { steadyWaits } from '../../../bench/polling/steady-waits.js';

it('loses none of many waits that start and end, finds each end within its interval, and loads all shards alike', async () => {
  const hourMs = 3_600_000;
  const [waits, minutes, dueShards] = [1_500, 20, 64];
  const polled = await steadyWaits(
    { waits, servers: 4, forMs: (minutes * hourMs) / 60, takesMs: [hourMs / 60, hourMs], dueShards },
    () => undefined,
  );
  const { started, settled, lost, lagToInterval, mostPerShard } = polled;
  expect(lost).toBe(0);
  // Tasks take 14 minutes on average.
  expect(started).toBeGreaterThan(1_900);
  expect(settled).toBeGreaterThan(1_900);
  // Up to two seconds come from the window in which messages are gathered.
  expect(lagToInterval.p99).toBeLessThan(1.5);
  expect(lagToInterval.p50).toBeLessThan(0.8);
  // A claim lasts a minute, so a wait makes at most one a minute, and a start two further writes.
  const mean = (waits + 2 * (started / minutes)) / 60 / dueShards;
  expect(mostPerShard).toBeLessThan(mean + 12);
  expect(polled.reads).toBeGreaterThan(waits * 12);
});
