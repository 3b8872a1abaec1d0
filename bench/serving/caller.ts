import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';

/** A task as far as the benchmark reads it. */
export interface Task {
  readonly id: string;
  readonly status: { readonly state: string; readonly timestamp?: string };
  readonly artifacts?: readonly object[];
}

/** An event of a stream. */
export interface StreamEvent {
  readonly task?: Task;
  readonly statusUpdate?: { readonly status: Task['status'] };
}

interface Reply {
  readonly result?: object;
  readonly error?: { readonly message: string };
}

// A stream takes a connection of its own.
const dispatcher = new Agent({ connections: 2_000, headersTimeout: 60_000, bodyTimeout: 60_000 });
const mcpVersion = '2026-07-28';
const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

/** Starts a task of a skill, and returns it as it is at once. */
export async function send(url: string, skill: string, given: object = {}): Promise<Task> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data: { skill, arguments: given } }] };
  const { task } = await call<{ readonly task: Task }>(url, 'SendMessage', {
    ...{ message, configuration: { returnImmediately: true } },
  });
  return task;
}

export async function getTask(url: string, id: string): Promise<Task> {
  return call<Task>(url, 'GetTask', { id });
}

/** Calls an MCP tool, and returns the id of the task if it answers with one. */
export async function callTool(url: string, name: string): Promise<string | undefined> {
  return (await callMcp<{ readonly taskId?: string }>(url, 'tools/call', name, { name, arguments: {} })).taskId;
}

export async function getMcpTask(url: string, taskId: string): Promise<void> {
  await callMcp(url, 'tasks/get', taskId, { taskId });
}

async function callMcp<Result>(url: string, method: string, name: string, params: object): Promise<Result> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': mcpVersion,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const { body } = await request(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...{ 'mcp-protocol-version': mcpVersion, 'mcp-method': method, 'mcp-name': name },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    dispatcher,
  });
  const text = await body.text();
  // The SDK may answer with a stream of one message.
  return resultOf(method, JSON.parse(/^data:(.*)$/m.exec(text)?.[1] ?? text) as Reply) as Result;
}

async function call<Result>(url: string, method: string, params: object): Promise<Result> {
  const { body } = await post(url, method, params);
  return resultOf(method, (await body.json()) as Reply) as Result;
}

function resultOf(method: string, { result, error }: Reply): object {
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result ?? {};
}

function post(url: string, method: string, params: object, signal?: AbortSignal) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return request(`${url}/a2a`, { method: 'POST', headers, body, dispatcher, signal: signal ?? null });
}

/** Yields the events of a task until its stream ends or `signal` is aborted. */
export async function* subscribe(url: string, id: string, signal: AbortSignal): AsyncGenerator<StreamEvent> {
  const { body } = await post(url, 'SubscribeToTask', { id }, signal);
  let rest = '';
  for await (const bytes of body as AsyncIterable<Buffer>) {
    const blocks = (rest + bytes.toString('utf8')).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data:(.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield (JSON.parse(data) as Reply).result as StreamEvent;
    }
  }
}
