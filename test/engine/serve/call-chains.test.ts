import { a2aAgent, defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { callChainExtension } from '../../../lib/base/a2a-extensions.js';
import type { Caller } from '../../../lib/base/caller.js';
import { silentLog } from '../../../lib/base/log.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { protectTransports } from '../../../lib/remote/guard/protection.js';
import type { HttpClient } from '../../../lib/remote/http/http.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { createA2aRoutes } from '../../../lib/serve/a2a/routes.js';
import type { ServeConfig, ServeLimits } from '../../../lib/workflow/serve.js';

const ann: Caller = { id: 'ann', roles: ['call'] };
const service: Caller = { id: 'service', roles: ['call'] };
const url = 'https://desk.example.com';

type Run = (ctx: WorkflowContext, input: unknown) => Promise<unknown>;

/** An agent that can call itself, over HTTP in memory. */
function anAgent(
  { ask = async () => null, queued = async (ctx) => ctx.signal('end') }: Partial<Record<'ask' | 'queued', Run>>,
  limits?: ServeLimits,
) {
  const servers = { desk: a2aAgent({ card: url, dedupes: true }) };
  const kit = createTestApp(
    defineApp({
      workflows: [defineWorkflow({ name: 'ask', run: ask }), defineWorkflow({ name: 'queued', run: queued }), child],
      servers,
    }),
  );
  const { deps } = kit as unknown as { readonly deps: Deps };
  const serve: ServeConfig = {
    agent: { name: 'Desk', description: 'Calls itself', url },
    skills: { ask: { description: 'Asks' }, queued: { description: 'Waits', context: 'queue' } },
    ...(limits === undefined ? {} : { limits }),
  };
  const tasks = (caller: Caller) => createTasks({ ...deps, caller }, serve);
  const routes = createA2aRoutes({
    ...{ serve, workflows: deps.app.workflows, clock: deps.clock, log: silentLog, pushes: false },
    admit: () => ({ tasks: tasks(service) }),
  });
  const messages: unknown[] = [];
  const http: HttpClient = {
    async send({ method = 'POST', url: to, headers, body: said, enough }) {
      const body = said === undefined ? undefined : aliased(said);
      const request = new Request(to, { method, headers, ...(body === undefined ? {} : { body }) });
      if (body?.includes('"message"') === true)
        messages.push((JSON.parse(body) as { params: { message: { metadata?: object } } }).params.message.metadata);
      // An end for what should have ended before.
      if (messages.length > 6) return { kind: 'reply', status: 400, headers: {}, text: '' };
      const response = await routes.fetch(request);
      const head = { status: response.status, headers: Object.fromEntries(response.headers) };
      let text = '';
      for await (const piece of response.body!.pipeThrough(
        new TextDecoderStream(),
      ) as unknown as AsyncIterable<string>) {
        const heard = aliased(piece);
        text += heard;
        if (enough?.(head, heard) === true) break;
      }
      return { kind: 'reply', ...head, text };
    },
  };
  const transports = createTransports(servers, { ...deps, http, readSecret: () => undefined });
  Object.assign(deps, {
    transports: protectTransports(transports, () => undefined, { ...deps, states: deps.store.servers }),
  });
  let sent = 0;
  return {
    kit,
    deps,
    tasks,
    messages,
    send: async (skill: string, calls: unknown, contextId?: string) => {
      const metadata = calls === undefined ? {} : { metadata: { [callChainExtension]: calls as never } };
      const message = { messageId: `m${++sent}`, role: 'user', parts: [], ...metadata } as const;
      const given = contextId === undefined ? {} : { contextId };
      return tasks(ann).send({ message, skill, arguments: {}, ...given });
    },
  };
}

const callDesk: Run = async (ctx) => {
  const outcome = await ctx
    .callRemoteTask({ server: 'desk', skill: 'ask', timeout: { hours: 1 } })
    .catch((error: unknown) => ({ data: String(error) }));
  return 'data' in outcome ? outcome.data : outcome;
};

const child = defineWorkflow({ name: 'child', run: callDesk });

/** Gives tasks other ids outside: the ids of our own runs may be in our traces, those of remote tasks may not. */
const aliased = (text: string): string =>
  text.replaceAll(
    /"(id|taskId)":"([0-9a-f]{32})"/g,
    (_, name: string, id: string) => `"${name}":"${id.split('').reverse().join('')}"`,
  );

/** Returns the error of what is to be refused, or what came in its place. */
const refusalOf = (sending: Promise<unknown>): Promise<unknown> => sending.catch((error: unknown) => error);

const lotsOf = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `mark ${at}`);

