import type { EpochMs } from '../../lib/base/time.js';
import { nextPollAtMs } from '../../lib/decide/poll.js';
import type { Deps } from '../../lib/operations/deps.js';
import type { TurnMessage } from '../../lib/queue/queue.js';
import type { PollReply, RemoteTaskTransport } from '../../lib/remote/transport.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { defineApp, mcpServer } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { ShardMeter } from './shard-meter.js';
import { settleInPlace } from './settle-in-place.js';
import { percentile } from '../statistics.js';
import type { EventClock } from './event-clock.js';
import { Fleet, seededRandom, type FleetCounts } from './fleet.js';

const minuteMs = 60_000;
const names = ['healthy', 'refusing', 'hanging', 'slow'] as const;
export type ServerName = (typeof names)[number];

export interface ManyWaits {
  /** Waits, in equal parts of the servers. */
  readonly waits: number;
  readonly servers: readonly ServerName[];
  /** Time over which the tasks are started. */
  readonly startsOverMs: number;
  readonly forMs: number;
  /** Shortest and longest task; durations between them are equally likely on a logarithmic scale. */
  readonly takesMs: readonly [shortest: number, longest: number];
  /** Timeout of each call: until then the tasks of servers that do not answer are read. */
  readonly timeoutMs: number;
  /** Age that the tasks have when they are planted, at instants spread over the longest interval. Default 0. */
  readonly ageMs?: number;
  readonly concurrency?: number;
  readonly fair?: boolean;
  readonly dueShards?: number;
}

export interface Polled {
  /** Time from the end of each task of the healthy server until its settlement, and that to the interval at its end. */
  readonly lagMs: { readonly p50: number; readonly p99: number };
  readonly lagToInterval: { readonly p50: number; readonly p99: number };
  /** Tasks that had ended long before the end of the simulation, and were not settled. */
  readonly lost: number;
  readonly settled: number;
  readonly requests: Readonly<Record<ServerName, number>>;
  readonly mostInFlight: Readonly<Record<ServerName, number>>;
  readonly writes: number;
  /** Most writes to one of `dueShards` partitions of the due index in a second. */
  readonly mostPerShard: number;
  readonly counts: FleetCounts;
}

interface Task {
  readonly server: ServerName;
  readonly startedAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  settledAtMs?: EpochMs;
}

/**
 * Simulates waits for tasks of up to three servers, with the production code of sweep, queue, poll, guard and store. The
 * tasks are planted in the table as a start leaves them; a settlement is noted, and its marker removed, in place of a
 * turn.
 *
 * `healthy` answers within 100 ms, `refusing` answers 429 with `Retry-After: 30` and every tenth time the state,
 * `hanging` answers nothing for 30 s, `slow` answers after 20 s.
 */
export async function manyWaits(options: ManyWaits): Promise<Polled> {
  const { concurrency } = options;
  const config = {
    url: 'https://one.example.com/mcp',
    ...(concurrency === undefined ? {} : { limits: { concurrency } }),
  };
  const app = defineApp({
    workflows: [defineWorkflow({ name: 'none', run: async () => undefined })],
    servers: Object.fromEntries(names.map((name) => [name, mcpServer(config)])),
  });
  const tasks = new Map<string, Task>();
  const requests = { healthy: 0, refusing: 0, hanging: 0, slow: 0 };
  const inFlight = { healthy: 0, refusing: 0, hanging: 0, slow: 0 };
  const mostInFlight = { healthy: 0, refusing: 0, hanging: 0, slow: 0 };
  const table = new ShardMeter(new MemoryTable(), options.dueShards ?? 16, () => fleet.clock.nowMs());
  const transportOf = (server: ServerName, clock: EventClock): RemoteTaskTransport => ({
    protocol: 'mcp',
    dedupes: true,
    problemWith: () => undefined,
    start: async () => ({ kind: 'refused', error: { code: 'REMOTE_START_REFUSED', message: 'no' } }),
    cancel: async () => ({ kind: 'done' }),
    get: async ({ taskId }) => {
      requests[server]++;
      mostInFlight[server] = Math.max(mostInFlight[server], ++inFlight[server]);
      try {
        return await replyOf(server, clock, tasks.get(taskId.slice('task-'.length)), requests[server]);
      } finally {
        inFlight[server]--;
      }
    },
  });
  const fleet: Fleet = new Fleet({
    ...{ app, table, fair: options.fair ?? true, dueShards: options.dueShards ?? 16 },
    transports: (clock) => {
      const transports = new Map<string, RemoteTaskTransport>(names.map((name) => [name, transportOf(name, clock)]));
      return { get: (name) => transports.get(name) ?? transportOf('healthy', clock) };
    },
    onTurn: async (message, deps) => settled(message, deps, tasks),
  });
  await fleet.load();
  const beganAtMs = fleet.clock.nowMs();
  plant(fleet, tasks, options);
  await fleet.runUntil(beganAtMs + options.forMs);
  return {
    ...lagsOf([...tasks.values()], fleet.clock.nowMs()),
    requests,
    mostInFlight,
    writes: table.writes,
    mostPerShard: table.most,
    counts: fleet.counts,
  };
}

