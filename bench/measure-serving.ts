import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { figure, type Figure, medianFigure } from './figure.js';
import { getTask, send, subscribe, type StreamEvent } from './serving/caller.js';
import { countServed } from './serving/count-served.js';
import { type ServedProcess, startServed } from './serving/served-process.js';
import { percentile } from './statistics.js';
import { type Database, openDatabase } from './stores.js';

const replicas = 3;
const rounds = 7;
const sendsOfRound = 60;
const readsOfRound = 60;
const tickCount = 60;
/** Every so often a task says something while its stream is measured. */
const tickMs = 200;
const idleSubscribers = 1_000;
const openedAtOnce = 20;
/** Time until idle streams have grown as quiet as they become. */
const quietMs = 10_000;

/** Measures the doors of served workflows: `npm run bench -- --only serving`. Takes three minutes. */
export async function servingFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  const database = await openDatabase();
  try {
    progress('requests of served tasks');
    const counted = await countServed(database);
    const { tableName } = await database.openTable();
    const served = await startAll(database, tableName);
    const sdk = await startServed('sdk-program.ts');
    try {
      progress('messages and reads, beside the official SDK');
      const timed = await requestFigures(served, sdk);
      progress('from commits to events');
      const lagMs = await subscribeLag(served);
      progress(`${idleSubscribers} idle subscribers`);
      return [...counted, ...timed, ...lagFigures(lagMs), ...(await subscriberFigures(served))];
    } finally {
      await Promise.all([...served, sdk].map((each) => each.stop()));
    }
  } finally {
    await database.close();
  }
}

function startAll({ endpoint }: Database, tableName: string): Promise<ServedProcess[]> {
  return Promise.all(Array.from({ length: replicas }, () => startServed('replica-program.ts', [endpoint, tableName])));
}

/** Rounds by turns, so that a slower time of the machine slows both. */
async function requestFigures(served: readonly ServedProcess[], sdk: ServedProcess): Promise<readonly Figure[]> {
  const ours: number[][] = [];
  const theirs: number[][] = [];
  const reads: number[][] = [];
  for (let round = 0; round <= rounds; round++) {
    const [sent, ids] = await timedSends(served.map(({ url }) => url));
    const [sentToSdk] = await timedSends([sdk.url]);
    const read = await timedReads(served, ids);
    // The first round warms up.
    if (round === 0) continue;
    ours.push(sent);
    theirs.push(sentToSdk);
    reads.push(read);
  }
  const p50 = (of: readonly number[]): number => percentile(of, 0.5);
  const ratios = ours.map((sent, round) => p50(sent) / p50(theirs[round] ?? []));
  return [
    medianFigure('served.send.p50', ours.map(p50), 'ms'),
    figure('served.send.p99', percentile(ours.flat(), 0.99), 'ms'),
    medianFigure('served.send.ofSdk.p50', theirs.map(p50), 'ms'),
    medianFigure('served.send.toSdk', ratios, 'times', { atMost: 3 }),
    medianFigure('served.getTask.p50', reads.map(p50), 'ms'),
    figure('served.getTask.p99', percentile(reads.flat(), 0.99), 'ms'),
  ];
}

/** Sends one message after the other, to each URL in turn. */
async function timedSends(urls: readonly string[]): Promise<[tookMs: number[], ids: string[]]> {
  const tookMs: number[] = [];
  const ids: string[] = [];
  for (let at = 0; at < sendsOfRound; at++) {
    const beganMs = performance.now();
    const { id } = await send(urls[at % urls.length] ?? '', 'waits');
    tookMs.push(performance.now() - beganMs);
    ids.push(id);
    // Turns run in the same processes: their time is not that of a message.
    await delay(20);
  }
  return [tookMs, ids];
}

/** Reads tasks from other replicas than the one that took the message. */
async function timedReads(served: readonly ServedProcess[], ids: readonly string[]): Promise<number[]> {
  const tookMs: number[] = [];
  for (let at = 0; at < readsOfRound; at++) {
    const { url = '' } = served[(at + 1) % served.length] ?? {};
    const beganMs = performance.now();
    await getTask(url, ids[at % ids.length] ?? '');
    tookMs.push(performance.now() - beganMs);
  }
  return tookMs;
}

/** Returns for each event the time from its commit on one replica to its arrival from another. */
async function subscribeLag([runs, watches]: readonly ServedProcess[]): Promise<readonly number[]> {
  const { id } = await send(runs?.url ?? '', 'ticks', { count: tickCount, everyMs: tickMs });
  const lagMs: number[] = [];
  for await (const { statusUpdate } of subscribe(watches?.url ?? '', id, AbortSignal.timeout(120_000))) {
    const timestamp = statusUpdate?.status.timestamp;
    if (timestamp !== undefined) lagMs.push(Date.now() - Date.parse(timestamp));
  }
  return lagMs;
}

function lagFigures(lagMs: readonly number[]): readonly Figure[] {
  return [
    figure('served.subscribe.events', lagMs.length, 'events', { atLeast: tickCount }),
    figure('served.subscribe.lag.p50', percentile(lagMs, 0.5), 'ms', { atMost: 300 }),
    figure('served.subscribe.lag.p99', percentile(lagMs, 0.99), 'ms'),
  ];
}

async function subscriberFigures([first]: readonly ServedProcess[]): Promise<readonly Figure[]> {
  if (first === undefined) throw new Error('there is no replica');
  const { id } = await send(first.url, 'waits');
  const left = new AbortController();
  const before = await first.memory();
  const streams = Array.from({ length: idleSubscribers }, () => subscribe(first.url, id, left.signal));
  // The snapshot says that a stream is open; waiting for more keeps it open.
  const opened: IteratorResult<StreamEvent>[] = [];
  // Opened in parts, since each leases a place, and reads which are taken.
  for (let from = 0; from < streams.length; from += openedAtOnce)
    opened.push(...(await Promise.all(streams.slice(from, from + openedAtOnce).map((stream) => stream.next()))));
  const rests = streams.map((stream) => stream.next().catch(() => ({ done: true, value: undefined })));
  await delay(quietMs);
  const after = await first.memory();
  left.abort();
  await Promise.all(rests);
  const each = (of: 'residentBytes' | 'liveBytes'): number => (after[of] - before[of]) / idleSubscribers / 1_024;
  return [
    figure('served.subscribers.open', opened.filter(isSnapshot).length, 'streams', { atLeast: idleSubscribers }),
    figure('served.subscribers.resident', each('residentBytes'), 'KiB each', { atMost: 50 }),
    figure('served.subscribers.live', each('liveBytes'), 'KiB each'),
  ];
}

function isSnapshot({ value }: IteratorResult<StreamEvent>): boolean {
  return (value as StreamEvent | undefined)?.task !== undefined;
}
