import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { stepFunctionTimeoutMs, turnTimeoutMs } from '../../../lib/base/limits.js';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import { makeRemoteStart } from '../../../lib/operations/remote-task/make-remote-start.js';
import { pollTask } from '../../../lib/operations/remote-task/poll-task.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { A2aTransport } from '../../../lib/remote/a2a/a2a-transport.js';
import type { WatchEvent } from '../../../lib/remote/transport.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { a2aAgent, type A2aAgentConfig, defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { closeAll, httpClient, transportDeps } from '../../unit/remote/loopback.js';
import { createEngineDeps } from '../engine-deps.js';
import { type AgentProcess, startAgentProcess } from './a2a-agent-processes.js';

// Agents on the official SDKs, each in a process of its own.

afterEach(closeAll);

const peers = [
  { name: '@a2a-js/sdk 1.3.0, JSON-RPC', program: 'a2a-1.0-process', binding: 'JSONRPC', wire: '1.0' },
  { name: '@a2a-js/sdk 1.3.0, HTTP+JSON', program: 'a2a-1.0-process', binding: 'HTTP+JSON', wire: '1.0' },
  { name: '@a2a-js/sdk 0.3.14, JSON-RPC', program: 'a2a-0.3-process', binding: 'JSONRPC', wire: '0.3' },
] as const;

