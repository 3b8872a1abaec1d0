import { setImmediate as eventLoop } from 'node:timers/promises';
import { a2aAgent, defineApp } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../lib/base/json.js';
import { stepFunctionTimeoutMs, sweepIntervalMs, turnTimeoutMs } from '../../lib/base/limits.js';
import type { RunOutcome } from '../../lib/history/event.js';
import type { Deps } from '../../lib/operations/deps.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../../lib/operations/sweep/handle-work.js';
import { makeRemoteStart } from '../../lib/operations/remote-task/make-remote-start.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { WarmRuns } from '../../lib/operations/warm-runs.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { MemoryQueue, ReceivedMessage } from '../../lib/queue/memory-queue.js';
import type { StartMessage, TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import type { HttpClient, HttpReply, HttpRequest } from '../../lib/remote/http/http.js';
import { protectTransports } from '../../lib/remote/guard/protection.js';
import { createTransports } from '../../lib/remote/wiring/transports.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { textOf } from '../../lib/workflow/outcome.js';
import { seeded } from '../simulation/random.js';
import { dying, processOf, type Around } from '../support/ports.js';
import { aFlow } from './support.js';

// A start over a stream whose process dies: before the request, before its first event, after it, and at each call of
// the store and of the queues. Uses real A2A clients and an agent in memory; after a death time passes, and other
// processes continue.

const workMs = 30_000;
const giveUpMs = 6 * 3_600_000;

/** An A2A 1.0 agent that answers starts with a stream that continues until the task ends. */
class StreamingAgent {
  /** Message ids, by task id. */
  readonly tasks = new Map<
    string,
    { readonly messageId: string; readonly contextId: string; readonly endsAtMs: number }
  >();
  readonly #nowMs: () => number;
  readonly #dedupes: boolean;

  constructor(nowMs: () => number, dedupes: boolean) {
    this.#nowMs = nowMs;
    this.#dedupes = dedupes;
  }

  /** Answers a request: with the events of a stream, or with one body. */
  receive({ method = 'POST', body = '{}' }: HttpRequest): {
    readonly events?: readonly string[];
    readonly body?: string;
  } {
    if (method === 'GET') return { body: JSON.stringify(card) };
    const { id, method: rpc, params } = JSON.parse(body) as { id: string; method: string; params: JsonObject };
    const reply = (result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result });
    switch (rpc) {
      case 'SendStreamingMessage': {
        const taskId = this.#taskOf(params['message'] as { messageId: string; contextId?: string });
        const { contextId } = this.tasks.get(taskId)!;
        const status = { state: 'TASK_STATE_WORKING' };
        return {
          events: [reply({ task: this.#task(taskId) }), reply({ statusUpdate: { taskId, contextId, status } })],
        };
      }
      case 'GetTask': {
        const taskId = params['id'] as string;
        if (this.tasks.has(taskId)) return { body: reply(this.#task(taskId)) };
        return { body: JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'no such task' } }) };
      }
      case 'ListTasks': {
        const tasks = [...this.tasks].filter(([, task]) => task.contextId === params['contextId']);
        return { body: reply({ tasks: tasks.map(([taskId]) => this.#task(taskId)), nextPageToken: '' }) };
      }
      default:
        throw new Error(`nobody asks this agent for ${rpc}`);
    }
  }

  #taskOf({ messageId, contextId = 'c1' }: { messageId: string; contextId?: string }): string {
    const known = [...this.tasks].find(([, task]) => task.messageId === messageId);
    if (this.#dedupes && known !== undefined) return known[0];
    const taskId = `task-${this.tasks.size + 1}`;
    this.tasks.set(taskId, { messageId, contextId, endsAtMs: this.#nowMs() + workMs });
    return taskId;
  }

  #task(taskId: string): JsonObject {
    const { messageId, contextId, endsAtMs } = this.tasks.get(taskId)!;
    const history = [{ messageId, role: 'ROLE_USER', parts: [{ text: 'report' }] }];
    const base = { id: taskId, contextId, history };
    if (this.#nowMs() < endsAtMs) return { ...base, status: { state: 'TASK_STATE_WORKING' } };
    const artifacts = [{ artifactId: 'r', parts: [{ text: 'three rows' }] }];
    return { ...base, status: { state: 'TASK_STATE_COMPLETED' }, artifacts };
  }
}

const card = {
  name: 'supplier',
  supportedInterfaces: [
    { url: 'https://supplier.example.com/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true },
};

/**
 * Creates a client whose process may die before a request, before each piece of the answer, and before it learns of the
 * whole answer.
 */
function httpOf(agent: StreamingAgent, around: Around): HttpClient {
  const nothing = async (): Promise<void> => undefined;
  return {
    async send(request): Promise<HttpReply> {
      const isStart = request.body?.includes('SendStreamingMessage') === true;
      const said = await around(isStart ? 'start.request' : 'http', async () => agent.receive(request));
      if (said.events === undefined)
        return { kind: 'reply', status: 200, headers: { 'content-type': 'application/json' }, text: said.body ?? '' };
      const head = { status: 200, headers: { 'content-type': 'text/event-stream' } };
      let text = '';
      for (const event of said.events) {
        await around('start.event', nothing);
        const piece = `data: ${event}\n\n`;
        text += piece;
        if (request.enough?.(head, piece) === true) break;
      }
      await around('start.reply', nothing);
      return { kind: 'reply', ...head, text };
    },
  };
}

const agents = {
  dedupes: { dedupes: true },
  'is asked for its task': { probeByContext: true },
  'knows no repeat': {},
} as const;

interface Ended {
  /** Names of the calls, in order, without those after the end. */
  readonly calls: readonly string[];
  readonly outcome: RunOutcome | undefined;
  readonly tasks: number;
}

const flow = aFlow(async (ctx) =>
  ctx
    .callRemoteTask({ server: 'supplier', message: { parts: [{ text: 'report' }] }, timeout: { hours: 4 } })
    .then(textOf, (error: unknown) => (error as { code: string }).code),
);

/**
 * Runs a run of one call to its end. Processes die in place of the calls with these numbers, counted from 0 over all
 * processes. `by`: who makes the start; a turn does if the agent is known to be prompt.
 */
async function played(
  kind: keyof typeof agents,
  by: 'worker' | 'turn',
  deaths: ReadonlySet<number> = new Set(),
): Promise<Ended> {
  const servers = { supplier: a2aAgent({ card: 'https://supplier.example.com', ...agents[kind] }) };
  const app = defineApp({ workflows: [flow], servers });
  const { clock, deps } = createTestApp(app);
  const { queues } = deps;
  if (!(queues instanceof MemoryQueues)) throw new TypeError('a test app has queues in memory');
  const agent = new StreamingAgent(() => clock.nowMs(), kind === 'dedupes');
  const table = new MemoryTable();
  const calls: string[] = [];
  const plain: Around = (_, call) => call();
  const made = (around: Around): Deps => {
    const process = processOf(deps, table, around);
    const http = httpOf(agent, around);
    const transports = createTransports(servers, { ...deps, http, readSecret: () => undefined });
    const { store, delay } = process;
    const guard = { ...deps, delay, states: store.servers };
    return { ...process, transports: protectTransports(transports, () => undefined, guard), warmRuns: new WarmRuns() };
  };
  const calm = made(plain);
  if (by === 'turn') await calm.store.servers.notePrompt('supplier', true);

  /** Does this work in one process. Returns false if it has died or failed. */
  async function process(work: (deps: Deps) => Promise<unknown>): Promise<boolean> {
    const { around, death } = dying((name) => deaths.has(calls.push(name) - 1));
    let end: 'well' | 'badly' | undefined;
    void work(made(around)).then(
      () => (end = 'well'),
      () => (end = 'badly'),
    );
    void death.then(() => (end = 'badly'));
    for (;;) {
      for (let round = 0; round < 20; round++) await eventLoop();
      if (end !== undefined) return end === 'well';
      const nextAtMs = clock.nextDelayAtMs();
      if (nextAtMs !== undefined) clock.moveTo(nextAtMs);
    }
  }

  async function handleOne(
    queue: MemoryQueue,
    work: (deps: Deps, body: string, received: ReceivedMessage, remainingMs: () => number) => Promise<unknown>,
    timeoutMs: number,
  ): Promise<boolean> {
    const [received] = queue.receive(1);
    if (received === undefined) return false;
    const endsAtMs = clock.nowMs() + timeoutMs;
    const isDone = await process((one) => work(one, received.body, received, () => endsAtMs - clock.nowMs()));
    if (isDone) queue.deleteMessage(received.receiptHandle);
    return true;
  }

  const { runId } = await startRun(calm, { workflow: 'flow', input: null });
  const beganAtMs = clock.nowMs();
  let sweptAtMs = beganAtMs;
  const isOver = async (): Promise<boolean> => (await calm.store.heads.read(runId))?.endedAtMs !== undefined;
  while (!(await isOver()) && clock.nowMs() < beganAtMs + giveUpMs) {
    const handled =
      (await handleOne(
        queues.turn,
        (one, body, { receiveCount }, remainingMs) =>
          runTurn(one, JSON.parse(body) as TurnMessage, { remainingMs, deliveryCount: receiveCount }),
        turnTimeoutMs,
      )) ||
      (await handleOne(queues.work, (one, body) => handleWork(one, JSON.parse(body) as WorkMessage), turnTimeoutMs)) ||
      (await handleOne(
        queues.start,
        (one, body, _, remainingMs) => makeRemoteStart(one, JSON.parse(body) as StartMessage, { remainingMs }),
        stepFunctionTimeoutMs,
      ));
    if (handled) continue;
    clock.moveTo(Math.max(clock.nowMs(), Math.min(queues.nextChangeAtMs() ?? Infinity, sweptAtMs + sweepIntervalMs)));
    if (clock.nowMs() < sweptAtMs + sweepIntervalMs) continue;
    sweptAtMs = clock.nowMs();
    await process((one) => fanOutDue(one));
  }
  const commits = (await calm.store.runs.read(runId))?.commits ?? [];
  const ending = commits.flatMap(({ events }) => events).find((event) => event.type === 'RunEnding');
  return { calls, outcome: ending?.outcome, tasks: agent.tasks.size };
}

const right: RunOutcome = { status: 'completed', result: 'three rows' };
const ambiguous: RunOutcome = { status: 'completed', result: 'REMOTE_START_AMBIGUOUS' };

// Loads the lazily imported modules first, since no clock may advance during the tests.
beforeAll(() => played('dedupes', 'worker'));

const cases = (['worker', 'turn'] as const).flatMap((by) =>
  (Object.keys(agents) as (keyof typeof agents)[]).map((kind) => [by, kind] as const),
);

it.each(cases)(
  'F62 without a death there is one task, and the first event is enough: a %s, an agent that %s',
  async (by, kind) => {
    const { calls, outcome, tasks } = await played(kind, by);
    expect({ outcome, tasks }).toEqual({ outcome: right, tasks: 1 });
    const starts = calls.filter((name) => name.startsWith('start.'));
    expect(starts).toEqual(['start.request', 'start.event', 'start.reply']);
    expect(calls.includes('queues.sendStart')).toBe(by === 'worker');
    expect(calls.length).toBeGreaterThan(25);
  },
);

it.each(cases)(
  'F62 whatever call a process dies at, there is no second task and a right end or none that is known: a %s, an agent that %s',
  async (by, kind) => {
    const { calls } = await played(kind, by);
    const ends: string[] = [];
    for (const [at, name] of calls.entries()) {
      const { outcome, tasks } = await played(kind, by, new Set([at]));
      expect(tasks, `${at} ${name}`).toBeLessThanOrEqual(1);
      expect([right, ambiguous], `${at} ${name}`).toContainEqual(outcome);
      // A correct result has exactly one task behind it.
      if (outcome?.status === 'completed' && outcome.result === 'three rows') expect(tasks, `${at} ${name}`).toBe(1);
      ends.push(
        `${outcome?.status === 'completed' && outcome.result === 'three rows' ? 'right' : 'not known'}: ${name}`,
      );
    }
    const unknown = ends.flatMap((end, at) => (end.startsWith('not known') ? [at] : []));
    if (kind === 'dedupes') expect(unknown).toEqual([]);
    else {
      // Starts are ambiguous from the write that records that a start is made to the write that records its task, not
      // before or after.
      const [first = 0, last = 0] = [unknown[0], unknown.at(-1)];
      const [request, reply] = [calls.indexOf('start.request'), calls.indexOf('start.reply')];
      expect(unknown).toEqual(Array.from({ length: unknown.length }, (_, at) => first + at));
      expect(calls.slice(first, request).filter((name) => name.startsWith('table.write')).length).toBeLessThanOrEqual(
        1,
      );
      if (kind === 'knows no repeat') {
        // A worker first records that the agent is prompt.
        expect([first <= request, last]).toEqual([true, reply + (by === 'worker' ? 2 : 1)]);
        expect(calls[last]).toMatch(/^table\.(write|transact)$/);
      } else expect([last]).toEqual([request]);
    }
  },
);

it.each(cases)(
  'F62 whichever two calls processes die at, 60 pairs, the same: a %s, an agent that %s',
  async (by, kind) => {
    const { calls } = await played(kind, by);
    const random = seeded(1);
    for (let pair = 0; pair < 60; pair++) {
      const two = [random(), random()].map((fraction) => Math.floor(fraction * (calls.length + 10)));
      const { outcome, tasks } = await played(kind, by, new Set(two));
      expect(tasks, two.join()).toBeLessThanOrEqual(1);
      expect(kind === 'dedupes' ? [right] : [right, ambiguous], two.join()).toContainEqual(outcome);
    }
  },
);
