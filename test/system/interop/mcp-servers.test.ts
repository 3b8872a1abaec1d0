import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { turnTimeoutMs } from '../../../lib/base/limits.js';
import type { JsonObject } from '../../../lib/base/json.js';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import { pollTask } from '../../../lib/operations/remote-task/poll-task.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import type { RemoteTaskTransport, StartReply, StartRequest } from '../../../lib/remote/transport.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { defineApp, mcpServer } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { dataOf, textOf } from '../../../lib/workflow/outcome.js';
import { closeAll, httpClient, transportDeps } from '../../unit/remote/loopback.js';
import { createEngineDeps } from '../engine-deps.js';
import {
  type ServerProcess,
  startEverythingServer,
  startJobServer,
  startModernServer,
} from './mcp-server-processes.js';

// MCP servers that others wrote, each in a process of its own.

afterEach(closeAll);

let server: ServerProcess;
const transport = (): RemoteTaskTransport => {
  const servers = { remote: mcpServer({ url: server.url }) };
  return createTransports(servers, transportDeps(httpClient())).get('remote');
};
const start = (by: RemoteTaskTransport, tool: string, args: JsonObject = {}, more: Partial<StartRequest> = {}) =>
  by.start({ request: { kind: 'tool', tool, arguments: args }, idempotencyKey: 'run1/3', ...more });

function handleIn(reply: StartReply): RemoteTaskHandle {
  if (reply.kind !== 'started') throw new Error(`the start was ${reply.kind}`);
  return reply.handle;
}

/** Runs a workflow with one call to its end. `meanwhile`: called between the start of the task and the first read. */
async function runToEnd(tool: string, args: JsonObject, meanwhile: (handle: RemoteTaskHandle) => Promise<void>) {
  const workflow = defineWorkflow({
    name: 'calls',
    run: (ctx) => ctx.callRemoteTask({ server: 'remote', tool, arguments: args, timeout: { hours: 1 } }),
  });
  const app = defineApp({ workflows: [workflow], servers: { remote: mcpServer({ url: server.url }) } });
  let nowMs = Date.UTC(2026, 10, 29, 10, 0, 0);
  const table = new MemoryTable();
  const deps = createEngineDeps({ app, table, clock: { nowMs: () => nowMs }, http: httpClient() });
  const turn = () => runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
  const { runId } = await startRun(deps, { workflow: 'calls' });
  await turn();
  const token = await deps.store.tokens.read(runId, '1');
  if (token?.handle !== undefined) {
    await meanwhile(token.handle);
    nowMs = token.dueAtMs!;
    expect(await pollTask(deps, { kind: 'poll', runId, waitId: '1', dueAtMs: nowMs })).toBe('settled');
    await turn();
  }
  const { commits } = (await deps.store.runs.read(runId))!;
  return commits.flatMap(({ events }) => events).find(({ type }) => type === 'RunEnding');
}

describe('@modelcontextprotocol/server 2.4.0, MCP 2026-07-28', () => {
  beforeAll(async () => {
    server = await startModernServer();
  });
  afterAll(() => server.end());

  const accept = { action: 'accept', content: { ok: true } } as const;

  it('a tool that answers at once', async () => {
    expect(await start(transport(), 'greet', { who: 'Ada' })).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', isError: false, result: { content: [{ type: 'text', text: 'Hello, Ada!' }] } },
    });
  });

  it('a task that asks, is answered, and ends', async () => {
    const client = transport();
    const handle = handleIn(await start(client, 'review', {}, { answersQuestions: true }));
    expect(handle.wire).toBe('2026-07-28');
    const asking = await client.get(handle);
    if (asking.kind !== 'working' || asking.questions === undefined) throw new Error(asking.kind);
    expect(asking.questions).toMatchObject([{ key: 'approve', kind: 'form', message: 'Approve?' }]);
    // The second answer is a repeat, and harmless.
    const answer = () => client.answer!(handle, asking.questions![0]!, accept, 'a-1');
    expect([await answer(), await answer()]).toEqual([{ kind: 'done' }, { kind: 'done' }]);
    expect(await client.get(handle)).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', result: { content: [{ text: 'approved: true' }] } },
    });
  });

  it('a question before the start, whose state the SDK checks', async () => {
    const client = transport();
    const asked = await start(client, 'release', {}, { answersQuestions: true });
    expect(asked).toMatchObject({ kind: 'asked', questions: [{ key: 'confirm', kind: 'form' }], state: 'round-1' });
    const continuation = { state: 'round-1', answers: { confirm: accept } };
    expect(await start(client, 'release', {}, { answersQuestions: true, continuation })).toMatchObject({
      kind: 'ended',
      end: { result: { content: [{ text: '{"action":"accept","content":{"ok":true}}' }] } },
    });
  });

  it('cancels, takes over, and tells what is missing', async () => {
    const client = transport();
    const handle = handleIn(await start(client, 'review'));
    expect(await client.adopt!({ taskId: handle.taskId })).toMatchObject({
      kind: 'started',
      handle: { taskId: handle.taskId },
    });
    expect(await client.cancel(handle)).toEqual({ kind: 'done' });
    expect(await client.get(handle)).toMatchObject({ end: { error: { code: 'REMOTE_TASK_CANCELLED' } } });
    expect((await client.get({ ...handle, taskId: 'other' })).kind).toBe('missing');
    expect(await start(client, 'other')).toMatchObject({ kind: 'refused', error: { details: { code: -32602 } } });
    expect(await client.traits!()).toMatchObject({ dedupes: true, finds: false });
  });

  it('a workflow runs to its end', async () => {
    const end = await runToEnd('review', {}, async (handle) => {
      const question = { key: 'approve', kind: 'form', message: 'Approve?' } as const;
      await transport().answer!(handle, question, accept, 'a-1');
    });
    expect(end).toMatchObject({
      outcome: { status: 'completed', result: { isError: false, result: { content: [{ text: 'approved: true' }] } } },
    });
  });
});

