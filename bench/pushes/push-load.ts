import { performance } from 'node:perf_hooks';
import { setImmediate as eventLoop, setTimeout as delay } from 'node:timers/promises';
import { silentLog } from '../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../lib/local/engine.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { a2aAgent, defineApp } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { type PushingAgent, type PushTarget, startPushingAgent } from './pushing-agent.js';

export interface PushLoad {
  /** Runs, each of which waits for one task. */
  readonly tasks: number;
  /** Pushes of each task; the last one says that it has ended. */
  readonly pushesOfTask: number;
  readonly perSecond: number;
}

export interface Pushed {
  /** Pushes by the status of their answer. */
  readonly answers: Readonly<Record<string, number>>;
  /** From the sending of each push to its answer. */
  readonly answeredMs: readonly number[];
  /** From the sending of the last push of each task to the settlement of its wait. */
  readonly settledMs: readonly number[];
  /** Waits by how often they were settled. */
  readonly settlements: Readonly<Record<number, number>>;
  /** Runs that returned the result of their own task. */
  readonly right: number;
  /** Reads of tasks that had ended. */
  readonly readsOfEnded: number;
  /** From the first push to the last one. */
  readonly tookMs: number;
}

const asks = defineWorkflow<{ task: string }>({
  name: 'asks',
  run: async (ctx, { task }) => {
    const outcome = await ctx.callRemoteTask({
      server: 'agent',
      message: { parts: [{ text: task }] },
      timeout: { hours: 1 },
    });
    return JSON.stringify(outcome.result).includes(`"text":"${task}"`);
  },
});

/** Starts runs in local mode, on the real clock and real sockets of this process, and pushes at an even rate. */
export async function pushLoad(load: PushLoad): Promise<Pushed> {
  const agent = await startPushingAgent();
  const engine = await startLocalEngine({
    app: defineApp({ workflows: [asks], servers: { agent: a2aAgent({ card: agent.origin }) } }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'k1', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  try {
    const runs = await startRuns(engine, load.tasks);
    await until(() => agent.targets.length === load.tasks);
    // From a first push on, reads are a minute apart, so that none of them can take the place of a push that is lost.
    for (const target of agent.targets) await send(target, false);
    await until(() => agent.tasksRead() === load.tasks);
    const sent = await pushAll(agent, load);
    return { ...sent, ...(await resultsOf(engine, runs, sent.endedAtMs)), readsOfEnded: agent.readsOfEnded() };
  } finally {
    await engine.stop();
    await agent.close();
  }
}

/** Returns the ids of the runs by their task. */
async function startRuns(engine: LocalEngine, count: number): Promise<ReadonlyMap<string, string>> {
  const runs = new Map<string, string>();
  for (let n = 0; n < count; n++) {
    const task = `task-${n}`;
    const answer = await fetch(`${engine.url}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ workflow: 'asks', input: { task } }),
    });
    runs.set(task, ((await answer.json()) as { readonly runId: string }).runId);
  }
  return runs;
}

/** Pushes for as many tasks at a time as end within a second, each of them in turn. */
async function pushAll(agent: PushingAgent, { pushesOfTask, perSecond }: PushLoad) {
  const answers: Record<string, number> = {};
  const answeredMs: number[] = [];
  const endedAtMs = new Map<string, number>();
  const flying: Promise<void>[] = [];
  const beganMs = performance.now();
  let count = 0;
  const push = async (target: PushTarget, isLast: boolean): Promise<void> => {
    const earlyMs = beganMs + (count++ * 1_000) / perSecond - performance.now();
    // Catches up when late, but lets the engine work in between: it is in the same process.
    await (earlyMs > 1 ? delay(earlyMs) : eventLoop());
    if (isLast) {
      agent.end(target.taskId);
      endedAtMs.set(target.taskId, Date.now());
    }
    flying.push(
      send(target, isLast).then(({ status, tookMs }) => {
        answers[status] = (answers[status] ?? 0) + 1;
        answeredMs.push(tookMs);
      }),
    );
  };
  const together = Math.max(1, Math.floor(perSecond / pushesOfTask));
  for (let from = 0; from < agent.targets.length; from += together) {
    for (let round = 1; round <= pushesOfTask; round++) {
      for (const target of agent.targets.slice(from, from + together)) await push(target, round === pushesOfTask);
    }
  }
  const tookMs = performance.now() - beganMs;
  await Promise.all(flying);
  return { answers, answeredMs, endedAtMs, tookMs };
}

async function send({ taskId, url, secret }: PushTarget, isLast: boolean): Promise<{ status: string; tookMs: number }> {
  const state = isLast ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_WORKING';
  const sentMs = performance.now();
  const status = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/a2a+json', 'x-a2a-notification-token': secret },
    body: JSON.stringify({ statusUpdate: { taskId, contextId: taskId, status: { state } } }),
  }).then(
    ({ status }) => String(status),
    () => 'none',
  );
  return { status, tookMs: performance.now() - sentMs };
}

interface Seen {
  readonly outcome?: { readonly status: string; readonly result?: unknown };
}
interface History {
  readonly events: readonly { readonly type: string; readonly settlement?: { readonly atMs: number } }[];
}

async function resultsOf(
  engine: LocalEngine,
  runs: ReadonlyMap<string, string>,
  endedAtMs: ReadonlyMap<string, number>,
): Promise<Pick<Pushed, 'settledMs' | 'settlements' | 'right'>> {
  const settledMs: number[] = [];
  const settlements: Record<number, number> = {};
  let right = 0;
  for (const [task, runId] of runs) {
    const { outcome } = await read<Seen>(`${engine.url}/runs/${runId}/result?wait=20`);
    if (outcome?.status === 'completed' && outcome.result === true) right++;
    const { events } = await read<History>(`${engine.url}/runs/${runId}/history`);
    const settled = events.filter(({ type }) => type === 'TokenSettled');
    settlements[settled.length] = (settlements[settled.length] ?? 0) + 1;
    const [first] = settled;
    const endMs = endedAtMs.get(task);
    if (first?.settlement !== undefined && endMs !== undefined) settledMs.push(first.settlement.atMs - endMs);
  }
  return { settledMs, settlements, right };
}

async function read<Value>(url: string): Promise<Value> {
  return (await (await fetch(url)).json()) as Value;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(20);
}
