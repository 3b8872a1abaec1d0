import { fork } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processesWithArgument } from '../../lib/local/process-identity.js';
import { processorMs, peakMiB } from '../process-usage.js';
import { openDatabase } from '../stores.js';
import { type OldRun, plantRuns } from './plant-runs.js';
import { seededRandom } from './fleet.js';
import { endOf, startTimedAgent, taskText, type TimedAgent } from './timed-agent.js';
import { waitingApp } from './waiting-app.js';

const program = fileURLToPath(new URL('engine-program.ts', import.meta.url));
const minuteMs = 60_000;
/** Time for which the engine runs before it is measured. */
const warmUpMs = minuteMs;
/** Longest time to the detection of an end: the longest interval, and some of a busy machine. */
const detectedMs = 6 * minuteMs;

export interface RealWaits {
  /** Waits at any time. */
  readonly waits: number;
  /** Time for which ends of tasks, reads and processors are measured. */
  readonly forMs: number;
  /** Shortest and longest task; of those that start, durations are equally likely on a logarithmic scale. */
  readonly takesMs: readonly [shortest: number, longest: number];
}

export interface RealPolled {
  /** From the end of each task until the read that found it, on the real clock. */
  readonly lagMs: readonly number[];
  /** Tasks that ended while it was measured and that no read has found. */
  readonly lost: number;
  readonly readsPerSecond: number;
  /** Starts that the driver made meanwhile, and those that failed. */
  readonly starts: number;
  readonly failedStarts: number;
  /** Processor time of the engine and of dynoxide, per read: starts and ends of runs are in it. */
  readonly engineMsPerRead: number | undefined;
  readonly databaseMsPerRead: number | undefined;
  readonly engineMiB: number | undefined;
  readonly databaseMiB: number | undefined;
  readonly databaseVersion: string;
}

/**
 * Measures one process of local mode on dynoxide, with a number of waits that stays the same as runs start and end: real
 * clock, real sockets, an agent on loopback in the process of the caller. It begins in the middle, with waits of all
 * ages, as after a restart. Takes `forMs` and eight minutes more.
 */
export async function realWaits(options: RealWaits, progress: (text: string) => void): Promise<RealPolled> {
  const agent = await startTimedAgent();
  const database = await openDatabase();
  try {
    const { table, tableName } = await database.openTable();
    progress(`writing ${options.waits} runs`);
    const beganMs = performance.now();
    const { runs, random } = oldRuns(options);
    await plantRuns(table, waitingApp(agent.origin), runs, { dueFromMs: Date.now() + minuteMs / 2, random });
    progress(`written within ${Math.round((performance.now() - beganMs) / 1_000)} s; running`);
    const engine = fork(program, [database.endpoint, tableName, agent.origin]);
    try {
      const url = await new Promise<string>((resolve, reject) => {
        engine.once('message', resolve);
        engine.once('exit', reject);
      });
      const pids = { engine: engine.pid ?? 0, database: processesWithArgument(database.file)[0] ?? 0 };
      const tasks = runs.map(({ task }) => task);
      const measured = await measure({ agent, url, pids, tasks, options, random });
      return { ...measured, databaseVersion: database.version };
    } finally {
      engine.disconnect();
    }
  } finally {
    await database.close();
    await agent.close();
  }
}

function oldRuns({ waits, takesMs: [shortest, longest] }: RealWaits) {
  const generator = seededRandom(7);
  const random = (): number => generator.fraction();
  const nowMs = Date.now();
  const runs = Array.from({ length: waits }, (_, number): OldRun => {
    // A task is as likely to be met under way as it is long, so that durations are equally likely here.
    const takesMs = Math.floor(shortest + (longest - shortest) * random());
    const startedAtMs = nowMs - Math.floor(takesMs * random());
    return { task: taskText(number, startedAtMs + takesMs), startedAtMs };
  });
  return { runs, random };
}

interface Measuring {
  readonly agent: TimedAgent;
  /** URL of the engine. */
  readonly url: string;
  readonly pids: { readonly engine: number; readonly database: number };
  readonly tasks: string[];
  readonly options: RealWaits;
  readonly random: () => number;
}

async function measure(measuring: Measuring): Promise<Omit<RealPolled, 'databaseVersion'>> {
  const { agent, pids, tasks, options } = measuring;
  const starting = new Starting(measuring);
  const started = starting.run();
  await delay(warmUpMs);
  const readings = () => ({
    atMs: Date.now(),
    reads: agent.reads(),
    starts: starting.count,
    engineMs: processorMs(pids.engine),
    databaseMs: processorMs(pids.database),
  });
  const before = readings();
  await delay(options.forMs);
  const after = readings();
  await delay(detectedMs);
  starting.stop();
  await started;
  const reads = after.reads - before.reads;
  const ended = tasks.filter((task) => endOf(task) >= before.atMs && endOf(task) < after.atMs);
  const perRead = (from: number | undefined, to: number | undefined): number | undefined =>
    from === undefined || to === undefined ? undefined : (to - from) / reads;
  return {
    lagMs: ended.flatMap((task) => (agent.toldAtMs.get(task) ?? NaN) - endOf(task)).filter((lag) => !Number.isNaN(lag)),
    lost: ended.filter((task) => !agent.toldAtMs.has(task)).length,
    readsPerSecond: reads / ((after.atMs - before.atMs) / 1_000),
    starts: after.starts - before.starts,
    failedStarts: starting.failed,
    engineMsPerRead: perRead(before.engineMs, after.engineMs),
    databaseMsPerRead: perRead(before.databaseMs, after.databaseMs),
    engineMiB: peakMiB(pids.engine),
    databaseMiB: peakMiB(pids.database),
  };
}

/** Starts as many runs as end. */
class Starting {
  count = 0;
  failed = 0;
  readonly #given: Measuring;
  readonly #stop = new AbortController();

  constructor(given: Measuring) {
    this.#given = given;
  }

  stop(): void {
    this.#stop.abort();
  }

  async run(): Promise<void> {
    const { random, options } = this.#given;
    const [shortest, longest] = options.takesMs;
    const meanMs = (longest - shortest) / Math.log(longest / shortest);
    const flying: Promise<void>[] = [];
    while (!this.#stop.signal.aborted) {
      const gapMs = (-Math.log(1 - random()) * meanMs) / options.waits;
      await delay(gapMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      flying.push(this.#startOne(Math.floor(shortest * (longest / shortest) ** random())));
    }
    await Promise.all(flying);
  }

  async #startOne(takesMs: number): Promise<void> {
    const { tasks, url } = this.#given;
    const task = taskText(tasks.length, Date.now() + takesMs);
    const answer = await fetch(`${url}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ workflow: 'waits', input: { task } }),
    }).catch(() => undefined);
    await answer?.arrayBuffer();
    this.count++;
    if (answer?.ok === true) tasks.push(task);
    else this.failed++;
  }
}
