// A program, run with --expose-gc: takes workflows to their ends against servers that misbehave before they answer
// correctly, and prints as JSON the outcomes, what was led astray, and the memory that was left behind.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { turnTimeoutMs } from '../../lib/base/limits.js';
import { handleWork } from '../../lib/operations/sweep/handle-work.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import type { TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import { GuardedHttpClient, type HttpClient } from '../../lib/remote/http/http.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { a2aAgent, defineApp, mcpServer, type ServerConfig } from '../../lib/workflow/app.js';
import type { RemoteCall } from '../../lib/workflow/context.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { type Asked, type Deed, deeds } from '../support/hostile/deeds.js';
import { createEngineDeps } from './engine-deps.js';

export interface HostileReport {
  readonly runs: readonly {
    readonly name: string;
    readonly outcome: unknown;
    readonly reads: number;
    readonly starts: number;
  }[];
  /** Connections to a server that nothing may be led to. */
  readonly trapped: number;
  /** Growth of the heap after everything, compared with after the first few. */
  readonly grownBytes: number;
  readonly polluted: boolean;
}

interface Protocol {
  readonly name: 'MCP' | 'A2A';
  readonly config: (url: string) => ServerConfig;
  readonly call: RemoteCall;
  readonly startMethod: string;
  readonly task: (id: string, state: 'working' | 'done') => object;
  readonly started: object;
}

const mcpTask = (taskId: string, state: 'working' | 'done'): object =>
  state === 'working'
    ? { resultType: 'complete', taskId, status: 'working' }
    : { resultType: 'complete', taskId, status: 'completed', result: { content: [{ type: 'text', text: 'right' }] } };
