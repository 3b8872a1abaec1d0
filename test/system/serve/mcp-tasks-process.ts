// A program: the official package of the tasks extension, over the official client of 2026-07-28, which calls served
// workflows as tasks. It prints what it has seen.

import { writeSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  type SerializedTaskReference,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import { isDetailedTaskV2, isCreateTaskResultV2 } from '@modelcontextprotocol/ext-tasks/core/v2';
import type { McpClientOptions, McpReport } from './mcp-clients.js';
import { Replies } from './replies.js';

const { url, key } = JSON.parse(process.argv[2] ?? '') as McpClientOptions;
const endpoint = `${url}/mcp`;
const replies = new Replies(url, key);
const clientInfo = { name: 'tasks', version: '1.0.0' };
const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };

type Dispatch = NonNullable<Parameters<typeof createTaskSessionFromClient>[1]['rawDispatch']>;
let requests = 0;

/** Sends a request as the protocol frames it. */
const rawDispatch: Dispatch = async (request, { signal, context } = {}) => {
  const { method, params } = request as { readonly method: string; readonly params: Readonly<Record<string, unknown>> };
  const name = params['name'] ?? params['taskId'];
  const headers = new Headers(context?.headers);
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json, text/event-stream');
  headers.set('mcp-protocol-version', '2026-07-28');
  headers.set('mcp-method', method);
  if (typeof name === 'string') headers.set('mcp-name', name);
  const response = await replies.fetch(endpoint, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: ++requests, method, params }),
    ...(signal === undefined ? {} : { signal }),
  });
  const answer = (await response.json()) as { readonly result: never } | { readonly error: never };
  return 'error' in answer ? { kind: 'error', error: answer.error } : { kind: 'result', result: answer.result };
};

async function connect(): Promise<TaskEnabledSession> {
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { fetch: replies.fetch }));
  return createTaskSessionFromClient(client, {
    endpointId: 'desk',
    rawDispatch,
    v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities: capabilities },
    onInputRequest: async () => ({ action: 'accept', content: { colour: 'blue' } }) as never,
  });
}

const session = await connect();
const called = await session.callTool('talk', { of: 'sky' });
const states: string[] = [];
const { outcome } = await called.settle({
  onEvent: (event) => {
    if (event.type === 'task') states.push(event.task.status);
  },
});
const talked = resultFromTaskOutcome(outcome) as { readonly structuredContent?: unknown; readonly isError?: boolean };

const listening = await session.callTool('listen');
await listening.cancel();
const cancelled = await listening.result();

// Handed to a session of its own, as after a restart.
const handed = await session.callTool('talk', { of: 'sea' });
let reference: SerializedTaskReference | undefined;
if (handed.kind === 'task')
  await handed.handoff((given) => {
    reference = given;
  });
const later = await connect();
const resumed = reference === undefined ? undefined : await later.resumeTask(reference);
const found = resumed === undefined ? undefined : await resumed.settle();
const refused = await session.callTool('talk', { of: 7 });
const broken = await refused.result();
const unknown = await session
  .task('0'.repeat(32) as never)
  .snapshot()
  .catch((error: unknown) => String(error));

const seen = {
  kinds: [called.kind, listening.kind, handed.kind, refused.kind],
  state: states.at(-1),
  talked: [talked.structuredContent, talked.isError],
  cancelled: cancelled.status,
  resumed: found?.outcome.status,
  refused: broken.status === 'completed' ? (broken.result as { readonly isError?: boolean }).isError : broken.status,
  unknown,
};
const all = await replies.all();
const isKnown: Readonly<Record<string, (value: unknown) => boolean>> = {
  'tasks/get': (value) => isDetailedTaskV2(value),
  'tools/call': (value) =>
    (value as { readonly resultType?: string }).resultType !== 'task' || isCreateTaskResultV2(value),
};
const changed = all.filter(({ method, value }) => isKnown[method]?.(value) === false);
const report: McpReport = { seen, changed, methods: replies.methods() };
writeSync(1, JSON.stringify(report));
process.exit(0);
