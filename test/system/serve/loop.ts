import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import { eventually } from '../../support/eventually.js';
import { Wire } from '../../support/wire.js';
import { bundleProgram, type Program, type RunningProgram, startProgram } from '../processes.js';
import type { AgentOptions, LoopProcessOptions } from './loop-process.js';

// A workflow of one outwait calls a workflow that another one serves. Each is a process of its own that can be killed.

let program: Program;
beforeAll(async () => {
  program = await bundleProgram('serve/loop-process');
});
afterAll(() => program.remove());

/** An engine as a process, which can be killed and started again on the same runs. */
export class Engine {
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

export interface Loop {
  readonly agent: AgentOptions;
  readonly serving: Engine;
  readonly calling: Engine;
  /** From the calling engine to the serving one. */
  readonly there: Wire;
  /** From the serving engine to the calling one. */
  readonly back: Wire;
  close(): Promise<void>;
}

/** Starts both engines. `agentAt`: how the calling one knows the other, by its URL. */
export async function openLoop({
  agentAt,
}: {
  readonly agentAt: (url: string) => Promise<AgentOptions>;
}): Promise<Loop> {
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

export interface RunSeen {
  readonly runId: string;
  readonly status: string;
  readonly waits: readonly { readonly kind: string }[];
  readonly outcome?: {
    readonly result?: JsonObject;
    readonly error?: { readonly code: string; readonly message: string };
  };
}

export const start = async ({ calling }: Loop, workflow: string): Promise<string> =>
  (await calling.post<{ runId: string }>('/runs', { workflow })).runId;

export async function untilAsked({ calling }: Loop, runId: string): Promise<void> {
  await eventually(async () => {
    const { waits } = await calling.get<RunSeen>(`/runs/${runId}`);
    expect(waits.map(({ kind }) => kind)).toContain('signal');
  });
}

export const answer = ({ calling }: Loop, runId: string, payload: JsonObject | null) =>
  calling.post(`/runs/${runId}/signals/answer`, { payload });

export async function ended(engine: Engine, runId: string): Promise<RunSeen> {
  let run: RunSeen | undefined;
  await eventually(async () => {
    run = await engine.get<RunSeen>(`/runs/${runId}`);
    expect(['running', 'ending']).not.toContain(run.status);
  });
  return run!;
}

export const served = async ({ serving }: Loop, workflow: string): Promise<readonly RunSeen[]> =>
  (await serving.get<{ runs: readonly RunSeen[] }>(`/runs?workflow=${workflow}`)).runs;

/** Returns the id of the served task that a run waits for, once both engines are at rest. */
export async function taskOf({ calling, serving }: Loop, runId: string): Promise<string> {
  let taskId = '';
  await eventually(async () => {
    const { waits } = await calling.get<{ waits: readonly { taskId?: string }[] }>(`/activities/external?run=${runId}`);
    taskId = waits[0]?.taskId ?? '';
    const task = await serving.get<Partial<RunSeen>>(`/runs/${taskId}`);
    expect(task.waits?.map(({ kind }) => kind)).toEqual(['timer']);
  });
  return taskId;
}

export const startsIn = ({ there }: Loop, workflow: string) =>
  there.passed.filter(({ body }) => body.includes(`"skill":"${workflow}"`));
