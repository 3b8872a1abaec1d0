import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import { eventually } from '../../support/eventually.js';
import { bundleProgram, type Program, type RunningProgram, startProgram } from '../processes.js';
import type { AgentOptions, LoopProcessOptions } from './loop-process.js';
import { Wire } from '../../support/wire.js';

// A workflow of one outwait calls a workflow that another one serves. Each is a process of its own that can be killed.

let program: Program;
beforeAll(async () => {
  program = await bundleProgram('serve/loop-process');
});
afterAll(() => program.remove());

/** An engine as a process, which can be killed and started again on the same runs. */
class Engine {
  readonly url: string;
  readonly #options: LoopProcessOptions;
  #running: RunningProgram | undefined;

  constructor(options: LoopProcessOptions) {
    this.#options = options;
    this.url = `http://127.0.0.1:${options.port}`;
  }

  async start(): Promise<void> {
    const running = startProgram(program, this.#options);
    this.#running = running;
    running.ended.catch(() => undefined);
    await new Promise<void>((resolve, reject) => {
      running.child.stdout?.once('data', () => {
        resolve();
      });
      void running.ended.then(({ stderr }) => {
        reject(new Error(`the engine ended: ${stderr}`));
      });
    });
  }

  async kill(): Promise<void> {
    this.#running?.child.kill('SIGKILL');
    await this.#running?.ended;
  }

  async get<Answer>(path: string): Promise<Answer> {
    return (await (await fetch(this.url + path)).json()) as Answer;
  }

  async post<Answer>(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return (await response.json()) as Answer;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function cardAt(url: string, version: string): Promise<JsonObject> {
  const response = await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'a2a-version': version } });
  return (await response.json()) as JsonObject;
}

interface Peer {
  readonly name: string;
  readonly agentAt: (url: string) => Promise<AgentOptions>;
  /** Path of the requests for tasks. */
  readonly door: string;
  readonly pushType: string;
}

/** How the calling engine knows the agent: by the address of its card, or by the part of the card for one interface. */
const peers: readonly Peer[] = [
  {
    name: '1.0 over JSON-RPC, with signed pushes',
    agentAt: async (url) => ({ url, config: { card: url }, isSigned: true }),
    ...{ door: '/a2a', pushType: 'application/a2a+json' },
  },
  {
    name: '1.0 over HTTP+JSON, with the secret of the call',
    agentAt: async (url) => {
      const card = await cardAt(url, '1.0');
      const all = card['supportedInterfaces'] as readonly JsonObject[];
      const supportedInterfaces = all.filter(({ protocolBinding }) => protocolBinding === 'HTTP+JSON');
      return { url, config: { card: { ...card, supportedInterfaces } } };
    },
    ...{ door: '/a2a/rest/', pushType: 'application/a2a+json' },
  },
  {
    name: '0.3 over JSON-RPC, with signed pushes',
    agentAt: async (url) => {
      const { supportedInterfaces: _, ...card } = await cardAt(url, '0.3');
      return { url, config: { card }, isSigned: true };
    },
    ...{ door: '/a2a', pushType: 'application/json' },
  },
];

interface Loop {
  readonly agent: AgentOptions;
  readonly serving: Engine;
  readonly calling: Engine;
  /** From the calling engine to the serving one. */
  readonly there: Wire;
  /** From the serving engine to the calling one. */
  readonly back: Wire;
  close(): Promise<void>;
}

async function openLoop({ agentAt }: Pick<Peer, 'agentAt'>): Promise<Loop> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-loop-'));
  const ports = [await freePort(), await freePort()] as const;
  const there = await Wire.to(ports[0]);
  const back = await Wire.to(ports[1]);
  const serving = new Engine({ folder: join(folder, 'serving'), port: ports[0], publicUrl: there.url });
  await serving.start();
  const agent = await agentAt(there.url);
  const calling = new Engine({ folder: join(folder, 'calling'), port: ports[1], publicUrl: back.url, agent });
  await calling.start();
  const close = async (): Promise<void> => {
    await Promise.all([serving.kill(), calling.kill()]);
    await Promise.all([there.close(), back.close()]);
    await rm(folder, { recursive: true, force: true });
  };
  return { agent, serving, calling, there, back, close };
}

interface RunSeen {
  readonly runId: string;
  readonly status: string;
  readonly waits: readonly { readonly kind: string }[];
  readonly outcome?: {
    readonly result?: JsonObject;
    readonly error?: { readonly code: string; readonly message: string };
  };
}

const start = async ({ calling }: Loop, workflow: string): Promise<string> =>
  (await calling.post<{ runId: string }>('/runs', { workflow })).runId;

async function untilAsked({ calling }: Loop, runId: string): Promise<void> {
  await eventually(async () => {
    const { waits } = await calling.get<RunSeen>(`/runs/${runId}`);
    expect(waits.map(({ kind }) => kind)).toContain('signal');
  });
}

const answer = ({ calling }: Loop, runId: string, payload: JsonObject | null) =>
  calling.post(`/runs/${runId}/signals/answer`, { payload });

async function ended(engine: Engine, runId: string): Promise<RunSeen> {
  let run: RunSeen | undefined;
  await eventually(async () => {
    run = await engine.get<RunSeen>(`/runs/${runId}`);
    expect(['running', 'ending']).not.toContain(run.status);
  });
  return run!;
}

const served = async ({ serving }: Loop, workflow: string): Promise<readonly RunSeen[]> =>
  (await serving.get<{ runs: readonly RunSeen[] }>(`/runs?workflow=${workflow}`)).runs;

