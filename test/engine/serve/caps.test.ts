import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { ConflictingTable } from '../../../bench/conflicting-table.js';
import { CountingTable } from '../../../bench/counting-table.js';
import type { Caller } from '../../../lib/base/caller.js';
import { silentLog } from '../../../lib/base/log.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { createA2aRoutes } from '../../../lib/serve/a2a/routes.js';
import type { SendRequest, Tasks } from '../../../lib/serve/tasks.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import type { Table } from '../../../lib/store/table.js';
import type { ServeConfig, ServeLimits } from '../../../lib/workflow/serve.js';
import { driven } from './driven.js';

const ann: Caller = { id: 'ann', roles: ['call'] };
const bob: Caller = { id: 'bob', roles: ['call'] };

interface Served {
  readonly app: TestApp;
  readonly deps: Deps;
  readonly tasks: (caller?: Caller) => Tasks;
  /** Sends a message that starts a task of the skill, and returns its id, or why it was refused. */
  readonly start: (more?: Partial<SendRequest>, caller?: Caller) => Promise<string>;
  /** Lets the tasks that wait for the signal end. */
  readonly end: (taskId: string) => Promise<void>;
  readonly configure: (serve: Partial<ServeConfig>) => void;
}

type Run = (ctx: WorkflowContext, input: unknown) => Promise<unknown>;

function served(
  limits: ServeLimits | undefined,
  { run = async (ctx) => ctx.signal('end'), table = () => new MemoryTable() }: Options = {},
): Served {
  const app = createTestApp(
    defineApp({
      workflows: [defineWorkflow({ name: 'report', run }), defineWorkflow({ name: 'chat', run })],
    }),
  );
  const { deps } = app as unknown as { readonly deps: Deps };
  Object.assign(deps, { store: new RunStore(table(deps)) });
  let serve = configOf({ ...(limits === undefined ? {} : { limits }) });
  let messages = 0;
  const tasks = (caller: Caller = ann) => createTasks({ ...deps, caller }, serve);
  return {
    ...{ app, deps, tasks },
    start: async (more = {}, caller = ann) => {
      const message = { messageId: `m${++messages}`, role: 'user', parts: [] } as const;
      try {
        return (await tasks(caller).send({ message, skill: 'report', arguments: {}, ...more })).taskId;
      } catch (error) {
        const { code, details } = error as { code?: string; details?: { limit?: string; retryAfterMs?: number } };
        return `${code ?? String(error)} ${details?.limit ?? ''}`;
      }
    },
    end: async (taskId) => {
      await app.signal(taskId, 'end');
      await app.settleDown();
    },
    configure: (more) => {
      serve = configOf(more);
    },
  };
}

interface Options {
  readonly run?: Run;
  readonly table?: (deps: Deps) => Table;
}

function configOf(more: Partial<ServeConfig>): ServeConfig {
  return {
    agent: { name: 'Desk', description: 'Does things' },
    skills: { report: { description: 'Writes a report' }, chat: { description: 'Talks', context: 'queue' } },
    ...more,
  };
}

const isTask = (answer: string): boolean => /^[0-9a-f]{32}$/.test(answer);

