import { setImmediate as eventLoop } from 'node:timers/promises';
import { a2aAgent, defineApp, defineWorkflow, mcpServer, type App, type Workflow, type WorkflowContext } from 'outwait';
import { createTestApp, type ScriptedTask, type TestApp } from 'outwait/testing';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import type { JsonValue } from '../../lib/base/json.js';
import type { VirtualClock } from '../../lib/testing/virtual-clock.js';
import type { Clock, EpochMs } from '../../lib/base/time.js';
import type { RemoteTaskHandle } from '../../lib/history/event.js';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import type { PollReply, StartReply, StartRequest } from '../../lib/remote/transport.js';
import type { AnyWorkflow } from '../../lib/workflow/define-workflow.js';
import type { TestAppOptions } from '../../lib/testing/test-deps.js';

/** A workflow that takes any JSON. */
export type Flow = Workflow;

/** 2026-01-01T00:00:00Z, the start of a test. */
export const startMs = 1_767_225_600_000;

export function aFlow(run: (ctx: WorkflowContext) => Promise<unknown>): Flow {
  return defineWorkflow<unknown>({ name: 'flow', run });
}

/** Creates an app with one workflow, an MCP server "reports" and an A2A agent "supplier". */
export function anApp(flow: Flow): App {
  return defineApp({
    workflows: [flow],
    servers: {
      reports: mcpServer({ url: 'https://reports.example.com/mcp' }),
      supplier: a2aAgent({ url: 'https://supplier.example.com/a2a' }),
    },
  });
}

export interface Started {
  readonly app: TestApp;
  readonly runId: string;
}

/** Starts a run of `flow`; none of its code has run yet. */
export async function started(
  flow: Flow,
  servers: TestAppOptions['servers'] = {},
  options: Omit<TestAppOptions, 'servers'> = {},
): Promise<Started> {
  const app = createTestApp(anApp(flow), { servers, ...options });
  return { app, runId: await app.start(flow, null) };
}

/** Advances virtual time for a turn that waits for it, as a step that hangs does. */
export async function withTimePassing<Result>({ clock }: TestApp, work: Promise<Result>): Promise<Result> {
  let isDone = false;
  const done = (): void => {
    isDone = true;
  };
  work.then(done, done);
  const isWorking = (): boolean => !isDone;
  while (isWorking()) {
    for (let round = 0; round < 10; round++) await eventLoop();
    const nextAtMs = clock.nextDelayAtMs();
    if (isWorking() && nextAtMs !== undefined) clock.moveTo(nextAtMs);
  }
  return work;
}

interface Replies {
  /** Answers the start with that number, counted from 1, in place of the script. */
  readonly start?: (attempt: number) => StartReply | undefined;
  /** Answers the read with that number, counted from 1, in place of the script. */
  readonly read?: (read: number) => PollReply | undefined;
}

/** A scripted server that records when it was called and can be told to answer differently. */
export class WatchedServer extends ScriptedServer {
  /** Milliseconds since the start of the test. */
  readonly startedAtMs: number[] = [];
  readonly readAtMs: number[] = [];
  readonly #replies: Replies;
  #watchedClock: Clock = { nowMs: () => startMs };

  constructor(
    options: Replies & {
      readonly protocol?: 'mcp' | 'a2a';
      readonly dedupes?: boolean;
      readonly task?: ScriptedTask;
    } = {},
  ) {
    const { protocol = 'mcp', dedupes, task = { never: true } } = options;
    super({ protocol, task: () => task, ...(dedupes === undefined ? {} : { dedupes }) });
    this.#replies = options;
  }

  override connect(name: string, clock: VirtualClock): void {
    super.connect(name, clock);
    this.#watchedClock = clock;
  }

  override async start(request: StartRequest): Promise<StartReply> {
    this.startedAtMs.push(this.#sinceStartMs());
    const scripted = await super.start(request);
    return this.#replies.start?.(this.startedAtMs.length) ?? scripted;
  }

  override async get(handle: RemoteTaskHandle): Promise<PollReply> {
    this.readAtMs.push(this.#sinceStartMs());
    const scripted = await super.get(handle);
    return this.#replies.read?.(this.readAtMs.length) ?? scripted;
  }

  #sinceStartMs(): EpochMs {
    return this.#watchedClock.nowMs() - startMs;
  }
}

/** Returns when a run ended, in milliseconds since the start of the test. */
export async function endedAfterMs({ app, runId }: Started): Promise<number> {
  const { endedAtMs = Number.NaN } = await app.show(runId);
  return endedAtMs - startMs;
}

/** Returns the types of the events of a run, in order. */
export async function eventTypes({ app, runId }: Started): Promise<readonly string[]> {
  return (await app.history(runId)).events.map(({ type }) => type);
}

/** Creates an app with these workflows and the servers of `anApp`, and starts a run of the first one. */
export async function startedIn(
  workflows: readonly AnyWorkflow[],
  input: JsonValue = null,
  servers: TestAppOptions['servers'] = {},
): Promise<Started> {
  const [first] = workflows;
  if (first === undefined) throw new Error('an app needs a workflow');
  const config = defineApp({
    workflows,
    servers: {
      reports: mcpServer({ url: 'https://reports.example.com/mcp' }),
      supplier: a2aAgent({ url: 'https://supplier.example.com/a2a' }),
    },
  });
  const app = createTestApp(config, { servers });
  return { app, runId: await app.start(first, input) };
}

/** Returns the status of every run of a workflow, sorted. */
export async function statusesOf({ app }: Pick<Started, 'app'>, workflow: string): Promise<readonly string[]> {
  const { runs } = await listRuns(app.deps, { limit: 100, workflow });
  return runs.map(({ status }) => status).sort();
}
