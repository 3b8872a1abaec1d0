import { defineApp, hasCode, mcpServer, textOf, type McpServerConfig, type ServerJob } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../lib/base/time.js';
import type { RemoteTaskHandle } from '../../lib/history/event.js';
import { listRemoteTasks } from '../../lib/operations/views/list-remote-tasks.js';
import type { RemoteTaskTransport, StartRequest } from '../../lib/remote/transport.js';
import { createTransports } from '../../lib/remote/wiring/transports.js';
import {
  closeAll,
  httpClient,
  json,
  result,
  serve,
  transportDeps,
  type LoopbackServer,
} from '../unit/remote/loopback.js';
import { aFlow, endedAfterMs, eventTypes, startMs, type Flow, type Started } from './support.js';

afterEach(closeAll);

const job: ServerJob = { status: 'export_status', id: 'job_id', cancel: 'cancel_export', missing: ['no such job'] };

/** The course of a job on the server. */
interface Course {
  /** The reply to its start, in place of one with its id; `lost`: the connection breaks after the job was created. */
  readonly start?: object | 'lost';
  /** Its status from that many seconds on; the latest one that has come counts. */
  readonly states?: Readonly<Record<number, object>>;
}

/** An MCP server of 2025-06-18 without tasks; it has three tools and creates one job for each key. */
class JobServer {
  readonly calls: { readonly tool: string; readonly job: unknown; readonly atS: number }[] = [];
  readonly keys: unknown[] = [];
  readonly #course: Course;
  readonly #byKey = new Map<string, { readonly id: string; readonly startedAtMs: number; stopped: boolean }>();
  #clock: Clock = { nowMs: () => startMs };

  constructor(course: Course) {
    this.#course = course;
  }

  get jobs(): number {
    return this.#byKey.size;
  }

