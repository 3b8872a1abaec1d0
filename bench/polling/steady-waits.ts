import type { EpochMs } from '../../lib/base/time.js';
import { nextPollAtMs, pollIntervalMs } from '../../lib/decide/poll.js';
import { changedTrail } from '../../lib/decide/task-trail.js';
import type { TokenRecord } from '../../lib/history/records.js';
import type { TurnMessage } from '../../lib/queue/queue.js';
import type { RemoteTaskTransport } from '../../lib/remote/transport.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { defineApp, mcpServer } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { percentile } from '../statistics.js';
import { Fleet, seededRandom, type FleetCounts } from './fleet.js';
import { settleInPlace } from './settle-in-place.js';
import { ShardMeter } from './shard-meter.js';

const minuteMs = 60_000;
/** Time that a server takes for an answer. */
const answerMs = 100;
/** Beginning of the ids of tasks; the id of the run follows. */
const taskPrefix = 'task-';
/** Time for which messages were sent before the simulation began: by the last sweep. */
const sweptMs = 60_000;

export interface SteadyWaits {
  /** Waits at any time, in about equal parts of the servers. */
  readonly waits: number;
  readonly servers: number;
  readonly forMs: number;
  /** Shortest and longest task; of those that start, durations are equally likely on a logarithmic scale. */
  readonly takesMs: readonly [shortest: number, longest: number];
  readonly dueShards: number;
}

export interface Steady {
  readonly started: number;
  readonly settled: number;
  /** Tasks that had ended ten minutes before the end of the simulation, and were not settled. */
  readonly lost: number;
  readonly lagMs: { readonly p50: number; readonly p99: number };
  /** The lag in proportion to the interval at the end of the task. */
  readonly lagToInterval: { readonly p50: number; readonly p99: number };
  readonly reads: number;
  /** Most reads under way at one server. */
  readonly mostInFlight: number;
  readonly writes: number;
  /** Most writes to one partition of the due index in a second. */
  readonly mostPerShard: number;
  readonly counts: FleetCounts;
}

interface Task {
  readonly startedAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  settledAtMs?: EpochMs;
}

/**
 * Simulates a number of waits that stays the same, as tasks start and end, with the production code of sweep, queue,
 * poll, guard and store. It begins in the middle: tasks have all ages, and their next reads are due when they would be.
 * The items of tasks that are under way then are not counted as writes. A settlement is noted, and its marker removed,
 * in place of a turn. `progress` is told of each minute.
 */
export async function steadyWaits(options: SteadyWaits, progress: (text: string) => void): Promise<Steady> {
  const names = Array.from({ length: options.servers }, (_, at) => `server-${at + 1}`);
  const app = defineApp({
    workflows: [defineWorkflow({ name: 'none', run: async () => undefined })],
    servers: Object.fromEntries(names.map((name) => [name, mcpServer({ url: 'https://one.example.com/mcp' })])),
  });
  const tasks = new Map<string, Task>();
  const meter = new ShardMeter(new MemoryTable(), options.dueShards, () => fleet.clock.nowMs());
  let reads = 0;
  let mostInFlight = 0;
  const fleet: Fleet = new Fleet({
    ...{ app, table: meter, dueShards: options.dueShards },
    transports: (clock) => {
      const transport = (): RemoteTaskTransport => {
        let inFlight = 0;
        return {
          protocol: 'mcp',
          dedupes: true,
          problemWith: () => undefined,
          start: async () => ({ kind: 'refused', error: { code: 'REMOTE_START_REFUSED', message: 'no' } }),
          cancel: async () => ({ kind: 'done' }),
          get: async ({ taskId }) => {
            reads++;
            mostInFlight = Math.max(mostInFlight, ++inFlight);
            await clock.delay(answerMs);
            inFlight--;
            const endsAtMs = tasks.get(taskId.slice(taskPrefix.length))?.endsAtMs ?? Infinity;
            if (clock.nowMs() < endsAtMs) return { kind: 'working', state: 'working' };
            return { kind: 'ended', end: { kind: 'completed', result: 1, isError: false, taskId } };
          },
        };
      };
      const transports = new Map(names.map((name) => [name, transport()]));
      return { get: (name) => transports.get(name) ?? transport() };
    },
    onTurn: async (message: TurnMessage, deps) => {
      const task = tasks.get(message.runId);
      const settledAtMs = await settleInPlace(message, deps);
      if (task !== undefined && settledAtMs !== undefined) task.settledAtMs ??= settledAtMs;
    },
  });
  await fleet.load();
  const beganAtMs = fleet.clock.nowMs();
  meter.isOn = false;
  await new Planting(fleet, tasks, names, options).all();
  meter.isOn = true;
  const untilMs = beganAtMs + options.forMs;
  for (let atMs = beganAtMs; atMs < untilMs;) {
    atMs = Math.min(atMs + minuteMs, untilMs);
    await fleet.runUntil(atMs);
    progress(`minute ${Math.round((atMs - beganAtMs) / minuteMs)}: ${reads} reads, ${usedSoFar()}`);
  }
  const ended = [...tasks.values()].filter(({ endsAtMs }) => endsAtMs < untilMs - 10 * minuteMs);
  return {
    ...lagsOf([...tasks.values()]),
    started: tasks.size - options.waits,
    lost: ended.filter(({ settledAtMs }) => settledAtMs === undefined).length,
    ...{ reads, mostInFlight, writes: meter.writes, mostPerShard: meter.most, counts: fleet.counts },
  };
}

