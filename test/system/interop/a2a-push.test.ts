import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import type { RunId } from '../../../lib/base/ids.js';
import { stepFunctionTimeoutMs, turnTimeoutMs } from '../../../lib/base/limits.js';
import { silentLog } from '../../../lib/base/log.js';
import { createGateway } from '../../../lib/local/api-gateway.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { makeRemoteStart } from '../../../lib/operations/remote-task/make-remote-start.js';
import { pollTask } from '../../../lib/operations/remote-task/poll-task.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import type { MemoryQueues } from '../../../lib/queue/memory-queues.js';
import type { PollMessage } from '../../../lib/queue/queue.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { a2aAgent, type A2aAgentConfig, defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { eventually } from '../../support/eventually.js';
import { closeAll, httpClient } from '../../unit/remote/loopback.js';
import { createEngineDeps } from '../engine-deps.js';
import { type AgentProcess, startAgentProcess } from './a2a-agent-processes.js';

// The push senders of the official SDKs, each in a process of its own, deliver to our route on a real socket. The clock
// of the engine stands still, so that no scheduled read can take the place of a push.

const peers = [
  { name: '@a2a-js/sdk 1.3.0, JSON-RPC', program: 'a2a-1.0-process', binding: 'JSONRPC', wire: '1.0', streams: false },
  {
    name: '@a2a-js/sdk 1.3.0, over a stream',
    program: 'a2a-1.0-process',
    binding: 'JSONRPC',
    wire: '1.0',
    streams: true,
  },
  {
    name: '@a2a-js/sdk 1.3.0, HTTP+JSON',
    program: 'a2a-1.0-process',
    binding: 'HTTP+JSON',
    wire: '1.0',
    streams: false,
  },
  { name: '@a2a-js/sdk 0.3.14, JSON-RPC', program: 'a2a-0.3-process', binding: 'JSONRPC', wire: '0.3', streams: false },
  {
    name: '@a2a-js/sdk 0.3.14, over a stream',
    program: 'a2a-0.3-process',
    binding: 'JSONRPC',
    wire: '0.3',
    streams: true,
  },
] as const;

const workflow = defineWorkflow({
  name: 'calls',
  run: (ctx) => ctx.callRemoteTask({ server: 'agent', message: { parts: [{ text: 'long' }] }, timeout: { hours: 1 } }),
});

interface Started {
  readonly deps: Deps & { readonly queues: MemoryQueues };
  readonly runId: RunId;
}

describe.each(peers)('the push sender of $name', ({ program, binding, wire, streams }) => {
  let peer: AgentProcess;
  let gateway: Server;
  afterEach(async () => {
    gateway.closeAllConnections();
    await closeAll();
  });
  beforeAll(async () => {
    peer = await startAgentProcess(program);
  });
  afterAll(() => peer.end());

  function agent(): A2aAgentConfig {
    const capabilities = { streaming: streams, pushNotifications: true };
    if (wire === '0.3')
      return a2aAgent({ card: { protocolVersion: '0.3.0', url: `${peer.origin}/rpc`, capabilities } });
    const url = `${peer.origin}/${binding === 'JSONRPC' ? 'rpc' : 'rest'}`;
    const only = { url, protocolBinding: binding, protocolVersion: wire };
    return a2aAgent({ card: { supportedInterfaces: [only], capabilities } });
  }

  /** Starts a task that the agent holds, and serves our API to the agent. */
  async function started(): Promise<Started> {
    const startMs = Date.now();
    const inMemory = createEngineDeps({
      app: defineApp({ workflows: [workflow], servers: { agent: agent() } }),
      table: new MemoryTable(),
      clock: { nowMs: () => startMs },
      http: httpClient(),
    });
    let deps: Started['deps'] = inMemory;
    gateway = createGateway(
      apiHandler(() => deps),
      silentLog,
    );
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
    deps = { ...inMemory, publicUrl: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}` };
    const { runId } = await startRun(deps, { workflow: 'calls' });
    await runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
    const token = (await deps.store.tokens.read(runId, '1'))!;
    if (token.handle === undefined) {
      const start = { kind: 'start', runId, waitId: '1', dueAtMs: token.dueAtMs! } as const;
      await makeRemoteStart(deps, start, { remainingMs: () => stepFunctionTimeoutMs });
    }
    return { deps, runId };
  }

  const tokenOf = ({ deps, runId }: Started) => deps.store.tokens.read(runId, '1');
  function nextPoke({ deps: { queues } }: Started): PollMessage | undefined {
    const [received] = queues.work.receive(1);
    return received === undefined ? undefined : (JSON.parse(received.body) as PollMessage);
  }

  /** Returns the push configs that the agent has for a task. */
  async function configsOf(taskId: string): Promise<readonly unknown[]> {
    const [method, params] =
      wire === '1.0'
        ? ['ListTaskPushNotificationConfigs', { taskId }]
        : ['tasks/pushNotificationConfig/list', { id: taskId }];
    const response = await fetch(`${peer.origin}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': wire },
      body: JSON.stringify({ jsonrpc: '2.0', id: '1', method, params }),
    });
    const { result } = (await response.json()) as { result: unknown[] | { configs?: unknown[] } };
    return Array.isArray(result) ? result : (result.configs ?? []);
  }

  it('delivers to our route, and the read that its last push asks for settles the wait', async () => {
    const run = await started();
    expect((await tokenOf(run))?.handle).toMatchObject({
      wire,
      pushConfigId: expect.stringMatching(/^outwait-/) as string,
    });
    await peer.release();
    let poke: PollMessage | undefined;
    await eventually(async () => {
      poke = nextPoke(run);
      expect(poke).toMatchObject({ kind: 'poll', runId: run.runId, waitId: '1', server: 'agent', saidEnded: true });
    });
    expect(poke).not.toHaveProperty('dueAtMs');
    const before = (await tokenOf(run))!;
    expect(before).not.toHaveProperty('settlement');
    // Pushes of 0.3 promise further ones only once the start is over.
    expect(before.pushedAtMs !== undefined).toBe(wire === '1.0');
    const { taskId } = before.handle!;
    expect(await configsOf(taskId)).toHaveLength(1);
    expect(await pollTask(run.deps, poke!)).toBe('settled');
    expect((await tokenOf(run))?.settlement).toMatchObject({ by: 'poll', outcome: { kind: 'completed' } });
    expect(await configsOf(taskId)).toEqual([]);
  });
});
