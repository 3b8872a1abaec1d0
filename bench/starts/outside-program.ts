// Everything that is not the engine, as a separate process: agents, and a client that starts runs. In the process of
// the engine, their connections and their garbage would be part of what is measured.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { nowMs, type Order, type Report, type StartOrder } from './messages.js';

interface Rpc {
  readonly id: string;
  readonly method: string;
  readonly params: {
    readonly id?: string;
    readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  };
}

const artifacts = [{ artifactId: 'r', parts: [{ text: 'three rows' }] }];
const calledAtMs = new Map<string, number>();
/** Answers that the patient agent has not given yet. */
const waiting: (() => void)[] = [];
let whenCalled = (): void => undefined;

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  request.on('end', () => {
    answer(request.url, JSON.parse(text) as Rpc, response);
  });
});

/** Answers as the agent of this path: `/task` creates a task, `/answer` ends it at once, `/patient` when it is told. */
function answer(path: string | undefined, { id, method, params }: Rpc, response: ServerResponse): void {
  const key = params.message?.parts[0]?.text ?? '';
  const task = { id: params.id ?? `t-${key}`, contextId: 'c' };
  const ended = { ...task, status: { state: 'TASK_STATE_COMPLETED' }, artifacts };
  const reply = (result: object): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  if (method !== 'SendMessage') {
    reply(ended);
    return;
  }
  calledAtMs.set(key, nowMs());
  if (path === '/patient') waiting.push(reply.bind(undefined, { task: ended }));
  else reply({ task: path === '/task' ? { ...task, status: { state: 'TASK_STATE_WORKING' } } : ended });
  whenCalled();
}

async function startRuns({ count, name, eachMs, ...where }: StartOrder): Promise<void> {
  const keys = Array.from({ length: count }, (_, at) => `${name}-${at}`);
  calledAtMs.clear();
  const allCalled = new Promise<void>((resolve) => {
    whenCalled = () => {
      if (keys.every((key) => calledAtMs.has(key))) resolve();
    };
  });
  const begunAtMs = new Map<string, number>();
  const started: Promise<void>[] = [];
  for (const key of keys) {
    begunAtMs.set(key, nowMs());
    const run = startRun(where, key);
    started.push(run);
    await (eachMs === undefined ? run : delay(eachMs));
  }
  await Promise.all([...started, allCalled]);
  const at = (times: ReadonlyMap<string, number>, key: string): number => times.get(key) ?? NaN;
  report({
    kind: 'started',
    runs: keys.map((key) => ({ key, begunAtMs: at(begunAtMs, key), calledAtMs: at(calledAtMs, key) })),
  });
}

async function startRun({ engine, server: name }: Pick<StartOrder, 'engine' | 'server'>, key: string): Promise<void> {
  const response = await fetch(`${engine}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ workflow: 'calls', input: { server: name, key } }),
  });
  if (!response.ok) throw new Error(`the run was not started: ${response.status}`);
  await response.arrayBuffer();
}

function report(message: Report): void {
  process.send?.(message);
}

process.on('message', (order: Order) => {
  if (order.kind === 'start') void startRuns(order);
  else if (order.kind === 'release') for (const give of waiting.splice(0)) give();
  else report({ kind: 'counted', waiting: waiting.length });
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  report({ kind: 'listening', port: (server.address() as AddressInfo).port });
});
