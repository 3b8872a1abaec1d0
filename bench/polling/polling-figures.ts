import { perMillion } from '../cost/usage.js';
import { figure, type Figure } from '../figure.js';
import { manyBehindRate } from './many-behind-a-rate.js';
import { manyWaits, type ManyWaits, type Polled } from './many-waits.js';

const hourMs = 3_600_000;
const minuteMs = 60_000;

/** Waits of three servers, of which one is in good health; each takes at most 24 requests at a time. */
export function threeServers(waits: number, hours: number): ManyWaits {
  return {
    ...{ waits, servers: ['healthy', 'refusing', 'hanging'], concurrency: 24 },
    ...{ startsOverMs: (hours - 1.75) * hourMs, forMs: hours * hourMs },
    ...{ takesMs: [30_000, hourMs], timeoutMs: 1.5 * hourMs },
  };
}

/** Waits of a server in good health, and as many of another one that answers after 20 s or of none. */
export function besideSlow(waits: number, isBeside: boolean): ManyWaits {
  return {
    ...{ waits: isBeside ? 2 * waits : waits, servers: isBeside ? ['healthy', 'slow'] : ['healthy'] },
    ...{
      startsOverMs: 10 * minuteMs,
      forMs: 45 * minuteMs,
      takesMs: [30_000, 20 * minuteMs],
      timeoutMs: 90 * minuteMs,
    },
  };
}

/** Simulates polling on a virtual clock: `npm run bench -- --only polls`. Takes minutes. */
export async function pollingFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress('200 calls behind 30 requests a minute');
  const behind = await manyBehindRate({ ...{ calls: 200, perMinute: 30, minutes: 20, apartMs: 20 } });
  progress('100,000 waits over 24 hours');
  const day = await manyWaits(threeServers(100_000, 24));
  progress('100,000 old waits at 64 shards');
  const old = await manyWaits({
    ...{ waits: 100_000, servers: ['healthy'], startsOverMs: 5 * minuteMs, forMs: 15 * minuteMs, dueShards: 64 },
    ...{ takesMs: [600 * minuteMs, 601 * minuteMs], timeoutMs: 900 * minuteMs, ageMs: 120 * minuteMs },
  });
  progress('one slow server');
  const alone = await manyWaits(besideSlow(2_000, false));
  const beside = await manyWaits(besideSlow(2_000, true));
  return [
    figure('polls.behindRate.writes', behind.writes, 'requests', { atMost: 1_500 }),
    figure('polls.behindRate.started', behind.startsAtMin.length, 'starts', { atLeast: 200 }),
    figure('polls.behindRate.lastStart', Math.max(...behind.startsAtMin), 'minutes', { atMost: 14 }),
    ...dayFigures(day),
    figure('polls.old.writesPerShard', old.mostPerShard, 'a second', { atMost: 500 }),
    figure('polls.old.reads', old.requests.healthy, 'requests'),
    figure('polls.slow.p99', beside.lagMs.p99 / alone.lagMs.p99, 'times', { atMost: 1.05 }),
    figure('polls.slow.p99ToInterval', beside.lagToInterval.p99 / alone.lagToInterval.p99, 'times', { atMost: 1.05 }),
  ];
}

function dayFigures(day: Polled): readonly Figure[] {
  const { counts, requests } = day;
  const reads = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const perRead = (count: number): number => count / reads;
  const batch = counts.messages / counts.pollInvocations;
  return [
    figure('polls.day.lag.p50', day.lagMs.p50 / 1_000, 's'),
    figure('polls.day.lag.p99', day.lagMs.p99 / 1_000, 's'),
    figure('polls.day.lagToInterval.p50', day.lagToInterval.p50, 'intervals'),
    figure('polls.day.lagToInterval.p99', day.lagToInterval.p99, 'intervals', { atMost: 1.5 }),
    figure('polls.day.lost', day.lost, 'waits', { atMost: 0 }),
    figure('polls.day.inFlight', Math.max(...Object.values(day.mostInFlight)), 'requests', { atMost: 24 }),
    ...Object.entries(requests).map(([name, count]) => figure(`polls.day.requests.${name}`, count, 'requests')),
    figure('polls.day.writes', day.writes, 'requests'),
    figure('polls.day.messages', counts.messages, 'messages'),
    figure('polls.day.perInvocation', batch, 'messages'),
    figure('polls.day.perMillionReads', perMillion(queueUsage(day, perRead)).total, '$ for SQS and Lambda'),
  ];
}

function queueUsage({ counts }: Polled, perRead: (count: number) => number) {
  const { sends, receives, deletes, pollInvocations } = counts;
  return { polls: perRead(pollInvocations), standardRequests: perRead(sends + receives + deletes) };
}
