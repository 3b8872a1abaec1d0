import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';

// The official clients of MCP against workflows that local mode serves.

const report = defineWorkflow({
  name: 'report',
  input: z.object({ month: z.string() }),
  run: async (ctx, { month }) => {
    ctx.progress(`Reading ${month}`);
    await ctx.sleep({ milliseconds: 50 });
    return { month };
  },
});
const approve = defineWorkflow({
  name: 'approve',
  run: async (ctx) => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    return (await ctx.ask({ to: 'caller', name: 'approve', message: 'Approve?', schema })).action;
  },
});

let engine: LocalEngine;
beforeAll(async () => {
  const output = z.object({ month: z.string() });
  engine = await startLocalEngine({
    app: defineApp({
      workflows: [report, approve],
      serve: {
        agent: { name: 'Desk', description: 'd' },
        skills: { report: { description: 'Writes a report', output }, approve: { description: 'Asks' } },
      },
    }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(() => engine.stop());

const call = { name: 'report', arguments: { month: '2026-10' } };

describe('the official client of 2026-07-28', () => {
  const connect = async (mode: 'auto' | 'legacy'): Promise<ModernClient> => {
    const capabilities = { elicitation: { form: {} } };
    const client = new ModernClient({ name: 't', version: '1' }, { capabilities, versionNegotiation: { mode } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { ok: true } }));
    await client.connect(new ModernTransport(new URL(`${engine.url}/mcp`)));
    return client;
  };

  it.each(['auto', 'legacy'] as const)(
    'lists and calls tools, and checks results by their schema (%s)',
    async (mode) => {
      const client = await connect(mode);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('wait_for_run');
      const done = await client.callTool(call);
      expect(done.structuredContent).toEqual({ month: '2026-10' });
      const started = await client.callTool({
        name: 'start_run',
        arguments: { tool: 'report', arguments: call.arguments },
      });
      expect(started.isError ?? false).toBe(false);
      const { runId } = started.structuredContent as { readonly runId: string };
      const waited = await client.callTool({ name: 'wait_for_run', arguments: { runId } });
      expect(waited.structuredContent).toMatchObject({ status: 'completed', result: { month: '2026-10' } });
      await client.close();
    },
  );

  it('answers a question that is asked in answer to its call', async () => {
    const client = await connect('auto');
    const done = await client.callTool({ name: 'approve', arguments: {} });
    expect(done.content).toEqual([{ type: 'text', text: 'accept' }]);
    await client.close();
  });
});

describe('the official client of 2025-11-25', () => {
  const connect = async (): Promise<Client> => {
    const client = new Client({ name: 't', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${engine.url}/mcp`)));
    return client;
  };

  it('calls a tool as a task, and waits for its result', async () => {
    const client = await connect();
    await client.listTools();
    const kinds: string[] = [];
    const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, { task: { ttl: 60_000 } });
    for await (const message of stream) {
      kinds.push(message.type);
      if (message.type === 'result') expect(message.result.structuredContent).toEqual({ month: '2026-10' });
    }
    expect(kinds[0]).toBe('taskCreated');
    expect(kinds.at(-1)).toBe('result');
    await client.close();
  });

  it('cancels a task, and is then told so', async () => {
    const client = await connect();
    const stream = client.experimental.tasks.callToolStream({ name: 'approve', arguments: {} }, CallToolResultSchema, {
      task: {},
    });
    const { value } = await stream.next();
    if (value?.type !== 'taskCreated') throw new Error('no task was created');
    const { taskId } = value.task;
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: 'cancelled' });
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });
});