const unreachable = (status?: number) =>
  ({ code: 'REMOTE_UNREACHABLE', message: 'no', ...(status === undefined ? {} : { details: { status } }) }) as const;

async function replyOf(
  server: ServerName,
  clock: EventClock,
  task: Task | undefined,
  request: number,
): Promise<PollReply> {
  await clock.delay(server === 'hanging' ? 30_000 : server === 'slow' ? 20_000 : 100);
  if (server === 'hanging') return { kind: 'unreadable', error: unreachable() };
  if (server === 'refusing' && request % 10 !== 0)
    return { kind: 'unreadable', error: unreachable(429), retryAfterMs: 30_000 };
  if (task === undefined || clock.nowMs() < task.endsAtMs) return { kind: 'working', state: 'working' };
  return { kind: 'ended', end: { kind: 'completed', result: 1, isError: false, taskId: 'task' } };
}

/** Creates the tokens of the tasks, each at its instant, as a turn and its start leave them. */
function plant(
  fleet: Fleet,
  tasks: Map<string, Task>,
  { waits, servers, startsOverMs, takesMs, timeoutMs, ageMs = 0 }: ManyWaits,
): void {
  const { clock, deps } = fleet;
  const beganAtMs = clock.nowMs();
  const [shortest, longest] = takesMs;
  const each = Math.floor(waits / servers.length);
  for (const server of servers) {
    // Gives each server a generator: its tasks are the same whichever other servers there are.
    const random = seededRandom(7 + names.indexOf(server));
    let planted = 0;
    const next = (): void => {
      const nowMs = clock.nowMs();
      const runId = random.hex(16);
      const takes = shortest * (longest / shortest) ** random.fraction();
      tasks.set(runId, { server, startedAtMs: nowMs - ageMs, endsAtMs: nowMs + takes });
      planted++;
      const dueInMs = ageMs === 0 ? undefined : Math.floor(random.fraction() * 5 * minuteMs);
      void plantOne(deps, { runId, server, createdAtMs: nowMs - ageMs, deadlineAtMs: nowMs + timeoutMs }, dueInMs);
      if (planted < each) clock.at(beganAtMs + Math.floor((planted / each) * startsOverMs), next);
    };
    clock.at(beganAtMs, next);
  }
}

async function plantOne(
  deps: Deps,
  task: {
    readonly runId: string;
    readonly server: string;
    readonly createdAtMs: EpochMs;
    readonly deadlineAtMs: EpochMs;
  },
  dueInMs: number | undefined,
): Promise<void> {
  const { runId, server } = task;
  const nowMs = deps.clock.nowMs();
  const dueAtMs = dueInMs === undefined ? nextPollAtMs(task, nowMs) : nowMs + dueInMs;
  await deps.store.tokens.put({ ...task, waitId: '1', attempt: 1, writerId: runId, pollErrors: 0 });
  const handle = { server, protocol: 'mcp', wire: 'bench', taskId: `task-${runId}` } as const;
  await deps.store.starts.storeHandle(runId, '1', { handle, startedAtMs: task.createdAtMs, dueAtMs });
  if (dueAtMs - nowMs <= 90_000)
    await deps.queues.sendWork({ kind: 'poll', runId, waitId: '1', server, dueAtMs }, dueAtMs - nowMs);
}

async function settled(message: TurnMessage, deps: Deps, tasks: Map<string, Task>): Promise<void> {
  const task = tasks.get(message.runId);
  const settledAtMs = await settleInPlace(message, deps);
  if (task !== undefined && settledAtMs !== undefined) task.settledAtMs ??= settledAtMs;
}

function lagsOf(tasks: readonly Task[], nowMs: EpochMs): Pick<Polled, 'lagMs' | 'lagToInterval' | 'lost' | 'settled'> {
  const healthy = tasks.filter(({ server }) => server === 'healthy');
  const done = healthy.filter((task) => task.settledAtMs !== undefined);
  const lags = done.map(({ settledAtMs = 0, endsAtMs }) => settledAtMs - endsAtMs);
  const ratios = done.map(({ settledAtMs = 0, endsAtMs, startedAtMs }) => {
    const intervalMs = Math.min(Math.max((endsAtMs - startedAtMs) / 10, 5_000), 5 * minuteMs);
    return (settledAtMs - endsAtMs) / intervalMs;
  });
  const two = (values: readonly number[]) => ({
    p50: values.length === 0 ? 0 : percentile(values, 0.5),
    p99: values.length === 0 ? 0 : percentile(values, 0.99),
  });
  return {
    lagMs: two(lags),
    lagToInterval: two(ratios),
    lost: healthy.filter(({ settledAtMs, endsAtMs }) => settledAtMs === undefined && endsAtMs < nowMs - 10 * minuteMs)
      .length,
    settled: done.length,
  };
}
