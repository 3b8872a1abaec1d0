// A program: the official SDK of MCP 2025-11-25, whose client has tasks as an experiment. It calls served workflows as
// tasks, and prints what it has seen, and every reply that its schemas do not give back unchanged.

import { writeSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CancelTaskResultSchema,
  CreateTaskResultSchema,
  GetTaskResultSchema,
  InitializeResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpClientOptions, McpReport } from './mcp-clients.js';
import { Replies } from './replies.js';

const { url, key } = JSON.parse(process.argv[2] ?? '') as McpClientOptions;
const replies = new Replies(url, key);
const client = new Client({ name: 'desk', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { fetch: replies.fetch }));

const { tools } = await client.listTools();
const { tasks } = client.experimental;

async function started(name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const stream = tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { task: {} });
  const { value } = await stream.next();
  if (value?.type !== 'taskCreated') throw new Error('no task was created');
  return value.task.taskId;
}

const listening = await started('listen', {});
const working = await tasks.getTask(listening);
// Nobody asks a client of this revision: the answer comes by the tool for runs.
const talking = await started('talk', { of: 'sky' });
const asking = async (): Promise<string> => {
  for (;;) {
    const { structuredContent } = await client.callTool({ name: 'wait_for_run', arguments: { runId: talking } });
    const { questions } = structuredContent as { readonly questions?: readonly { readonly key: string }[] };
    if (questions?.[0] !== undefined) return questions[0].key;
  }
};
const answer = { runId: talking, question: await asking(), content: { colour: 'blue' } };
await client.callTool({ name: 'signal_run', arguments: answer });
const result = await tasks.getTaskResult(talking, CallToolResultSchema);
const done = await tasks.getTask(talking);
const cancelled = await tasks.cancelTask(listening);
const again = await tasks.cancelTask(listening).catch((error: unknown) => (error as { readonly code: number }).code);
await client.ping();
await client.close();

const schemas: Readonly<Record<string, readonly { safeParse(value: unknown): { data?: unknown } }[]>> = {
  initialize: [InitializeResultSchema],
  'tools/list': [ListToolsResultSchema],
  'tools/call': [CreateTaskResultSchema, CallToolResultSchema],
  'tasks/get': [GetTaskResultSchema],
  'tasks/result': [CallToolResultSchema],
  'tasks/cancel': [CancelTaskResultSchema],
};
const changed = (await replies.all()).filter(
  ({ method, value }) =>
    schemas[method]?.some((schema) => isDeepStrictEqual(schema.safeParse(value).data, value)) === false,
);
const seen = {
  tools: tools.map(({ name, execution }) => [name, execution?.taskSupport]),
  working: working.status,
  result: result.structuredContent,
  done: done.status,
  cancelled: cancelled.status,
  again,
};
const report: McpReport = { seen, changed, methods: replies.methods() };
writeSync(1, JSON.stringify(report));
process.exit(0);
