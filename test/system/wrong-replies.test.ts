import { afterEach, describe, expect, it } from 'vitest';
import { turnTimeoutMs } from '../../lib/base/limits.js';
import { pollTask, type PollResult } from '../../lib/operations/remote-task/poll-task.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import type { RunHead, TokenRecord } from '../../lib/history/records.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { a2aAgent, defineApp, mcpServer, type ServerConfig } from '../../lib/workflow/app.js';
import type { RemoteCall } from '../../lib/workflow/context.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { type Answer, closeAll, httpClient, json, type Received, result, serve } from '../unit/remote/loopback.js';
import { createEngineDeps } from './engine-deps.js';

afterEach(closeAll);

const startMs = Date.UTC(2026, 10, 29, 10, 0, 0);
const waitId = '1';

interface Protocol {
  readonly name: 'MCP' | 'A2A';
  readonly config: (options: { readonly url: string; readonly dedupes: boolean }) => ServerConfig;
  readonly call: RemoteCall;
  readonly startMethod: string;
  readonly started: object;
  /** Returns a task that has ended, as the answer to a read. */
  readonly ended: (taskId: string) => object;
  /** The outcome of the workflow. */
  readonly outcome: object;
}

const content = [{ type: 'text', text: 'done' }];
const mcp: Protocol = {
  name: 'MCP',
  config: (options) => mcpServer({ ...options, protocolVersion: '2026-07-28' }),
  call: { server: 'remote', tool: 'start_export', arguments: { month: '2026-10' }, timeout: { hours: 6 } },
  startMethod: 'tools/call',
  started: { resultType: 'task', taskId: 't1', status: 'working', createdAt: '2026-11-29T10:00:00Z', ttlMs: null },
  ended: (taskId) => ({ resultType: 'complete', taskId, status: 'completed', result: { content } }),
  outcome: { result: { content }, isError: false, server: 'remote', taskId: 't1' },
};

const artifacts = [{ artifactId: 'quote', parts: [{ data: { totalCents: 750 } }] }];
const a2a: Protocol = {
  name: 'A2A',
  config: a2aAgent,
  call: { server: 'remote', skill: 'quote', arguments: { article: 'gear' }, timeout: { hours: 6 } },
  startMethod: 'SendMessage',
  started: { task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } } },
  ended: (taskId) => ({ id: taskId, contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' }, artifacts }),
  outcome: {
    result: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' }, artifacts },
    isError: false,
    server: 'remote',
    taskId: 't1',
  },
};

/** A run that calls one server, which answers as the test says; the clock stands still unless it is moved. */
interface World {
  readonly protocol: Protocol;
  readonly requests: readonly Received[];
  answer: Answer;
  /** Whether requests time out after 50 ms in place of 30 s. */
  impatient: boolean;
  moveTo(sinceStartMs: number): void;
  turn(): Promise<void>;
  poll(dueSinceStartMs: number): Promise<PollResult>;
  token(): Promise<TokenRecord | undefined>;
  head(): Promise<RunHead>;
  /** Returns the fields of every event so far that tell the story. */
  history(): Promise<readonly object[]>;
  /** Returns when the next message is visible; a turn is requested at once. */
  nextMessage(): { readonly turns: number; readonly workSinceStartMs: number | undefined };
}

async function aRun(protocol: Protocol, { dedupes = false } = {}): Promise<World> {
  const server = await serve((request, response) => {
    world.answer(request, response);
  });
  const patient = httpClient();
  const impatient = httpClient({ limits: { totalMs: 50 } });
  let nowMs = startMs;
  const workflow = defineWorkflow({ name: 'calls', run: (ctx) => ctx.callRemoteTask(protocol.call) });
  const deps = createEngineDeps({
    app: defineApp({ workflows: [workflow], servers: { remote: protocol.config({ url: server.url, dedupes }) } }),
    table: new MemoryTable(),
    clock: { nowMs: () => nowMs },
    http: { send: (request) => (world.impatient ? impatient : patient).send(request) },
  });
  const { store, queues } = deps;
  const { runId } = await startRun(deps, { workflow: 'calls' });
  for (const { receiptHandle } of queues.turn.receive(10)) queues.turn.deleteMessage(receiptHandle);

  const world: World = {
    protocol,
    requests: server.received,
    answer: right(protocol),
    impatient: false,
    moveTo: (sinceStartMs) => {
      nowMs = startMs + sinceStartMs;
    },
    turn: () => runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs }),
    poll: (dueSinceStartMs) => {
      for (const { receiptHandle } of queues.work.receive(10)) queues.work.deleteMessage(receiptHandle);
      return pollTask(deps, { kind: 'poll', runId, waitId, dueAtMs: startMs + dueSinceStartMs });
    },
    token: () => store.tokens.read(runId, waitId),
    head: async () => (await store.heads.read(runId))!,
    history: async () => {
      const { commits } = (await store.runs.read(runId))!;
      return commits.flatMap(({ events }) =>
        events.map((event) => ({
          type: event.type,
          ...('attempt' in event ? { attempt: event.attempt } : {}),
          ...('outcome' in event ? { outcome: event.outcome } : {}),
        })),
      );
    },
    nextMessage: () => {
      const workAtMs = queues.work.nextChangeAtMs();
      return {
        turns: queues.turn.size,
        workSinceStartMs: workAtMs === undefined ? undefined : workAtMs - startMs,
      };
    },
  };
  return world;
}