describe('@modelcontextprotocol/server-everything 2026.8.31, MCP 2025-11-25', () => {
  beforeAll(async () => {
    server = await startEverythingServer();
  });
  afterAll(() => server.end());

  const research = 'simulate-research-query';

  /** Waits for the end of a task: the server answers `tasks/result` only then. */
  async function ended({ taskId, session }: RemoteTaskHandle): Promise<void> {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
        'mcp-session-id': session ?? '',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'until-ended', method: 'tasks/result', params: { taskId } }),
    });
    await response.text();
  }

  it('GB-27: a tool without tasks is called plainly', async () => {
    expect(await start(transport(), 'echo', { message: 'hi' })).toEqual({
      kind: 'ended',
      end: { kind: 'completed', isError: false, result: { content: [{ type: 'text', text: 'Echo: hi' }] } },
    });
  });

  it('GB-27, MCP-55: a tool with tasks is a task, which works on, under a session', async () => {
    const client = transport();
    const handle = handleIn(await start(client, research, { topic: 'tides' }));
    expect(handle).toMatchObject({ wire: '2025-11-25', ttlMs: 300_000, session: expect.any(String) as string });
    expect(await client.get(handle)).toMatchObject({ kind: 'working', state: 'working' });
    // Another process reads it under the session of the handle.
    expect((await transport().get(handle)).kind).toBe('working');
    expect(await client.cancel(handle)).toEqual({ kind: 'done' });
    expect(await client.get(handle)).toMatchObject({ end: { error: { code: 'REMOTE_TASK_CANCELLED' } } });
    expect(await client.cancel(handle)).toMatchObject({ kind: 'gone' });
  });

  it('MCP-58: a task whose session the server does not know is missing', async () => {
    const handle = handleIn(await start(transport(), research, { topic: 'tides' }));
    expect((await transport().get({ ...handle, session: 'gone' })).kind).toBe('missing');
  });

  it('GB-27: a workflow runs to its end', async () => {
    const end = await runToEnd(research, { topic: 'tides' }, ended);
    expect(end).toMatchObject({ outcome: { status: 'completed', result: { isError: false } } });
    expect(JSON.stringify(end)).toContain('# Research Report: tides');
  });
});