describe('a chain of calls', () => {
  it('is refused where it would be deeper than the agent allows, before anything is started', async () => {
    const { send, tasks } = anAgent({});
    expect(await send('ask', lotsOf(4))).toMatchObject({ status: { state: 'submitted' } });
    expect(await refusalOf(send('ask', lotsOf(5)))).toMatchObject({
      code: 'INPUT_INVALID',
      message: 'the call has come through 5 agents, and may through 4',
    });
    expect((await tasks(ann).list({ pageSize: 10 })).totalSize).toBe(1);
    const deep = anAgent({}, { depth: 7 });
    expect(await deep.send('ask', lotsOf(6))).toMatchObject({ status: { state: 'submitted' } });
    expect(await refusalOf(deep.send('ask', lotsOf(7)))).toMatchObject({ code: 'INPUT_INVALID' });
  });

  it.each([['no list'], [[7]], [lotsOf(17)], [['x'.repeat(33)]]])('is refused if it is %j', async (calls) => {
    const { send } = anAgent({}, { depth: 16 });
    expect(await refusalOf(send('ask', calls))).toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('of an agent that calls itself ends at its depth, and each call carries those before it', async () => {
    const { kit, send, messages, tasks } = anAgent({ ask: callDesk }, { depth: 3, perMinute: 1_000 });
    const { taskId } = await send('ask', undefined);
    await kit.pass({ hours: 2 });
    const { artifacts, status } = await tasks(ann).read(taskId);
    expect(status.state).toBe('completed');
    expect(JSON.stringify(artifacts)).toContain('the call has come through 3 agents, and may through 2');
    const marks = messages.map(
      (metadata) => (metadata as Record<string, string[]> | undefined)?.[callChainExtension] ?? [],
    );
    expect(marks.map(({ length }) => length)).toEqual([1, 2, 3]);
    expect(marks[2]?.slice(0, 2)).toEqual(marks[1]);
    expect(new Set(marks[2]).size).toBe(3);
  });

  it('goes on through the children of a served run, and through the runs that it continues as', async () => {
    const { kit, send, messages } = anAgent({
      ask: async (ctx, input) => {
        if ((input as { readonly isNext?: boolean }).isNext !== true) return ctx.continueAsNew({ isNext: true });
        return ctx.child(child, {});
      },
    });
    await send('ask', lotsOf(4));
    await kit.pass({ hours: 2 });
    const [first] = messages as (Record<string, readonly string[]> | undefined)[];
    expect(first?.[callChainExtension]?.slice(0, 4)).toEqual(lotsOf(4));
    expect(first?.[callChainExtension]).toHaveLength(5);
  });

  it('is not begun by a run that nobody has called', async () => {
    const { kit, deps, messages } = anAgent({ ask: async () => 'answer' });
    const { runId } = await startRun(deps, { workflow: 'child', input: {} });
    await kit.runToEnd(runId);
    expect(messages).toEqual([undefined]);
  });

  it('that comes back into a context which waits for it is refused instead of queued', async () => {
    const { kit, deps, send } = anAgent({});
    const { taskId, contextId } = await send('queued', lotsOf(1));
    await kit.settleDown();
    const calls = (await deps.store.heads.read(taskId))?.calls;
    expect(await refusalOf(send('queued', calls, contextId))).toMatchObject({
      code: 'INPUT_INVALID',
      message: 'the call comes back into a context that waits for it',
    });
    // Neither another context nor a skill that queues none waits for it.
    expect(await send('queued', calls, 'another')).toMatchObject({ contextId: 'another' });
    expect(await send('ask', calls, contextId)).toMatchObject({ contextId });
    // Nor does the context, once its task has ended.
    await kit.signal(taskId, 'end');
    await kit.settleDown();
    expect(await send('queued', calls, contextId).catch(String)).toMatchObject({ contextId });
  });
});