function right(protocol: Protocol): Answer {
  return (request, response) => {
    const isStart = request.body.method === protocol.startMethod;
    result(response, request, isStart ? protocol.started : protocol.ended('t1'));
  };
}

/** A reply that is wrong in one way and otherwise correct: `good` is the correct result of the request. */
interface WrongReply {
  readonly name: string;
  readonly answer: (good: object, world: World) => Answer | Promise<Answer>;
  readonly hangs?: boolean;
}

const wrongReplies: readonly WrongReply[] = [
  {
    name: 'the id of another request',
    answer: (good) => (request, response) => {
      json(response, { jsonrpc: '2.0', id: `${request.body.id}0`, result: good });
    },
  },
  {
    name: 'no jsonrpc',
    answer: (good) => (request, response) => {
      json(response, { id: request.body.id, result: good });
    },
  },
  {
    name: 'HTML with 200',
    answer: () => (_request, response) => {
      json(response, '<html><body>Sign in</body></html>', 200, { 'content-type': 'text/html' });
    },
  },
  {
    name: 'a body of 5 MiB',
    answer: (good) => (request, response) => {
      result(response, request, { ...good, padding: 'x'.repeat(5 * 1024 * 1024) });
    },
  },
  {
    name: 'a body that is cut',
    answer: (good) => (request, response) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: request.body.id, result: good });
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
      response.write(text.slice(0, -1), () => response.socket?.destroy());
    },
  },
  { name: 'no answer', answer: () => () => undefined, hangs: true },
];

/** An answer to our request that cannot be stored. */
const tooDeep: WrongReply = {
  name: 'JSON of 5,000 levels',
  answer: (good) => (request, response) => {
    const deep = '['.repeat(5_000) + ']'.repeat(5_000);
    const text = JSON.stringify({ jsonrpc: '2.0', id: request.body.id, result: { ...good, deep: 0 } });
    json(response, text.replace('"deep":0', `"deep":${deep}`));
  },
};

const redirect: WrongReply = {
  name: 'a redirect',
  answer: async (_good, { protocol }) => {
    const target = await serve(right(protocol));
    return (_request, response) => {
      response.writeHead(307, { location: target.url }).end();
    };
  },
};
const wrongReads = (protocol: Protocol): readonly WrongReply[] => [
  ...wrongReplies,
  tooDeep,
  redirect,
  {
    name: 'the state of another task',
    answer: () => (request, response) => {
      result(response, request, protocol.ended('t2'));
    },
  },
];
const wrongMcpReads: readonly WrongReply[] = [
  {
    name: 'an unknown state',
    answer: (good) => (request, response) => {
      result(response, request, { ...good, status: 'finished' });
    },
  },
  {
    name: 'an unknown resultType',
    answer: (good) => (request, response) => {
      result(response, request, { ...good, resultType: 'surprise' });
    },
  },
  {
    name: 'a completed task without a result',
    answer: (good) => (request, response) => {
      result(response, request, { ...good, result: undefined });
    },
  },
];

