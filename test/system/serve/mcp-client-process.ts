// A program: the official client of MCP, in the revision of 2026-07-28 or by `initialize`. It knows no tasks; it calls the
// tools of the skills and those for runs, and prints what it has seen.

import { writeSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { McpClientOptions, McpReport } from './mcp-clients.js';
import { Replies } from './replies.js';

const { url, key, mode = 'auto' } = JSON.parse(process.argv[2] ?? '') as McpClientOptions;
const replies = new Replies(url, key);
const capabilities = { elicitation: { form: {} } };
const client = new Client({ name: 'desk', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { colour: 'blue' } }));
await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { fetch: replies.fetch }));

interface Handle {
  readonly runId: string;
  readonly status?: string;
  readonly result?: unknown;
  readonly questions?: readonly { readonly key: string }[];
}

async function call(name: string, args: Readonly<Record<string, unknown>> = {}) {
  const { structuredContent, isError = false } = await client.callTool({ name, arguments: args });
  return { handle: structuredContent as Handle, isError };
}

const { tools } = await client.listTools();
// Asked in answer to the call where the revision has that, otherwise by the handle.
const { handle: talked } = await call('talk', { of: 'sky' });
const { handle: started } = await call('start_run', { tool: 'talk', arguments: { of: 'sea' }, key: 'k' });
const { handle: again } = await call('start_run', { tool: 'talk', arguments: { of: 'sea' }, key: 'k' });
const { handle: asking } = await call('wait_for_run', { runId: started.runId });
const question = asking.questions?.[0]?.key;
await call('signal_run', { runId: started.runId, question, content: { colour: 'green' } });
const { handle: done } = await call('wait_for_run', { runId: started.runId });
const { handle: listening } = await call('start_run', { tool: 'listen' });
await call('cancel_run', { runId: listening.runId });
const { handle: cancelled } = await call('wait_for_run', { runId: listening.runId });
const { handle: status } = await call('run_status', { runId: started.runId });
const unknown = await call('run_status', { runId: '0'.repeat(32) });
await client.ping().catch(() => undefined);
await client.close();

const seen = {
  tools: tools.map(({ name }) => name),
  talked: talked.status ?? talked,
  isSame: started.runId === again.runId,
  asking: asking.status,
  done: done.result,
  cancelled: cancelled.status,
  status: status.status,
  unknown: unknown.isError,
};
const report: McpReport = { seen, changed: [], methods: replies.methods() };
writeSync(1, JSON.stringify(report));
process.exit(0);
