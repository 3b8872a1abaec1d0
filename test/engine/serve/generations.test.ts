import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../../../lib/base/caller.js';
import type { ServedTask } from '../../../lib/serve/task/served-task.js';
import { storedError } from '../../../lib/base/errors.js';
import type { JsonObject } from '../../../lib/base/json.js';
import { silentLog } from '../../../lib/base/log.js';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import { A2aTransport } from '../../../lib/remote/a2a/a2a-transport.js';
import type { HttpReply, HttpRequest } from '../../../lib/remote/http/http.js';
import type { RemoteQuestion } from '../../../lib/remote/transport.js';
import { createA2aRoutes } from '../../../lib/serve/a2a/routes.js';
import type { Tasks } from '../../../lib/serve/tasks.js';
import { a2aAgent } from '../../../lib/workflow/app.js';
import type { ServeConfig } from '../../../lib/workflow/serve.js';
import { transportDeps } from '../../unit/remote/loopback.js';

const ann: Caller = { id: 'ann', roles: ['call'] };
const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'd', url: 'https://desk.example' },
  skills: { flow: { description: 'f' } },
};

/** What happens to a message of ours on its way to the agent, the first time. */
type OnTheWay = () => Promise<'lost reply' | undefined>;

/** An agent of ours with one task, and a client of ours that sends its requests through the test. */
class Agent {
  readonly app: TestApp;
  readonly tasks: Tasks;
  readonly transport: A2aTransport;
  readonly requests: (HttpRequest & { readonly status: number })[] = [];
  onTheWay: OnTheWay | undefined;
  taskId = '';

  constructor(
    run: (ctx: WorkflowContext) => Promise<unknown>,
    interfaceOf: 'JSONRPC 1.0' | 'JSONRPC 0.3' | 'HTTP+JSON 1.0',
  ) {
    this.app = createTestApp(defineApp({ workflows: [defineWorkflow({ name: 'flow', run })] }));
    const { deps } = this.app;
    this.tasks = createTasks({ ...deps, caller: ann }, serve);
    const routes = createA2aRoutes({
      ...{ serve, workflows: deps.app.workflows, pushes: false, clock: deps.clock, log: silentLog },
      admit: () => ({ tasks: this.tasks }),
    });
    const http = { send: async (request: HttpRequest) => this.#send(request, async (asked) => routes.fetch(asked)) };
    const [binding = '', version = ''] = interfaceOf.split(' ');
    const url = `https://desk.example/a2a${binding === 'JSONRPC' ? '' : '/rest'}`;
    const sequence = { uri: 'https://outwait.dev/a2a/extensions/sequence/v1' };
    const card = {
      name: 'Desk',
      supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: version }],
      capabilities: { extensions: [sequence] },
    };
    this.transport = new A2aTransport('desk', a2aAgent({ card }), transportDeps(http));
  }

  async #send(request: HttpRequest, fetch: (asked: Request) => Promise<Response> | Response): Promise<HttpReply> {
    const isAnswer = /SendMessage|message\/send/.test(request.body ?? '') || request.url.endsWith('message:send');
    const happens = isAnswer ? this.onTheWay : undefined;
    if (happens !== undefined) this.onTheWay = undefined;
    const isLost = (await happens?.()) === 'lost reply';
    const { method = 'POST', url, headers, body = null } = request;
    const response = await fetch(new Request(url, { method, headers, body }));
    this.requests.push({ ...request, status: response.status });
    if (isLost) return { kind: 'no_answer', error: storedError('REMOTE_UNREACHABLE', 'reset') };
    const text = await response.text();
    return { kind: 'reply', status: response.status, headers: Object.fromEntries(response.headers), text };
  }

  async start(): Promise<void> {
    const message = { messageId: 'm1', role: 'user', parts: [{ text: 'go' }] } as const;
    this.taskId = (await this.tasks.send({ message, skill: 'flow', arguments: {} })).taskId;
    await this.app.settleDown();
  }

  get handle(): RemoteTaskHandle {
    return { server: 'desk', protocol: 'a2a', wire: '1.0', taskId: this.taskId };
  }

  async question(): Promise<RemoteQuestion> {
    const reply = await this.transport.get(this.handle);
    if (reply.kind !== 'working' || reply.questions?.[0] === undefined) throw new Error('the task asks nothing');
    return reply.questions[0];
  }

  async answer(question: RemoteQuestion, text: string) {
    const answered = await this.transport.answer(this.handle, question, { action: 'accept', content: { text } }, text);
    await this.app.settleDown();
    return answered;
  }

  /** Generations that messages of ours have named. */
  get named(): readonly unknown[] {
    return this.requests.flatMap(({ body = '{}', url }) => {
      const parsed = JSON.parse(body) as { params?: JsonObject } & JsonObject;
      const { configuration } = (url.endsWith('message:send') ? parsed : (parsed.params ?? {})) as {
        configuration?: JsonObject;
      };
      return configuration === undefined ? [] : [configuration['ifGenerationMatch']];
    });
  }
}

