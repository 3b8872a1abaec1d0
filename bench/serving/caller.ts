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

async function call<Result>(url: string, method: string, params: object): Promise<Result> {
  const { body } = await post(url, method, params);
  const { result, error } = (await body.json()) as Reply;
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result as Result;
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