describe('@modelcontextprotocol/server 2.4.0 without tasks: a job as three plain tools', () => {
  beforeAll(async () => {
    server = await startJobServer();
  });
  afterAll(() => server.end());

  const jobs = {
    start_export: {
      id: 'job_id',
      status: 'export_status',
      cancel: 'cancel_export',
      result: 'result',
      missing: ['no such job'],
    },
  } as const;

  interface JobRun {
    readonly deps: ReturnType<typeof createEngineDeps>;
    readonly runId: string;
    readonly turn: () => Promise<unknown>;
    /** Makes the read that is due, at its instant. */
    readonly read: () => Promise<unknown>;
    readonly outcome: () => Promise<unknown>;
    readonly taskId: string;
  }

  /** Starts a run with one call of `start_export`, up to the turn that starts the job. */
  async function startedJob(how: string, protocolVersion: '2026-07-28' | '2025-11-25'): Promise<JobRun> {
    const workflow = defineWorkflow({
      name: 'exports',
      run: async (ctx) => {
        const call = { server: 'remote', tool: 'start_export', arguments: { how }, timeout: { hours: 1 } } as const;
        return dataOf(await ctx.callRemoteTask(call)) ?? null;
      },
    });
    const servers = { remote: mcpServer({ url: server.url, jobs, protocolVersion }) };
    const app = defineApp({ workflows: [workflow], servers });
    let nowMs = Date.UTC(2026, 10, 29, 10, 0, 0);
    const deps = createEngineDeps({ app, table: new MemoryTable(), clock: { nowMs: () => nowMs }, http: httpClient() });
    const { runId } = await startRun(deps, { workflow: 'exports' });
    const turn = () => runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
    const token = async () => deps.store.tokens.read(runId, '1');
    await turn();
    return {
      ...{ deps, runId, turn },
      taskId: (await token())?.handle?.taskId ?? '',
      read: async () => {
        nowMs = (await token())!.dueAtMs!;
        return pollTask(deps, { kind: 'poll', runId, waitId: '1', dueAtMs: nowMs });
      },
      outcome: async () => {
        const { commits } = (await deps.store.runs.read(runId))!;
        return commits.flatMap(({ events }) => events).find((event) => event.type === 'RunEnding')?.outcome;
      },
    };
  }

  /** Returns what the server itself says, by a plain call. */
  async function asked(tool: string, args: JsonObject = {}): Promise<unknown> {
    const reply = await start(transport(), tool, args);
    if (reply.kind !== 'ended' || reply.end.kind !== 'completed') throw new Error(reply.kind);
    const text = textOf({ ...reply.end, server: 'remote' });
    return reply.end.isError ? text : (JSON.parse(text) as unknown);
  }

  const countJobs = async (): Promise<number> => ((await asked('count_jobs')) as { readonly jobs: number }).jobs;

  for (const protocolVersion of ['2026-07-28', '2025-11-25'] as const) {
    it(`${protocolVersion}: is a remote task that works, and ends with its result`, async () => {
      const before = await countJobs();
      const run = await startedJob('well', protocolVersion);
      expect(run.taskId).toMatch(/^[0-9a-f-]{36}$/);
      expect(await run.read()).not.toBe('settled');
      expect(await run.read()).toBe('settled');
      await run.turn();
      expect(await run.outcome()).toEqual({ status: 'completed', result: { rows: 3 } });
      expect(await countJobs()).toBe(before + 1);
    });

    it(`${protocolVersion}: fails with what the server says`, async () => {
      const run = await startedJob('badly', protocolVersion);
      await run.read();
      expect(await run.read()).toBe('settled');
      await run.turn();
      expect(await run.outcome()).toMatchObject({
        status: 'failed',
        error: { code: 'REMOTE_TASK_FAILED', message: expect.stringContaining('no stock') as string },
      });
    });

    it(`${protocolVersion}: is cancelled at the server with its run`, async () => {
      const run = await startedJob('never', protocolVersion);
      expect(await run.read()).not.toBe('settled');
      expect(await asked('export_status', { job_id: run.taskId })).toMatchObject({ status: 'running' });
      await requestStop(run.deps, { runId: run.runId, kind: 'cancel' });
      await run.turn();
      expect(await run.outcome()).toMatchObject({ status: 'cancelled' });
      expect(await asked('export_status', { job_id: run.taskId })).toEqual({ status: 'cancelled' });
      expect((await run.deps.store.tokens.read(run.runId, '1'))?.cancel).toMatchObject({ kind: 'sent' });
    });

    it(`${protocolVersion}: that the server does not know is missing; no error of a tool, and no wrong argument, is a job`, async () => {
      const servers = { remote: mcpServer({ url: server.url, jobs, protocolVersion }) };
      const client = createTransports(servers, transportDeps(httpClient())).get('remote');
      const handle = handleIn(await start(client, 'start_export', { how: 'never' }));
      expect((await client.get(handle)).kind).toBe('working');
      expect((await client.get({ ...handle, taskId: 'other' })).kind).toBe('missing');
      const before = await countJobs();
      const wrong = await start(client, 'start_export', { how: 'sideways' });
      expect(wrong).toMatchObject({ kind: 'ended', end: { kind: 'completed', isError: true } });
      expect(await countJobs()).toBe(before);
    });
  }
});
