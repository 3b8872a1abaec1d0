import { setMaxListeners } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { figure, type Figure, medianFigure } from './figure.js';
import { callTool, getMcpTask, getTask, send, subscribe, type StreamEvent } from './serving/caller.js';
import { countServed } from './serving/count-served.js';
import { type ServedProcess, startServed } from './serving/served-process.js';
import { percentile } from './statistics.js';
import { type Database, openDatabase } from './stores.js';

const replicas = 3;
const roundCount = 7;
const sendsOfRound = 60;
const readsOfRound = 60;
const tickCount = 60;
/** Every so often a task says something while its stream is measured. */
const tickMs = 200;
const idleSubscribers = 1_000;
/** More than there are subscribers: the default serves a function of 100 invocations at a time. */
const streamsMax = 2_000;
const openedAtOnce = 20;
/** Time until idle streams have grown as quiet as they become. */
const quietMs = 10_000;

/** Measures the doors of served workflows: `npm run bench -- --only serving`. Takes two minutes. */
export async function servingFigures(progress: (text: string) => void): Promise<readonly Figure[]> {
  const database = await openDatabase();
  try {
    progress('requests of served tasks');
    const counted = await countServed(database);
    const { tableName } = await database.openTable();
    const served = await startAll(database, tableName);
    const inMemory = await startServed('replica-program.ts', [String(streamsMax)]);
    const sdk = await startServed('sdk-program.ts');
    const mcpSdk = await startServed('mcp-sdk-program.ts');
    try {
      progress('messages and reads, beside the official SDK');
      const timed = await requestFigures(served, inMemory, sdk);
      progress('calls of MCP tools, beside the official SDK');
      const overMcp = await mcpFigures(served, inMemory, mcpSdk);
      progress('from commits to events');
      const lagMs = await subscribeLag(served);
      progress(`${idleSubscribers} idle subscribers`);
      return [...counted, ...timed, ...overMcp, ...lagFigures(lagMs), ...(await subscriberFigures(served))];
    } finally {
      await Promise.all([...served, inMemory, sdk, mcpSdk].map((each) => each.stop()));
    }
  } finally {
    await database.close();
  }
}

function startAll({ endpoint }: Database, tableName: string): Promise<ServedProcess[]> {
  return Promise.all(
    Array.from({ length: replicas }, () =>
      startServed('replica-program.ts', [String(streamsMax), endpoint, tableName]),
    ),
  );
}

/** Sends one message, and returns the id of its task. */
type Send = (url: string) => Promise<string | undefined>;

interface Rounds {
  readonly ours: readonly (readonly number[])[];
  readonly ofMemory: readonly (readonly number[])[];
  readonly ofSdk: readonly (readonly number[])[];
  readonly reads: readonly (readonly number[])[];
}

async function requestFigures(
  served: readonly ServedProcess[],
  inMemory: ServedProcess,
  sdk: ServedProcess,
): Promise<readonly Figure[]> {
  const message: Send = async (url) => (await send(url, 'waits')).id;
  const rounds = await timedRounds({ served, inMemory, sdk }, message, getTask);
  return [...sendFigures('served.send', rounds), ...readFigures('served.getTask', rounds)];
}

async function mcpFigures(
  served: readonly ServedProcess[],
  inMemory: ServedProcess,
  sdk: ServedProcess,
): Promise<readonly Figure[]> {
  const rounds = await timedRounds({ served, inMemory, sdk }, (url) => callTool(url, 'waits'), getMcpTask);
  return [
    ...sendFigures('served.callTool', rounds),
    ...readFigures('served.mcpTask', rounds),
    medianFigure('served.mcpTask.toSdk', ratios(rounds.reads, rounds.ofSdk), 'times', { atMost: 3 }),
  ];
}

/** Measures by turns, so that a slower time of the machine slows all. */
async function timedRounds(
  { served, inMemory, sdk }: Record<'inMemory' | 'sdk', ServedProcess> & { readonly served: readonly ServedProcess[] },
  message: Send,
  read: (url: string, id: string) => Promise<unknown>,
): Promise<Rounds> {
  const ours: number[][] = [];
  const ofMemory: number[][] = [];
  const ofSdk: number[][] = [];
  const reads: number[][] = [];
  for (let round = 0; round <= roundCount; round++) {
    const [sent, ids] = await timedSends(served, message);
    const [sentToMemory] = await timedSends([inMemory], message);
    const [sentToSdk] = await timedSends([sdk], message);
    const tookMs = await timedReads(served, ids, read);
    // The first round warms up.
    if (round === 0) continue;
    ours.push(sent);
    ofMemory.push(sentToMemory);
    ofSdk.push(sentToSdk);
    reads.push(tookMs);
  }
  return { ours, ofMemory, ofSdk, reads };
}

function sendFigures(name: string, { ours, ofMemory, ofSdk }: Rounds): readonly Figure[] {
  return [
    medianFigure(`${name}.p50`, ours.map(median), 'ms'),
    figure(`${name}.p99`, percentile(ours.flat(), 0.99), 'ms'),
    medianFigure(`${name}.ofSdk.p50`, ofSdk.map(median), 'ms'),
    medianFigure(`${name}.toSdk`, ratios(ours, ofSdk), 'times', { atMost: 3 }),
    medianFigure(`${name}.inMemory.p50`, ofMemory.map(median), 'ms'),
    medianFigure(`${name}.inMemory.toSdk`, ratios(ofMemory, ofSdk), 'times', { atMost: 3 }),
  ];
}

function readFigures(name: string, { reads }: Rounds): readonly Figure[] {
  return [
    medianFigure(`${name}.p50`, reads.map(median), 'ms'),
    figure(`${name}.p99`, percentile(reads.flat(), 0.99), 'ms'),
  ];
}

function median(of: readonly number[]): number {
  return percentile(of, 0.5);
}

function ratios(of: readonly (readonly number[])[], to: readonly (readonly number[])[]): number[] {
  return of.map((tookMs, round) => median(tookMs) / median(to[round] ?? []));
}

/** Sends one message after the other, to each replica in turn. */
async function timedSends(to: readonly ServedProcess[], message: Send): Promise<[tookMs: number[], ids: string[]]> {
  const tookMs: number[] = [];
  const ids: string[] = [];
  for (let at = 0; at < sendsOfRound; at++) {
    const { url = '' } = to[at % to.length] ?? {};
    const beganMs = performance.now();
    const id = await message(url);
    tookMs.push(performance.now() - beganMs);
    if (id !== undefined) ids.push(id);
    // Turns run in the same processes: their time is not that of a message.
    await delay(20);
  }
  return [tookMs, ids];
}

/** Reads tasks from other replicas than the one that took the message. */
async function timedReads(
  served: readonly ServedProcess[],
  ids: readonly string[],
  read: (url: string, id: string) => Promise<unknown>,
): Promise<number[]> {
  const tookMs: number[] = [];
  for (let at = 0; at < readsOfRound; at++) {
    const { url = '' } = served[(at + 1) % served.length] ?? {};
    const beganMs = performance.now();
    await read(url, ids[at % ids.length] ?? '');
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
  setMaxListeners(0, left.signal);
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