describe.each(peers)('an agent on $name', ({ program, binding, wire }) => {
  let peer: AgentProcess;
  beforeAll(async () => {
    peer = await startAgentProcess(program);
  });
  afterAll(() => peer.end());

  /** Returns a configuration with the agent's own card, or with a card of only the one interface. */
  function config(options: { readonly probeByContext?: boolean } = {}): A2aAgentConfig {
    if (binding === 'JSONRPC') return a2aAgent({ card: peer.origin, ...options });
    const only = { url: `${peer.origin}/rest`, protocolBinding: binding, protocolVersion: wire };
    return a2aAgent({ card: { supportedInterfaces: [only], capabilities: { streaming: true } }, ...options });
  }
  let keys = 0;
  let seen: readonly WatchEvent[] = [];
  const transportFor = (options = {}) =>
    new A2aTransport(
      'agent',
      config(options),
      transportDeps(httpClient(), { random: { hex: () => 'request', fraction: () => 0 } }),
    );
  const ask = (text: string, idempotencyKey = `key-${++keys}`) =>
    ({ request: { kind: 'message', parts: [{ text }] }, idempotencyKey }) as const;

  async function started(transport: A2aTransport, text: string): Promise<RemoteTaskHandle> {
    const reply = await transport.start(ask(text));
    if (reply.kind !== 'started') throw new Error(`the start was ${reply.kind}`);
    return reply.handle;
  }

  /**
   * Watches until the task has ended or waits for input, then reads it. `meanwhile`: called once the first event has
   * come.
   */
  async function readAtRest(transport: A2aTransport, handle: RemoteTaskHandle, meanwhile?: () => Promise<unknown>) {
    const rest = new AbortController();
    const events: WatchEvent[] = [];
    seen = events;
    await transport.watch(
      handle,
      (event) => {
        if (events.push(event) === 1) void meanwhile?.();
        if (event.kind === 'status' && event.state === 'TASK_STATE_INPUT_REQUIRED') rest.abort();
      },
      rest.signal,
    );
    return transport.get(handle);
  }

  it('A2A-C5: answers with a message', async () => {
    const reply = await transportFor().start(ask('greet'));
    expect(reply).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', isError: false, result: { role: 'ROLE_AGENT', parts: [{ text: 'hello' }] } },
    });
    expect(reply).not.toHaveProperty('handle');
  });

  it('A2A-C6: answers with a task that has ended', async () => {
    const transport = transportFor();
    const reply = await transport.start(ask('at once'));
    // Over a stream its first event may come before the end.
    expect(reply.kind === 'started' ? await transport.get(reply.handle) : reply).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', result: { status: { state: 'TASK_STATE_COMPLETED' } } },
    });
  });

  it('GB-08, S2-20: starts a task, is read and watched while it works, and read when it has ended', async () => {
    const transport = transportFor();
    const handle = await started(transport, 'work');
    expect(handle).toMatchObject({ wire, ...(binding === 'JSONRPC' ? {} : { binding }) });
    expect((await transport.get(handle)).kind).toBe('working');
    expect(await readAtRest(transport, handle, peer.release)).toMatchObject({
      kind: 'ended',
      end: {
        kind: 'completed',
        taskId: handle.taskId,
        result: {
          status: { state: 'TASK_STATE_COMPLETED' },
          artifacts: [{ artifactId: 'result', parts: [{ data: { rows: 12 } }] }],
        },
      },
    });
    expect(seen).toContainEqual(
      expect.objectContaining({
        kind: 'artifact',
        artifact: expect.objectContaining({ artifactId: 'result' }) as object,
      }),
    );
    expect(seen.at(-1)).toMatchObject({ kind: 'status', state: 'TASK_STATE_COMPLETED' });
  });

  it('S2-18, A2A-C11: keeps the artifacts of a task that failed', async () => {
    const transport = transportFor();
    const handle = await started(transport, 'fail');
    expect(await readAtRest(transport, handle)).toMatchObject({
      kind: 'ended',
      end: {
        kind: 'failed',
        error: {
          code: 'REMOTE_TASK_FAILED',
          message: 'remote task failed: out of paper',
          details: { artifacts: [{ artifactId: 'result', parts: [{ data: { page: 1 } }] }] },
        },
      },
    });
  });

  it('S2-04, GB-02: asks, is answered, and goes on with the same task', async () => {
    const transport = transportFor();
    const handle = await started(transport, 'ask');
    const asked = await readAtRest(transport, handle);
    expect(asked).toMatchObject({
      kind: 'working',
      questions: [{ kind: 'form', message: 'Which cost centre?', parts: [{ text: 'Which cost centre?' }] }],
    });
    const [question] = (asked.kind === 'working' ? asked.questions : undefined) ?? [];
    const answer = { action: 'accept', content: { costCentre: '4711' } } as const;
    expect(await transport.answer(handle, question!, answer, 'answer-1')).toEqual({ kind: 'done' });
    expect(await readAtRest(transport, handle)).toMatchObject({
      kind: 'ended',
      end: { result: { id: handle.taskId, artifacts: [{ parts: [{ data: { answer: { costCentre: '4711' } } }] }] } },
    });
    // The question is no longer open, so nothing is sent.
    expect(await transport.answer(handle, question!, answer, 'answer-1')).toEqual({ kind: 'done' });
  });

  it('A2A-C30: cancels', async () => {
    const transport = transportFor();
    const handle = await started(transport, 'work');
    expect(await transport.cancel(handle)).toEqual({ kind: 'done' });
    expect(await readAtRest(transport, handle)).toMatchObject({
      kind: 'ended',
      end: { kind: 'failed', error: { code: 'REMOTE_TASK_CANCELLED' } },
    });
    expect(['done', 'refused']).toContain((await transport.cancel(handle)).kind);
  });

  it('A2A-C28: knows no task that it never had', async () => {
    const handle = { server: 'agent', protocol: 'a2a', wire, taskId: 'none', binding } as const;
    expect((await transportFor().get(handle)).kind).toBe('missing');
    expect(await transportFor().cancel(handle)).toMatchObject({ kind: 'gone' });
  });

  it('takes over a task that somebody else has started', async () => {
    const handle = await started(transportFor(), 'ask');
    await readAtRest(transportFor(), handle);
    const { taskId, contextId } = handle;
    expect(await transportFor().adopt({ taskId, ...(contextId === undefined ? {} : { contextId }) })).toMatchObject({
      kind: 'started',
      handle,
      questions: [{ message: 'Which cost centre?' }],
    });
  });

  it('A2A-C18: makes two tasks of one message, and does not claim otherwise', async () => {
    const transport = transportFor();
    const before = await peer.tasksStarted();
    await transport.start(ask('at once', 'the same'));
    await transport.start(ask('at once', 'the same'));
    expect((await peer.tasksStarted()) - before).toBe(2);
    expect(await transport.traits()).toMatchObject({ dedupes: false });
  });

  it.each([
    ['its context', { probeByContext: true }, true],
    ['its message, with no option set', {}, 'perhaps'],
  ])(
    'F62, A2A-C16: finds the task of a start whose answer was lost by %s, where the agent has lists',
    async (_by, options, finds) => {
      const transport = transportFor(options);
      const hasLists = wire === '1.0';
      expect(await transport.traits()).toMatchObject({ dedupes: false, finds: hasLists && finds });
      const request = ask('ask');
      if (!hasLists) {
        expect(await transport.find(request)).toMatchObject({ kind: 'unsupported' });
        return;
      }
      expect(await transport.find(request)).toMatchObject({ kind: 'none' });
      const reply = await transport.start(request);
      expect(reply.kind).toBe('started');
      expect(await transport.find(request)).toEqual({
        kind: 'found',
        handle: reply.kind === 'started' ? reply.handle : undefined,
      });
    },
  );

  it('S2-25: a whole run waits for it', async () => {
    let nowMs = Date.UTC(2026, 10, 29, 10, 0, 0);
    const startMs = nowMs;
    const workflow = defineWorkflow({
      name: 'calls',
      run: async (ctx) => {
        const outcome = await ctx.callRemoteTask({
          server: 'agent',
          message: { parts: [{ text: 'work' }] },
          timeout: { hours: 6 },
        });
        return outcome.result;
      },
    });
    const deps = createEngineDeps({
      app: defineApp({ workflows: [workflow], servers: { agent: config() } }),
      table: new MemoryTable(),
      clock: { nowMs: () => nowMs },
      http: httpClient(),
      learnsPace: true,
    });
    const { runId } = await startRun(deps, { workflow: 'calls' });
    const turn = () => runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
    await turn();
    const { dueAtMs } = (await deps.store.tokens.read(runId, '1'))!;
    const message = { kind: 'start', runId, waitId: '1', dueAtMs: dueAtMs! } as const;
    expect(await makeRemoteStart(deps, message, { remainingMs: () => stepFunctionTimeoutMs })).toBe('done');
    const { handle } = (await deps.store.tokens.read(runId, '1'))!;
    expect(handle).toMatchObject({ protocol: 'a2a', wire });
    await readAtRest(transportFor(), handle!, peer.release);
    nowMs = startMs + 5_000;
    expect(await pollTask(deps, { kind: 'poll', runId, waitId: '1', dueAtMs: nowMs })).toBe('settled');
    await turn();
    const head = (await deps.store.heads.read(runId))!;
    expect(head.status).toBe('completed');
    const { commits } = (await deps.store.runs.read(runId))!;
    const ending = commits.flatMap(({ events }) => events).find((event) => event.type === 'RunEnding');
    expect(ending).toMatchObject({ outcome: { result: { artifacts: [{ parts: [{ data: { rows: 12 } }] }] } } });
  });
});