describe('served tasks under caps', () => {
  it('are started by one put where there is neither a cap nor a context', async () => {
    const table = new CountingTable(new MemoryTable());
    const { start } = served(undefined, { table: () => table });
    expect(isTask(await start())).toBe(true);
    expect([table.writes, table.take().reads]).toEqual([1, 0]);
  });

  it('are refused while as many of the caller are under way, before anything is written', async () => {
    const table = new MemoryTable();
    const { app, start, end } = served({ maxLive: 2 }, { table: () => table });
    const first = await start();
    expect(isTask(await start())).toBe(true);
    expect(await start()).toBe('TOO_MANY_REQUESTS maxLive');
    expect(isTask(await start({}, bob))).toBe(true);
    await app.settleDown();
    await end(first);
    expect(isTask(await start())).toBe(true);
    expect(await start()).toBe('TOO_MANY_REQUESTS maxLive');
  });

  it('count once, whatever their end is, and one that goes on as another run stays counted', async () => {
    const { app, start, tasks, end } = served(
      { maxLive: 1 },
      { run: async (ctx, input) => ((await ctx.signal('end')) === 'again' ? ctx.continueAsNew(input) : 'done') },
    );
    const first = await start();
    await app.settleDown();
    await app.signal(first, 'end', 'again');
    await app.settleDown();
    expect(await start()).toBe('TOO_MANY_REQUESTS maxLive');
    await end(first);
    const second = await start();
    expect(isTask(second)).toBe(true);
    await app.settleDown();
    const cancelling = tasks().cancel(second);
    await app.pass({ seconds: 5 });
    await cancelling;
    const third = await start();
    expect(isTask(third)).toBe(true);
    expect(await start()).toBe('TOO_MANY_REQUESTS maxLive');
  });

  it('are released by what their heads name, whatever is configured by then', async () => {
    const { app, start, end, configure } = served({ maxLive: 1 });
    const first = await start();
    await app.settleDown();
    configure({});
    const uncounted = await start();
    await end(first);
    await end(uncounted);
    configure({ limits: { maxLive: 1 } });
    expect(isTask(await start())).toBe(true);
    expect(await start()).toBe('TOO_MANY_REQUESTS maxLive');
  });

  it('are known under their key, whatever refuses the repeat', async () => {
    const { start } = served({ maxLive: 1, perMinute: 1 });
    const first = await start({ key: 'k' });
    expect(isTask(first)).toBe(true);
    expect(await start()).toBe('TOO_MANY_REQUESTS perMinute');
    expect(await start({ key: 'k' })).toBe(first);
  });

  it.each<[string, ServeLimits]>([
    ['maxLive', { maxLive: 1 }],
    ['perMinute', { perMinute: 1 }],
    ['turnsPerContext', { turnsPerContext: 1 }],
  ])('are one under a key that two starts use at once, whatever %s leaves', async (limit, limits) => {
    const { deps, start } = served(limits);
    const { heads } = deps.store;
    const read = heads.read.bind(heads);
    let isFirst = true;
    heads.read = async (runId) => {
      if (!isFirst) return read(runId);
      isFirst = false;
      // The same start is accepted between the look for it and its put.
      expect(isTask(await start({ key: 'k', contextId: 'c' }))).toBe(true);
      return undefined;
    };
    expect(isTask(await start({ key: 'k', contextId: 'c' }))).toBe(true);
    expect(await start({ contextId: 'c' })).toBe(`TOO_MANY_REQUESTS ${limit}`);
  });

  it('are all accepted, and all released, when 200 start and end at once under one cap', async () => {
    const table = new MemoryTable();
    const { app, deps, start } = served(
      { maxLive: 200, perMinute: 1_000 },
      { run: async () => 'done', table: (around) => new ConflictingTable(table, around) },
    );
    const ids = await driven(app, Promise.all(Array.from({ length: 200 }, () => start())));
    expect(ids.filter(isTask)).toHaveLength(200);
    expect(await driven(app, start())).toBe('TOO_MANY_REQUESTS maxLive');
    const remainingMs = () => 60_000;
    await driven(app, Promise.all(ids.map((runId) => runTurn(deps, { runId }, { remainingMs }))));
    const counters = ids.map(async (runId) => (await table.get({ pk: `run#${runId}`, sk: 'a' }))?.['status']);
    expect(new Set(await Promise.all(counters))).toEqual(new Set(['completed']));
    const [counter] = JSON.parse(String((await table.get({ pk: `run#${ids[0] ?? ''}`, sk: 'a' }))?.['counters'])) as [
      string,
    ];
    expect((await table.get({ pk: `served#${counter}`, sk: 'live' }))?.['live']).toBe(0);
  });

  it('are as many of a skill as it allows, of all callers together', async () => {
    const { start, configure } = served(undefined);
    configure({ skills: { report: { description: 'r', maxLive: 1 }, chat: { description: 'c' } } });
    expect(isTask(await start())).toBe(true);
    expect(await start({}, bob)).toBe('TOO_MANY_REQUESTS maxLive');
    expect(isTask(await start({ skill: 'chat' }, bob))).toBe(true);
  });

  it('are as many of a context as it may have, also where they wait for one another', async () => {
    const { start } = served({ turnsPerContext: 2 });
    for (const skill of ['report', 'chat']) {
      const contextId = `context of ${skill}`;
      expect(isTask(await start({ skill, contextId }))).toBe(true);
      expect(isTask(await start({ skill, contextId }))).toBe(true);
      expect(await start({ skill, contextId })).toBe('TOO_MANY_REQUESTS turnsPerContext');
      expect(isTask(await start({ skill, contextId }, bob))).toBe(true);
      expect(isTask(await start({ skill }))).toBe(true);
    }
  });

  it('take one message of the minute each, and so do further messages to them', async () => {
    const { app, tasks, start } = served({ perMinute: 3 });
    const taskId = await start();
    await app.settleDown();
    const message = (messageId: string) => ({ messageId, role: 'user', parts: [{ text: 'more' }] }) as const;
    await tasks().send({ taskId, message: message('a') });
    await tasks().send({ taskId, message: message('b') });
    const refused: unknown = await tasks()
      .send({ taskId, message: message('c') })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      details: { limit: 'perMinute', max: 3, retryAfterMs: 60_000 },
    });
    expect(isTask(await start({}, bob))).toBe(true);
    await app.pass({ minutes: 1 });
    expect(isTask(await start())).toBe(true);
  });

  it('take permits that several processes share, and few writes', async () => {
    const table = new CountingTable(new MemoryTable());
    const { deps, start, tasks, app } = served({ perMinute: 100 }, { table: () => table });
    const taskId = await start();
    await app.settleDown();
    const other = new RunStore(table);
    const stores = [deps.store, other];
    let taken = 1;
    const before = table.writes;
    for (const at of Array.from({ length: 150 }, (_, index) => index)) {
      Object.assign(deps, { store: stores[at % 2] });
      const message = { messageId: `more ${at}`, role: 'user', parts: [] } as const;
      const sent = await tasks()
        .send({ taskId, message })
        .catch(() => undefined);
      if (sent !== undefined) taken++;
    }
    expect(taken).toBe(100);
    // Each message writes twice: its item and the count on the head are one transaction.
    expect(table.writes - before - 99).toBeLessThan(40);
  });

  it('with the defaults are 60 in a minute and 100 of a context', async () => {
    const { start, app } = served({});
    const answers: string[] = [];
    for (let count = 0; count < 101; count++) {
      if (count === 60) {
        expect(await start({ contextId: 'c' })).toBe('TOO_MANY_REQUESTS perMinute');
        await app.pass({ minutes: 1 });
      }
      answers.push(await start({ contextId: 'c' }));
    }
    expect(answers.filter(isTask)).toHaveLength(100);
    expect(answers.at(-1)).toBe('TOO_MANY_REQUESTS turnsPerContext');
  });

  it.each([
    ['JSON-RPC of 1.0', '/a2a', '1.0', rpcOf('SendMessage')],
    ['JSON-RPC of 0.3', '/a2a', '0.3', rpcOf('message/send')],
    ['HTTP+JSON', '/a2a/rest/message:send', '1.0', (params: object) => params],
  ])('that go beyond a cap are answered with 429 over %s, and when to try again', async (_, path, version, bodyOf) => {
    const { deps, tasks } = served({ perMinute: 1 });
    const routes = createA2aRoutes({
      ...{ serve: configOf({}), workflows: deps.app.workflows, clock: deps.clock, log: silentLog, pushes: false },
      admit: () => ({ tasks: tasks() }),
    });
    const send = () => {
      const part = version === '1.0' ? { data: {} } : { kind: 'data', data: {} };
      const more = version === '1.0' ? { role: 'ROLE_USER' } : { role: 'user', kind: 'message' };
      const params = {
        message: { messageId: 'm', parts: [part], ...more },
        configuration: { returnImmediately: true, blocking: false },
      };
      return routes.request(`/agents/report${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': version },
        body: JSON.stringify(bodyOf(params)),
      });
    };
    const first = await send();
    expect([first.status, (await first.json()) as object]).not.toHaveProperty('1.error');
    const refused = await send();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('60');
    const { error } = (await refused.json()) as { error: { code: number; status?: string; message: string } };
    expect(error.message).toBe('the limit of messages in a minute (1) is reached');
    expect(path === '/a2a' ? error.code : error.status).toBe(path === '/a2a' ? -32051 : 'RESOURCE_EXHAUSTED');
  });
});

function rpcOf(method: string) {
  return (params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });
}