/** Creates the tokens of tasks as turns and starts leave them. */
class Planting {
  readonly #fleet: Fleet;
  readonly #tasks: Map<string, Task>;
  readonly #servers: readonly string[];
  readonly #options: SteadyWaits;
  readonly #random = seededRandom(7);

  constructor(fleet: Fleet, tasks: Map<string, Task>, servers: readonly string[], options: SteadyWaits) {
    this.#fleet = fleet;
    this.#tasks = tasks;
    this.#servers = servers;
    this.#options = options;
  }

  /** Plants the tasks that are under way, and has others start from now on. */
  async all(): Promise<void> {
    const [shortest, longest] = this.#options.takesMs;
    const beganAtMs = this.#fleet.clock.nowMs();
    const old = Array.from({ length: this.#options.waits }, () => {
      // A task is as likely to be met under way as it is long, so that durations are equally likely here.
      const takesMs = Math.floor(shortest + (longest - shortest) * this.#random.fraction());
      const startedAtMs = beganAtMs - Math.floor(takesMs * this.#random.fraction());
      const dueInMs = Math.floor(this.#random.fraction() * pollIntervalMs(beganAtMs - startedAtMs));
      return { task: { startedAtMs, endsAtMs: startedAtMs + takesMs }, dueAtMs: beganAtMs + dueInMs };
    });
    // Puts each item at the end of the due index, where a list in memory takes it soonest.
    old.sort((a, b) => a.dueAtMs - b.dueAtMs);
    for (const { task, dueAtMs } of old) await this.#plantOld(task, dueAtMs);
    const meanMs = (longest - shortest) / Math.log(longest / shortest);
    const next = (): void => {
      const startedAtMs = this.#fleet.clock.nowMs();
      const takesMs = Math.floor(shortest * (longest / shortest) ** this.#random.fraction());
      void this.#plantNew({ startedAtMs, endsAtMs: startedAtMs + takesMs });
      this.#fleet.clock.at(startedAtMs + this.#gapMs(meanMs), next);
    };
    this.#fleet.clock.at(beganAtMs + this.#gapMs(meanMs), next);
  }

  #gapMs(meanMs: number): number {
    return Math.round((-Math.log(1 - this.#random.fraction()) * meanMs) / this.#options.waits);
  }

  async #plantOld(task: Task, dueAtMs: EpochMs): Promise<void> {
    const { deps } = this.#fleet;
    const { token, started } = this.#newToken(task);
    await deps.store.tokens.put({ ...token, ...started, dueAtMs });
    await this.#send(token, dueAtMs, sweptMs);
  }

  async #plantNew(task: Task): Promise<void> {
    const { deps } = this.#fleet;
    const { token, started } = this.#newToken(task);
    await deps.store.tokens.put(token);
    const dueAtMs = nextPollAtMs(token, task.startedAtMs);
    await deps.store.starts.storeHandle(token.runId, token.waitId, { ...started, dueAtMs });
    await this.#send(token, dueAtMs, Infinity);
  }

  #newToken(task: Task) {
    const { startedAtMs } = task;
    const runId = this.#random.hex(16);
    const server = this.#servers[Math.floor(this.#random.fraction() * this.#servers.length)] ?? '';
    this.#tasks.set(runId, task);
    const token = {
      ...{ runId, waitId: '1', server, attempt: 1, writerId: runId, pollErrors: 0, createdAtMs: startedAtMs },
      deadlineAtMs: startedAtMs + 2 * this.#options.takesMs[1],
    } satisfies TokenRecord;
    const trail = changedTrail(undefined, { state: 'working' }, startedAtMs);
    if (trail === undefined) throw new Error('a first state is a change');
    const started = {
      handle: { server, protocol: 'mcp', wire: 'bench', taskId: taskPrefix + runId },
      startedAtMs,
      trail,
    } as const;
    return { token, started };
  }

  async #send(token: TokenRecord & { readonly server: string }, dueAtMs: EpochMs, withinMs: number): Promise<void> {
    const { runId, waitId, server } = token;
    const delayMs = dueAtMs - this.#fleet.clock.nowMs();
    if (delayMs > withinMs) return;
    await this.#fleet.deps.queues.sendWork({ kind: 'poll', runId, waitId, server, dueAtMs }, delayMs);
  }
}

function lagsOf(tasks: readonly Task[]): Pick<Steady, 'settled' | 'lagMs' | 'lagToInterval'> {
  const lags: number[] = [];
  const ratios: number[] = [];
  for (const { startedAtMs, endsAtMs, settledAtMs } of tasks) {
    if (settledAtMs === undefined) continue;
    lags.push(settledAtMs - endsAtMs);
    ratios.push((settledAtMs - endsAtMs) / pollIntervalMs(endsAtMs - startedAtMs));
  }
  const two = (values: readonly number[]) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) });
  return { settled: lags.length, lagMs: two(lags), lagToInterval: two(ratios) };
}

function usedSoFar(): string {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  return `${Math.round((user + system) / 1e6)} s of a processor, ${Math.round(rss / 2 ** 20)} MiB`;
}