const readCases = [
  ...wrongReads(mcp).map((wrong) => [mcp, wrong] as const),
  ...wrongMcpReads.map((wrong) => [mcp, wrong] as const),
  ...wrongReads(a2a).map((wrong) => [a2a, wrong] as const),
].map(titled);

function titled([protocol, wrong]: readonly [Protocol, WrongReply]): readonly [string, Protocol, WrongReply] {
  return [`${protocol.name}: ${wrong.name}`, protocol, wrong];
}

const startCases = [mcp, a2a]
  .flatMap((protocol) => wrongReplies.map((wrong) => [protocol, wrong] as const))
  .concat([
    [
      mcp,
      {
        name: 'an unknown resultType',
        answer: (good) => (request, response) => {
          result(response, request, { ...good, resultType: 'surprise' });
        },
      },
    ],
    [
      a2a,
      {
        name: 'neither task nor message',
        answer: () => (request, response) => {
          result(response, request, { ok: true });
        },
      },
    ],
  ])
  .map(titled);

async function misbehave(world: World, wrong: WrongReply, good: object): Promise<void> {
  world.answer = await wrong.answer(good, world);
  world.impatient = wrong.hangs ?? false;
}

function behave(world: World): void {
  world.answer = right(world.protocol);
  world.impatient = false;
}

describe('a wrong reply to a read', () => {
  it.each(readCases)(
    'S0-43, K6, K7: %s: settles nothing, backs off, and gives way to a right one',
    async (_title, protocol, wrong) => {
      const world = await aRun(protocol);
      await world.turn();
      const { handle } = (await world.token())!;

      await misbehave(world, wrong, protocol.ended('t1'));
      // The first read comes after 5 s; then the interval doubles with each failure.
      for (const [dueMs, pollErrors, nextMs] of [
        [5_000, 1, 15_000],
        [15_000, 2, 35_000],
      ] as const) {
        world.moveTo(dueMs);
        const requests = world.requests.length;
        expect(await world.poll(dueMs)).toBe('failed');
        expect(world.requests.length - requests).toBe(1);
        const token = (await world.token())!;
        expect(token).toMatchObject({ handle, pollErrors, dueAtMs: startMs + nextMs });
        expect(token.settlement).toBeUndefined();
        expect(world.nextMessage()).toEqual({ turns: 0, workSinceStartMs: nextMs });
      }
      await world.turn();
      expect((await world.head()).status).toBe('running');

      behave(world);
      world.moveTo(35_000);
      expect(await world.poll(35_000)).toBe('settled');
      await world.turn();
      expect((await world.history()).slice(-2)).toEqual([
        { type: 'RunEnding', outcome: { status: 'completed', result: protocol.outcome } },
        { type: 'RunEnded' },
      ]);
    },
  );

  it('S0-43: a redirect is not followed', async () => {
    const world = await aRun(mcp);
    await world.turn();
    const target = await serve(right(mcp));
    world.answer = (_request, response) => {
      response.writeHead(302, { location: target.url }).end();
    };
    world.moveTo(5_000);
    expect(await world.poll(5_000)).toBe('failed');
    expect(target.connections()).toBe(0);
  });

  it('K6: an unknown A2A state is neither an end nor a failure', async () => {
    const world = await aRun(a2a);
    await world.turn();
    world.answer = (request, response) => {
      result(response, request, { ...a2a.ended('t1'), status: { state: 'TASK_STATE_FINISHED' } });
    };
    world.moveTo(5_000);
    expect(await world.poll(5_000)).toBe('working');
    const token = (await world.token())!;
    expect([token.settlement, token.pollErrors]).toEqual([undefined, 0]);
  });
});