const a2aTask = (id: string, state: 'working' | 'done'): object => ({
  id,
  contextId: 'c1',
  status: { state: state === 'working' ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED' },
  ...(state === 'done' ? { artifacts: [{ artifactId: 'a', parts: [{ text: 'right' }] }] } : {}),
});

const protocols: readonly Protocol[] = [
  {
    name: 'MCP',
    config: (url) => mcpServer({ url, dedupes: true, protocolVersion: '2026-07-28', limits: { breaker: false } }),
    call: { server: 'remote', tool: 'export', arguments: {}, timeout: { hours: 6 } },
    startMethod: 'tools/call',
    task: mcpTask,
    started: { resultType: 'task', taskId: 't1', status: 'working', createdAt: '2026-11-29T10:00:00Z', ttlMs: null },
  },
  {
    name: 'A2A',
    config: (url) => a2aAgent({ url, dedupes: true, limits: { breaker: false } }),
    call: { server: 'remote', skill: 'quote', arguments: {}, timeout: { hours: 6 } },
    startMethod: 'SendMessage',
    task: a2aTask,
    started: { task: a2aTask('t1', 'working') },
  },
];

interface Listener {
  readonly url: string;
  readonly connections: () => number;
  readonly close: () => void;
}

async function listen(answer: (method: string, id: string, response: ServerResponse) => void): Promise<Listener> {
  let connections = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => (text += piece.toString()));
    request.on('end', () => {
      const { method, id } = JSON.parse(text === '' ? '{}' : text) as { method: string; id: string };
      answer(method, id, response);
    });
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc`,
    connections: () => connections,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Takes one run to its end on a clock of its own. */
async function runToEnd(protocol: Protocol, url: string, http: HttpClient): Promise<unknown> {
  let nowMs = Date.UTC(2026, 10, 29, 10);
  const workflow = defineWorkflow({
    name: 'calls',
    run: async (ctx) => (await ctx.callRemoteTask(protocol.call)).result,
  });
  const deps = createEngineDeps({
    app: defineApp({ workflows: [workflow], servers: { remote: protocol.config(url) } }),
    table: new MemoryTable(),
    clock: { nowMs: () => nowMs },
    http,
  });
  const { runId } = await startRun(deps, { workflow: 'calls' });
  const { turn, work } = deps.queues;
  for (let round = 0; round < 1_000; round++) {
    for (const { body, receiptHandle } of turn.receive(10)) {
      await runTurn(deps, JSON.parse(body) as TurnMessage, { remainingMs: () => turnTimeoutMs });
      turn.deleteMessage(receiptHandle);
    }
    for (const { body, receiptHandle } of work.receive(10)) {
      await handleWork(deps, JSON.parse(body) as WorkMessage);
      work.deleteMessage(receiptHandle);
    }
    const head = await deps.store.heads.read(runId);
    if (head?.endedAtMs !== undefined) {
      const { commits } = (await deps.store.runs.read(runId))!;
      const ending = commits.flatMap(({ events }) => events).find((event) => event.type === 'RunEnding');
      return ending?.type === 'RunEnding' ? ending.outcome : undefined;
    }
    nowMs = Math.max(nowMs, deps.queues.nextChangeAtMs() ?? nowMs + 60_000);
  }
  return 'never ended';
}

const runs: HostileReport['runs'][number][] = [];
const trap = await listen((_method, _id, response) => void response.end());
const http = new GuardedHttpClient({ allowLoopback: true });
/** Timeout of a request that the server will not answer correctly. A correct answer has the usual time. */
const badAnswerMs = 150;

async function misbehaveOn(kind: 'start' | 'read', protocol: Protocol, deed: Deed): Promise<void> {
  let starts = 0;
  let reads = 0;
  const isBad = (isStart: boolean, count: number): boolean => isStart === (kind === 'start') && count <= 2;
  const server = await listen((method, id, response) => {
    const isStart = method === protocol.startMethod;
    const count = isStart ? ++starts : ++reads;
    const good = isStart ? protocol.started : protocol.task('t1', 'done');
    const asked: Asked = {
      id,
      good,
      forged: protocol.task('t2', 'done'),
      earlier: protocol.task('t1', 'working'),
      trap: trap.url,
    };
    if (isBad(isStart, count)) deed.answer(asked, response);
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: good }));
  });
  const send: HttpClient['send'] = (request) => {
    const isStart = request.body?.includes(`"${protocol.startMethod}"`) ?? false;
    const timeoutMs = isBad(isStart, (isStart ? starts : reads) + 1) ? badAnswerMs : undefined;
    return http.send(timeoutMs === undefined ? request : { ...request, timeoutMs });
  };
  const outcome = await runToEnd(protocol, server.url, { send });
  runs.push({ name: `${protocol.name}: ${deed.name} to a ${kind}`, outcome, reads, starts });
  server.close();
}

/** Resolves the name to another forbidden address at each look-up. */
const rebinding = (asked: () => void): LookupFunction => {
  const places = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fd00::1', '100.64.0.1'];
  let count = 0;
  return (_hostname, _options, callback) => {
    asked();
    const address = places[count++ % places.length] ?? '127.0.0.1';
    callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
  };
};

function heapBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

let firstBytes = 0;
for (const round of [1, 2]) {
  for (const protocol of protocols)
    for (const deed of deeds) {
      await misbehaveOn('read', protocol, deed);
      // These two are correct answers to a start, of a task that ends differently.
      if (round === 1 && deed.name !== 'a forged task' && deed.name !== 'a state from before')
        await misbehaveOn('start', protocol, deed);
    }
  if (round === 1) firstBytes = heapBytes();
}
for (const protocol of protocols) {
  let lookups = 0;
  const outside = new GuardedHttpClient({ lookup: rebinding(() => lookups++) });
  const { port } = new URL(trap.url);
  const outcome = await runToEnd(protocol, `https://rebound.example:${port}/rpc`, outside);
  runs.push({ name: `${protocol.name}: a name that rebinds`, outcome, reads: 0, starts: lookups });
  await outside.close();
}
const report: HostileReport = {
  runs,
  trapped: trap.connections(),
  grownBytes: heapBytes() - firstBytes,
  polluted: 'polluted' in {},
};
await new Promise((resolve) => process.stdout.write(JSON.stringify(report), resolve));
process.exit(0);