  async listen(): Promise<LoopbackServer> {
    return serve(({ body: { id, method, params }, headers, ...request }, response) => {
      const answer = (value: object): void => {
        result(response, { ...request, headers, body: { id, method, params } }, value);
      };
      if (method === 'initialize') {
        answer({
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'j', version: '1' },
        });
        return;
      }
      if (method === 'notifications/initialized') return void response.writeHead(202).end();
      if (method === 'tools/list') {
        answer({ tools: ['start_export', job.status, job.cancel].map((name) => ({ name, inputSchema: {} })) });
        return;
      }
      if (method !== 'tools/call') {
        json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
        return;
      }
      const tool = params['name'] as string;
      const args = params['arguments'] as Readonly<Record<string, unknown>>;
      this.calls.push({ tool, job: args['job_id'], atS: (this.#clock.nowMs() - startMs) / 1_000 });
      if (tool === 'start_export') this.keys.push(headers['idempotency-key']);
      const reply =
        tool === 'start_export' ? this.#start(String(headers['idempotency-key'])) : this.#tell(tool, args['job_id']);
      if (reply === 'lost') response.destroy();
      else answer(reply);
    });
  }

  keepTime(clock: Clock): void {
    this.#clock = clock;
  }

  #start(key: string): object | 'lost' {
    const { start } = this.#course;
    if (start !== undefined && start !== 'lost') return start;
    const known = this.#byKey.get(key);
    const one = known ?? { id: `j-${this.#byKey.size + 1}`, startedAtMs: this.#clock.nowMs(), stopped: false };
    this.#byKey.set(key, one);
    return start === 'lost' && known === undefined ? 'lost' : said({ job_id: one.id, status: 'queued' });
  }

  #tell(tool: string, id: unknown): object {
    const one = [...this.#byKey.values()].find((known) => known.id === id);
    if (one === undefined) return noSuchJob;
    if (tool === 'cancel_export') {
      one.stopped = true;
      return said({ ok: true });
    }
    if (one.stopped) return said({ job_id: id, status: 'cancelled' });
    const ageS = (this.#clock.nowMs() - one.startedAtMs) / 1_000;
    const states = Object.entries(this.#course.states ?? {});
    return states.findLast(([fromS]) => Number(fromS) <= ageS)?.[1] ?? said({ job_id: id, status: 'running' });
  }
}

/** Returns a reply as most servers send it: JSON in a text. */
const said = (value: object, more: object = {}) => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  ...more,
});
const noSuchJob = { content: [{ type: 'text', text: 'Error: no such job' }], isError: true };

/** The HTTP client of the engine, in place of a scripted server. */
class OverHttp extends ScriptedServer {
  readonly #server: JobServer;
  readonly #transport: (clock: Clock) => RemoteTaskTransport;
  #made: RemoteTaskTransport | undefined;

  constructor(server: JobServer, config: McpServerConfig) {
    super({ protocol: 'mcp', task: () => ({}), dedupes: config.dedupes ?? false });
    this.#server = server;
    this.#transport = (clock) =>
      createTransports({ reports: config }, transportDeps(httpClient(), { clock })).get('reports');
  }

  override connect(name: string, clock: Clock): void {
    super.connect(name, clock);
    this.#server.keepTime(clock);
    this.#made = this.#transport(clock);
  }

  override async start(request: StartRequest): ReturnType<RemoteTaskTransport['start']> {
    return this.#made!.start(request);
  }

  override async get(handle: RemoteTaskHandle): ReturnType<RemoteTaskTransport['get']> {
    return this.#made!.get(handle);
  }

  override async cancel(handle: RemoteTaskHandle): ReturnType<RemoteTaskTransport['cancel']> {
    return this.#made!.cancel(handle);
  }
}

interface Exported extends Started {
  readonly server: JobServer;
}

async function exported(
  course: Course,
  config: Partial<McpServerConfig> = {},
  flow: Flow = anExport(),
): Promise<Exported> {
  const server = new JobServer(course);
  const { url } = await server.listen();
  const entry = mcpServer({ url, jobs: { start_export: job }, ...config });
  const app = createTestApp(defineApp({ workflows: [flow], servers: { reports: entry } }), {
    servers: { reports: new OverHttp(server, entry) },
  });
  return { app, server, runId: await app.start(flow, null) };
}

const anExport = (): Flow =>
  aFlow(async (ctx) => {
    try {
      const call = { server: 'reports', tool: 'start_export', arguments: { month: '2026-10' }, timeout: { hours: 6 } };
      const outcome = await ctx.callRemoteTask(call);
      return { said: textOf(outcome), isError: outcome.isError, taskId: outcome.taskId ?? null };
    } catch (error) {
      if (!hasCode(error, 'REMOTE_TASK_FAILED')) throw error;
      return { failed: error.message, details: error.details ?? null };
    }
  });

describe('a job of a server that has tools and no tasks', () => {
  it('is a remote task: started once, read until it is done, and its reply is the result', async () => {
    const done = { status: 'completed', rows: 412 };
    const run = await exported({ states: { 3_600: said(done) } });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: { said: JSON.stringify(done), isError: false, taskId: 'j-1' },
    });
    expect(await eventTypes(run)).toEqual([
      'RunStarted',
      'RemoteTaskRequested',
      'RemoteTaskStarted',
      'TokenSettled',
      'RunEnding',
      'RunEnded',
    ]);
    const { events } = await run.app.history(run.runId);
    expect(events.find(({ type }) => type === 'RemoteTaskStarted')).toMatchObject({
      handle: { server: 'reports', protocol: 'mcp', wire: 'jobs-2025-06-18', taskId: 'j-1', job: 'start_export' },
    });
    const [first, ...reads] = run.server.calls;
    expect(first).toEqual({ tool: 'start_export', job: undefined, atS: 0 });
    expect(new Set(reads.map(({ tool, job: id }) => `${tool} ${String(id)}`))).toEqual(new Set(['export_status j-1']));
    // Reads come at the usual pace.
    expect(reads.length).toBeLessThan(120);
    expect(await endedAfterMs(run)).toBeLessThan(3_600_000 + 360_000);
  });

  it('is read no more often than pollAfter says', async () => {
    const run = await exported(
      { states: { 3_600: said({ status: 'completed' }) } },
      { jobs: { start_export: { ...job, pollAfter: { minutes: 20 } } } },
    );
    await run.app.runToEnd(run.runId);
    const atS = run.server.calls.map((call) => call.atS);
    expect(atS.length).toBe(4);
    for (const [index, at] of atS.slice(1).entries()) expect(at - atS[index]!).toBeGreaterThanOrEqual(1_200);
  });

  it('that fails is a failure with its id and its words', async () => {
    const run = await exported({ states: { 60: said({ status: 'error', message: 'no disk' }) } });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: {
        failed: 'remote task failed: no disk',
        details: { server: 'reports', taskId: 'j-1', phase: 'run', state: 'error' },
      },
    });
  });

  it('is listed as open, and stopped by its tool when its run is cancelled', async () => {
    const run = await exported({});
    await run.app.pass({ minutes: 5 });
    expect((await listRemoteTasks(run.app.deps, { orphaned: false, limit: 10 })).tasks).toMatchObject([
      { server: 'reports', taskId: 'j-1', state: 'open' },
    ]);
    await run.app.cancel(run.runId);
    expect((await run.app.runToEnd(run.runId)).status).toBe('cancelled');
    expect(run.server.calls.at(-1)).toMatchObject({ tool: 'cancel_export', job: 'j-1' });
    expect((await listRemoteTasks(run.app.deps, { orphaned: true, limit: 10 })).tasks).toEqual([]);
  });

  it('without a tool that stops it is listed as an orphan', async () => {
    const run = await exported({}, { jobs: { start_export: { status: 'export_status', id: 'job_id' } } });
    await run.app.pass({ minutes: 5 });
    await run.app.cancel(run.runId);
    await run.app.runToEnd(run.runId);
    expect((await listRemoteTasks(run.app.deps, { orphaned: true, limit: 10 })).tasks).toMatchObject([
      { server: 'reports', taskId: 'j-1', state: 'refused' },
    ]);
  });

  it('that the server has forgotten is lost, as the configuration tells what that looks like', async () => {
    const { app, runId } = await exported({ states: { 600: noSuchJob } });
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'REMOTE_TASK_LOST', details: { server: 'reports', taskId: 'j-1' } },
    });
  });

  it('whose status cannot be told for an hour goes on, and ends when it can', async () => {
    const down = { content: [{ type: 'text', text: '{"status":"completed"}' }], isError: true };
    const run = await exported({ states: { 60: down, 3_600: said({ job_id: 'j-1', status: 'completed' }) } });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed', result: { taskId: 'j-1' } });
    expect(await endedAfterMs(run)).toBeGreaterThanOrEqual(3_600_000);
  });

  it('is not ended by the reply about another job', async () => {
    const other = said({ job_id: 'j-2', status: 'completed' });
    const run = await exported({ states: { 60: other, 3_600: said({ job_id: 'j-1', status: 'completed' }) } });
    await run.app.runToEnd(run.runId);
    expect(await endedAfterMs(run)).toBeGreaterThanOrEqual(3_600_000);
  });

  it('whose start is an error of the tool is an outcome of the start', async () => {
    const { app, server, runId } = await exported({
      start: { content: [{ type: 'text', text: 'no quota' }], isError: true },
    });
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'completed',
      result: { said: 'no quota', isError: true, taskId: null },
    });
    expect(server.calls.length).toBe(1);
  });

  it('whose start names no id is ambiguous, says what came, and is not started again', async () => {
    const { app, server, runId } = await exported({ start: said({ id: 7 }) });
    const outcome = await app.runToEnd(runId);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'REMOTE_START_AMBIGUOUS' } });
    expect(JSON.stringify(outcome)).toContain('has no job id at \\"job_id\\": it is {\\"id\\":7}');
    expect(server.calls.length).toBe(1);
  });

  it('whose start was lost is started again with its key where the server dedupes, and there is one job', async () => {
    const course = { start: 'lost', states: { 60: said({ status: 'completed' }) } } as const;
    const one = await exported(course, { dedupes: true });
    expect(await one.app.runToEnd(one.runId)).toMatchObject({ status: 'completed', result: { taskId: 'j-1' } });
    expect([one.server.keys.length, new Set(one.server.keys).size, one.server.jobs]).toEqual([2, 1, 1]);
    const other = await exported(course);
    expect(await other.app.runToEnd(other.runId)).toMatchObject({ error: { code: 'REMOTE_START_AMBIGUOUS' } });
    expect(other.server.keys.length).toBe(1);
  });
});