/** Returns the id of the served task that a run waits for, once both engines are at rest. */
async function taskOf({ calling, serving }: Loop, runId: string): Promise<string> {
  let taskId = '';
  await eventually(async () => {
    const { waits } = await calling.get<{ waits: readonly { taskId?: string }[] }>(`/activities/external?run=${runId}`);
    taskId = waits[0]?.taskId ?? '';
    const task = await serving.get<Partial<RunSeen>>(`/runs/${taskId}`);
    expect(task.waits?.map(({ kind }) => kind)).toEqual(['timer']);
  });
  return taskId;
}

const startsIn = ({ there }: Loop, workflow: string) =>
  there.passed.filter(({ body }) => body.includes(`"skill":"${workflow}"`));

/** Returns the push of the first question that has come to the calling engine. */
const pushOfQuestion = ({ back }: Loop) =>
  back.passed.find(({ path, body }) => path.startsWith('/push/a2a/') && /input.required/i.test(body));

/** Returns what the serving engine has to push of a task, asked over 1.0. */
async function pushConfigsOf({ serving }: Loop, taskId: string): Promise<readonly unknown[]> {
  const params = { jsonrpc: '2.0', id: 1, method: 'ListTaskPushNotificationConfigs', params: { taskId } };
  const { result } = await serving.post<{ result: { configs: readonly unknown[] } }>('/a2a', params, {
    'a2a-version': '1.0',
  });
  return result.configs;
}

describe.each(peers)('a workflow that calls a served one over $name', (peer) => {
  let loop: Loop;
  beforeAll(async () => {
    loop = await openLoop(peer);
  });
  afterAll(() => loop.close());

  it('has its result once, though the reply to the start was lost and both engines were killed at the question', async () => {
    const { serving, calling, there } = loop;
    there.loseNext((body) => body.includes('"skill":"quote"'));
    const runId = await start(loop, 'buys');
    await untilAsked(loop, runId);
    await eventually(async () => {
      expect(pushOfQuestion(loop)).toMatchObject({ status: 202, headers: { 'content-type': peer.pushType } });
    });
    await Promise.all([serving.kill(), calling.kill()]);
    await Promise.all([serving.start(), calling.start()]);
    await answer(loop, runId, { count: 3 });

    const { outcome } = await ended(calling, runId);
    expect(outcome?.result).toMatchObject({
      data: { article: 'bolt', count: 3, cents: 36 },
      asked: [{ message: 'How many?', schema: { required: ['count'] } }],
      result: {
        artifacts: [
          { artifactId: 'terms', parts: [{ text: 'Terms: ' }, { text: '30 days.' }] },
          { artifactId: 'result' },
        ],
      },
    });
    const starts = startsIn(loop, 'quote');
    expect(starts.map(({ path, status, isLost }) => [path.startsWith(peer.door), status, isLost])).toEqual([
      [true, 200, true],
      [true, 200, false],
    ]);
    expect(new Set(starts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    const runs = await served(loop, 'quote');
    expect(runs.map(({ status }) => status)).toEqual(['completed']);
    await eventually(async () => {
      expect(await pushConfigsOf(loop, runs[0]!.runId)).toEqual([]);
    });
  });

  it('takes no push that somebody has changed, or that has no proof', async () => {
    const { calling } = loop;
    const push = pushOfQuestion(loop)!;
    const send = async (body: string, authorization: string | undefined) => {
      const response = await fetch(calling.url + push.path, {
        method: 'POST',
        headers: { 'content-type': peer.pushType, ...(authorization === undefined ? undefined : { authorization }) },
        body,
      });
      return response.status;
    };
    const { authorization } = push.headers;
    expect(await send(push.body, authorization)).toBe(202);
    expect(await send(push.body, undefined)).toBe(401);
    if (loop.agent.isSigned === true)
      expect(await send(push.body.replace(/input.required/i, 'working'), authorization)).toBe(401);
  });

  it('hears the reason when it declines what it is asked and the served one rejects the task', async () => {
    const runId = await start(loop, 'buys');
    await untilAsked(loop, runId);
    await answer(loop, runId, null);
    expect((await ended(loop.calling, runId)).outcome?.error).toMatchObject({
      code: 'REMOTE_TASK_REJECTED',
      message: expect.stringContaining('There is no quote without a count.') as string,
    });
  });

  it('takes its task with it when it is cancelled: the served one cleans up and ends as canceled', async () => {
    const { calling, serving } = loop;
    const runId = await start(loop, 'waits');
    const taskId = await taskOf(loop, runId);
    await calling.post(`/runs/${runId}/cancel`, {});
    expect((await ended(calling, runId)).status).toBe('cancelled');
    expect((await ended(serving, taskId)).status).toBe('cancelled');
    const { events } = await serving.get<{ events: readonly JsonObject[] }>(`/runs/${taskId}/history`);
    expect(events).toContainEqual(expect.objectContaining({ type: 'StepCompleted', result: 'tidied' }));
    await eventually(async () => {
      expect(await pushConfigsOf(loop, taskId)).toEqual([]);
    });
  });
});

describe('a workflow that calls a served one by its address alone', () => {
  it('finds the task of a start whose reply was lost among those that the served engine lists', async () => {
    const loop = await openLoop({ agentAt: async (url) => ({ url, config: { url: `${url}/a2a` } }) });
    try {
      loop.there.loseNext((body) => body.includes('"skill":"endless"'));
      const runId = await start(loop, 'waits');
      const taskId = await taskOf(loop, runId);
      expect(startsIn(loop, 'endless')).toHaveLength(1);
      expect((await served(loop, 'endless')).map((task) => task.runId)).toEqual([taskId]);
    } finally {
      await loop.close();
    }
  });
});
