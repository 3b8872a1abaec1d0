import { getHeapStatistics } from 'node:v8';
import { perMillion } from '../cost/usage.js';
import { figure, type Figure } from '../figure.js';
import { percentile } from '../statistics.js';
import type { FleetCounts } from './fleet.js';
import { manyBehindRate } from './many-behind-a-rate.js';
import { manyWaits, type ManyWaits, type Polled } from './many-waits.js';
import { realWaits } from './real-waits.js';
import { steadyWaits } from './steady-waits.js';

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

/** Sizes of the measurements. Those of docs/performance.md are named there. */
export interface PollingSizes {
  /** Waits of a virtual day. */
  readonly day: number;
  /** Waits at any time as tasks start and end, and for how many virtual minutes. */
  readonly steady: number;
  readonly minutes: number;
  /** Waits of one process on dynoxide, on the real clock; 0 for none. */
  readonly real: number;
}

export const modestSizes: PollingSizes = { day: 10_000, steady: 50_000, minutes: 10, real: 0 };

/** Simulates polling on a virtual clock: `npm run bench -- --only polls`. Takes a few minutes with modest sizes. */
export async function pollingFigures(
  { day, steady, minutes, real }: PollingSizes,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  progress('200 calls behind 30 requests a minute');
  const behind = await manyBehindRate({ ...{ calls: 200, perMinute: 30, minutes: 20, apartMs: 20 } });
  progress(`${day} waits over 24 hours`);
  const polled = await manyWaits(threeServers(day, 24));
  progress('one slow server');
  const alone = await manyWaits(besideSlow(2_000, false));
  const beside = await manyWaits(besideSlow(2_000, true));
  return [
    figure('polls.behindRate.writes', behind.writes, 'requests', { atMost: 1_500 }),
    figure('polls.behindRate.started', behind.startsAtMin.length, 'starts', { atLeast: 200 }),
    figure('polls.behindRate.lastStart', Math.max(...behind.startsAtMin), 'minutes', { atMost: 14 }),
    ...dayFigures(polled),
    figure('polls.slow.p99', beside.lagMs.p99 / alone.lagMs.p99, 'times', { atMost: 1.05 }),
    figure('polls.slow.p99ToInterval', beside.lagToInterval.p99 / alone.lagToInterval.p99, 'times', { atMost: 1.05 }),
    ...(await steadyFigures(steady, minutes, progress)),
    ...(real === 0 ? [] : await realFigures(real, progress)),
  ];
}

/** Heap of a simulated wait, with what is in flight for it. */
const bytesPerWait = 5_000;

async function steadyFigures(
  waits: number,
  minutes: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const neededBytes = 500_000_000 + waits * bytesPerWait;
  if (neededBytes > getHeapStatistics().heap_size_limit) {
    const neededMb = Math.ceil(neededBytes / 1e6);
    throw new Error(`${waits} waits need more memory: NODE_OPTIONS="--max-old-space-size=${neededMb}"`);
  }
  progress(`${waits} waits for ${minutes} minutes`);
  const steady = await steadyWaits(
    {
      ...{ waits, servers: 16, dueShards: 64, forMs: minutes * minuteMs },
      takesMs: [10 * minuteMs, 7 * 24 * hourMs],
    },
    progress,
  );
  const { counts, reads, writes } = steady;
  return [
    figure('polls.steady.writesPerShard', steady.mostPerShard, 'a second at most', { atMost: 500 }),
    figure('polls.steady.meanWritesPerShard', writes / 64 / (minutes * 60), 'a second'),
    figure('polls.steady.lag.p50', steady.lagMs.p50 / 1_000, 's'),
    figure('polls.steady.lag.p99', steady.lagMs.p99 / 1_000, 's'),
    figure('polls.steady.lagToInterval.p50', steady.lagToInterval.p50, 'intervals'),
    figure('polls.steady.lagToInterval.p99', steady.lagToInterval.p99, 'intervals', { atMost: 1.5 }),
    figure('polls.steady.lost', steady.lost, 'waits', { atMost: 0 }),
    figure('polls.steady.started', steady.started, 'waits'),
    figure('polls.steady.settled', steady.settled, 'waits'),
    figure('polls.steady.requests', reads, 'requests'),
    figure('polls.steady.inFlight', steady.mostInFlight, 'requests'),
    figure('polls.steady.writes', writes, 'requests'),
    figure('polls.steady.messages', counts.messages, 'messages'),
    figure('polls.steady.perInvocation', counts.messages / counts.pollInvocations, 'messages'),
    figure('polls.steady.perMillionReads', queueDollars(steady, reads), '$ for SQS and Lambda'),
  ];
}

async function realFigures(waits: number, progress: (text: string) => void): Promise<readonly Figure[]> {
  const forMinutes = 5;
  const polled = await realWaits(
    { waits, forMs: forMinutes * minuteMs, takesMs: [10 * minuteMs, 12 * hourMs] },
    progress,
  );
  const given = (name: string, value: number | undefined, unit: string): readonly Figure[] =>
    value === undefined ? [] : [figure(name, value, unit)];
  return [
    figure('polls.real.requests', polled.readsPerSecond, 'a second'),
    figure('polls.real.ends', polled.lagMs.length, 'tasks'),
    ...([50, 90, 99] as const).flatMap((rank) =>
      given(`polls.real.lag.p${rank}`, percentile(polled.lagMs, rank / 100) / 1_000, 's'),
    ),
    figure('polls.real.lost', polled.lost, 'waits', { atMost: 0 }),
    figure('polls.real.failedStarts', polled.failedStarts, 'starts'),
    ...given('polls.real.engine', polled.engineMsPerRead, 'ms of a processor per read'),
    ...given('polls.real.database', polled.databaseMsPerRead, 'ms of a processor per read'),
    ...given('polls.real.engineMemory', polled.engineMiB, 'MiB'),
    ...given('polls.real.databaseMemory', polled.databaseMiB, 'MiB'),
  ];
}

function dayFigures(day: Polled): readonly Figure[] {
  const { counts, requests } = day;
  const reads = Object.values(requests).reduce((sum, count) => sum + count, 0);
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
    figure('polls.day.perMillionReads', queueDollars(day, reads), '$ for SQS and Lambda'),
  ];
}

function queueDollars({ counts }: { readonly counts: FleetCounts }, reads: number): number {
  const { sends, receives, deletes, pollInvocations } = counts;
  const standardRequests = (sends + receives + deletes) / reads;
  return perMillion({ polls: pollInvocations / reads, standardRequests }).total;
}