/** Asks until it was answered twice, and reports progress when it is signalled. */
const talkative = async (ctx: WorkflowContext): Promise<unknown> => {
  void (async () => {
    for (;;) ctx.progress(await ctx.signal('news'));
  })();
  const first = await ctx.ask({ to: 'caller', message: 'First?', timeout: { hours: 1 } }).catch(() => 'no answer');
  const second = await ctx.ask({ to: 'caller', message: 'Second?' });
  return { first, second };
};

describe.each(['JSONRPC 1.0', 'JSONRPC 0.3', 'HTTP+JSON 1.0'] as const)('CF-13: an answer over %s', (interfaceOf) => {
  let agent: Agent;
  beforeEach(async () => {
    agent = new Agent(talkative, interfaceOf);
    await agent.start();
  });
  const messages = async () => (await agent.tasks.read(agent.taskId)).history.map(({ messageId }) => messageId).length;

  it('names the generation that was read with its question', async () => {
    const question = await agent.question();
    expect(await agent.answer(question, 'a')).toEqual({ kind: 'done' });
    expect(agent.named).toEqual(['3']);
    expect((await agent.question()).message).toBe('Second?');
  });

  it('is sent again, with the later generation, if the task has only gone on meanwhile', async () => {
    const question = await agent.question();
    agent.onTheWay = async () => {
      await agent.app.signal(agent.taskId, 'news', 'half');
      await agent.app.settleDown();
      return undefined;
    };
    expect(await agent.answer(question, 'a')).toEqual({ kind: 'done' });
    expect(agent.named).toEqual(['3', '4']);
    const second = await agent.question();
    expect(second.message).toBe('Second?');
    await agent.answer(second, 'b');
    const { artifacts } = await agent.tasks.read(agent.taskId);
    expect(artifacts[0]?.parts).toMatchObject([
      { data: { first: { content: { text: 'a' } }, second: { content: { text: 'b' } } } },
    ]);
  });

  it('is not given to the next question, which was asked meanwhile', async () => {
    const question = await agent.question();
    agent.onTheWay = async () => {
      await agent.app.pass({ hours: 2 });
      return undefined;
    };
    expect(await agent.answer(question, 'a')).toEqual({ kind: 'done' });
    const { status } = await agent.tasks.read(agent.taskId);
    expect(status.state).toBe('input-required');
    expect(status.message?.parts).toEqual([{ text: 'Second?' }]);
    expect(agent.named).toHaveLength(1);
  });

  it('is not given after another answer, whether that was taken in or not', async () => {
    const other = { messageId: 'other', role: 'user', parts: [{ text: 'x' }] } as const;
    const question = await agent.question();
    agent.onTheWay = async () => {
      await agent.tasks.send({ message: other, taskId: agent.taskId });
      return undefined;
    };
    // The read after the mismatch waits for what comes after the generation that was read, so the run must go on.
    const answered = agent.answer(question, 'a');
    await agent.app.pass({ seconds: 30 });
    expect(await answered).toEqual({ kind: 'done' });
    const second = await agent.question();
    expect(second.message).toBe('Second?');
    await agent.answer(second, 'b');
    const { artifacts } = await agent.tasks.read(agent.taskId);
    expect(artifacts[0]?.parts).toMatchObject([{ data: { first: { content: { text: 'x' } } } }]);
  });

  it('is one answer, although the reply to it was lost, and the task has gone on before it was taken in', async () => {
    const question = await agent.question();
    agent.onTheWay = async () => 'lost reply';
    expect(
      await agent.transport.answer(agent.handle, question, { action: 'accept', content: { text: 'a' } }, 'a'),
    ).toMatchObject({
      kind: 'retry',
    });
    // Not taken in yet: the question looks open.
    expect(await agent.answer(question, 'a')).toEqual({ kind: 'done' });
    expect(agent.named).toEqual(['3', '3']);
    expect((await agent.question()).message).toBe('Second?');
    const before = await messages();
    expect(await agent.answer(question, 'a')).toEqual({ kind: 'done' });
    expect(await messages()).toBe(before);
  });
});

describe('CF-13: a read that names a generation', () => {
  it('waits for a later one, and is answered at once if there is one', async () => {
    const agent = new Agent(talkative, 'JSONRPC 1.0');
    await agent.start();
    const { generation } = await agent.tasks.read(agent.taskId);
    const untilMs = agent.app.deps.clock.nowMs() + 25_000;
    const { signal } = new AbortController();
    const beyond = (seen: number) => (task: ServedTask) => task.generation > seen;
    expect(
      (await agent.tasks.waitFor(agent.taskId, { untilMs, signal, until: beyond(generation - 1) })).generation,
    ).toBe(generation);
    const waiting = agent.tasks.waitFor(agent.taskId, { untilMs, signal, until: beyond(generation) });
    await agent.app.signal(agent.taskId, 'news', 'half');
    await agent.app.pass({ seconds: 5 });
    expect((await waiting).generation).toBe(generation + 1);
    const idle = agent.tasks.waitFor(agent.taskId, { untilMs, signal, until: beyond(generation + 1) });
    await agent.app.pass({ seconds: 30 });
    expect((await idle).generation).toBe(generation + 1);
  });
});