describe('a wrong reply to a start', () => {
  it.each(
    [mcp, a2a].flatMap((protocol) => [false, true].map((dedupes) => ({ name: protocol.name, protocol, dedupes }))),
  )(
    'F10: $name: JSON of 5,000 levels ends the call, after one request, dedupes: $dedupes',
    async ({ protocol, dedupes }) => {
      const world = await aRun(protocol, { dedupes });
      await misbehave(world, tooDeep, protocol.started);
      await world.turn();

      const { settlement } = (await world.token())!;
      expect(settlement?.outcome).toMatchObject({ kind: 'failed', error: { code: 'PAYLOAD_TOO_LARGE' } });
      expect(world.requests).toHaveLength(1);
    },
  );

  it.each(startCases)(
    'S0-14: %s: towards a server that does not dedupe the call fails as ambiguous, after one start',
    async (_title, protocol, wrong) => {
      const world = await aRun(protocol);
      await misbehave(world, wrong, protocol.started);
      await world.turn();
      // The agent is asked for the task of that start, and answers these questions as it did the start.
      for (const lookAtMs of protocol === a2a ? [2_000, 10_000, 40_000] : []) {
        expect((await world.token())?.settlement).toBeUndefined();
        world.moveTo(lookAtMs);
        await world.turn();
      }

      const looks = protocol === a2a ? Array.from({ length: 3 }, () => ({ type: 'RemoteTaskStartLost' })) : [];
      expect(await world.history()).toMatchObject([
        { type: 'RunStarted' },
        { type: 'RemoteTaskRequested' },
        ...looks,
        { type: 'TokenSettled' },
        { type: 'RunEnding', outcome: { status: 'failed', error: { code: 'REMOTE_START_AMBIGUOUS' } } },
        { type: 'RunEnded' },
      ]);
      expect(world.requests.filter(({ body }) => body.method === protocol.startMethod)).toHaveLength(1);
    },
  );

  it.each(startCases)(
    'S0-14: %s: towards a server that dedupes the start is repeated with the same key',
    async (_title, protocol, wrong) => {
      const world = await aRun(protocol, { dedupes: true });
      await misbehave(world, wrong, protocol.started);
      await world.turn();
      const token = (await world.token())!;
      expect([token.settlement, token.handle]).toEqual([undefined, undefined]);
      expect(world.nextMessage()).toEqual({ turns: 0, workSinceStartMs: 1_000 });

      behave(world);
      world.moveTo(1_000);
      await world.turn();
      expect((await world.token())?.handle?.taskId).toBe('t1');
      world.moveTo(6_000);
      expect(await world.poll(6_000)).toBe('settled');
      await world.turn();
      expect(await world.history()).toEqual([
        { type: 'RunStarted' },
        { type: 'RemoteTaskRequested' },
        { type: 'RemoteTaskStartFailed', attempt: 1 },
        { type: 'RemoteTaskStarted' },
        { type: 'TokenSettled' },
        { type: 'RunEnding', outcome: { status: 'completed', result: protocol.outcome } },
        { type: 'RunEnded' },
      ]);
      const starts = world.requests.filter(({ body }) => body.method === protocol.startMethod);
      const keys = starts.map(({ headers }) => headers['idempotency-key']);
      expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{40}$/), keys[0]]);
      expect(starts[0]!.body.id).not.toBe(starts[1]!.body.id);
    },
  );

  it.each([
    ['MCP', false, mcp],
    ['MCP', true, mcp],
    ['A2A', false, a2a],
    ['A2A', true, a2a],
  ] as const)('%s: a redirect is a refusal (dedupes: %s), and is not followed', async (_name, dedupes, protocol) => {
    const world = await aRun(protocol, { dedupes });
    const target = await serve(right(protocol));
    world.answer = (_request, response) => {
      response.writeHead(308, { location: target.url }).end();
    };
    await world.turn();
    const error = expect.objectContaining({ code: 'REMOTE_START_REFUSED' }) as unknown;
    expect((await world.history()).at(-2)).toEqual({ type: 'RunEnding', outcome: { status: 'failed', error } });
    expect(world.requests).toHaveLength(1);
    expect(target.connections()).toBe(0);
  });

  it.each([
    ['MCP', mcp, { ...mcp.started, status: 'finished' }],
    ['A2A', a2a, { task: { id: 't1', status: { state: 'TASK_STATE_FINISHED' } } }],
  ] as const)(
    'K6: %s: a started task in an unknown state is read again, not believed',
    async (_name, protocol, started) => {
      const world = await aRun(protocol);
      world.answer = (request, response) => {
        result(response, request, started);
      };
      await world.turn();
      const token = (await world.token())!;
      expect([token.handle?.taskId, token.settlement, token.dueAtMs]).toEqual(['t1', undefined, startMs + 5_000]);
    },
  );
});
