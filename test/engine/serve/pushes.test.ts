import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { createHash } from 'node:crypto';
import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../lib/base/caller.js';
import { EngineError } from '../../../lib/base/errors.js';
import { createPushConfigs } from '../../../lib/operations/serve/push-configs.js';
import { deliverPushes } from '../../../lib/operations/serve/deliver-pushes.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { Deps } from '../../../lib/operations/deps.js';
import type { Push, PushAnswer, PushSender } from '../../../lib/remote/push-sender.js';
import type { NewPushConfig, PushConfigs } from '../../../lib/serve/push-configs.js';
import { publicKeys } from '../../../lib/serve/push-keys.js';
import type { Tasks } from '../../../lib/serve/tasks.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import type { Table } from '../../../lib/store/table.js';

const ann: Caller = { id: 'ann', roles: ['call'] };
const bob: Caller = { id: 'bob', roles: ['call'] };
const url = 'https://receiver.example/news';
const hourMs = 3_600_000;

type Answers = (push: Push, count: number, atMs: number) => PushAnswer | Promise<PushAnswer>;
const status = (code: number): PushAnswer => ({ kind: 'answered', status: code });

/** A deployment whose receivers answer as a test says. Each write may be its last one. */
class Served {
  readonly app: TestApp;
  readonly deps: Deps;
  readonly sent: (Push & { readonly atMs: number })[] = [];
  /** Pushes that a receiver took. */
  readonly taken: Push[] = [];
  answers: Answers = () => status(200);
  writes = 0;
  /** Reads and writes of push configs. */
  accesses = 0;
  /** The access at which the process dies: before it, or after it. */
  deathAt = Infinity;
  diesAfter = true;

  constructor(run: (ctx: WorkflowContext, input: unknown) => Promise<unknown>) {
    this.app = createTestApp(defineApp({ workflows: [defineWorkflow({ name: 'flow', run })] }));
    const { deps } = this.app as unknown as { readonly deps: Deps };
    this.deps = deps;
    const pushSender: PushSender = {
      allows: async (asked) => asked.startsWith('https://'),
      send: async (push) => {
        const atMs = deps.clock.nowMs();
        this.sent.push({ ...push, atMs });
        const answer = await this.answers(push, this.sent.length, atMs);
        if (answer.kind === 'answered' && answer.status < 300) this.taken.push(push);
        return answer;
      },
    };
    Object.assign(deps, { pushSender, store: new RunStore(new SealedTable(this.#mortalTable())) });
  }

  #mortalTable(): Table {
    const table = new MemoryTable({ onApplied: () => (this.writes += 1) });
    const access = async <Result>(place: string, ask: () => Promise<Result>): Promise<Result> => {
      const dies = place.startsWith('p#') && ++this.accesses === this.deathAt;
      if (dies && !this.diesAfter) throw new EngineError('STORE_UNAVAILABLE', 'it died');
      const result = await ask();
      if (dies) throw new EngineError('STORE_RESULT_UNKNOWN', 'it died');
      return result;
    };
    return {
      write: (write) => access(write.kind === 'put' ? write.item.sk : write.key.sk, () => table.write(write)),
      transact: (writes) => table.transact(writes),
      get: (key, attributes) => access(key.sk, () => table.get(key, attributes)),
      queryPartition: (pk, prefix, ...more) => access(prefix ?? '', () => table.queryPartition(pk, prefix, ...more)),
      queryIndex: (query) => table.queryIndex(query),
    };
  }

  tasks(caller = ann): Tasks {
    return createTasks(
      { ...this.deps, caller },
      { agent: { name: 'Desk', description: 'd' }, skills: { flow: { description: 'f' } } },
    );
  }

  configs(caller = ann): PushConfigs {
    return createPushConfigs({ ...this.deps, caller });
  }

  async start(push?: Partial<NewPushConfig>): Promise<string> {
    const message = { messageId: `m${this.writes}`, role: 'user', parts: [{ text: 'go' }] } as const;
    const config = push && { push: { url, wire: '1.0', ...push } as const };
    return (await this.tasks().send({ message, skill: 'flow', arguments: {}, ...config })).taskId;
  }

  /** Lets time pass, whatever dies meanwhile. */
  async pass(duration: { readonly hours?: number; readonly minutes?: number; readonly seconds?: number }) {
    for (let deaths = 0; deaths < 50; deaths++)
      try {
        await this.app.pass(duration);
        return;
      } catch (error) {
        if (!(error instanceof EngineError) || !error.code.startsWith('STORE_')) throw error;
      }
  }

  /** What receivers took: the generation of each, and its state or the id of its artifact. */
  get news(): readonly string[] {
    return this.taken.map(({ body }) => {
      const { statusUpdate, artifactUpdate } = JSON.parse(body) as StreamResponse;
      const { metadata } = statusUpdate ?? artifactUpdate!;
      const generation = Object.values(metadata)[0]?.generation ?? 0;
      return `${generation} ${statusUpdate?.status.state.slice(11).toLowerCase() ?? artifactUpdate!.artifact.artifactId}`;
    });
  }
}

interface StreamResponse {
  readonly statusUpdate?: { readonly status: { readonly state: string }; readonly metadata: Sequence };
  readonly artifactUpdate?: { readonly artifact: { readonly artifactId: string; readonly parts: unknown[] } } & {
    readonly metadata: Sequence;
  };
}
type Sequence = Readonly<Record<string, { readonly generation: number }>>;

const threeStates = async (ctx: WorkflowContext): Promise<string> => {
  ctx.progress('half');
  await ctx.sleep({ minutes: 10 });
  ctx.artifact({ artifactId: 'rows', text: 'a', append: true });
  ctx.artifact({ artifactId: 'rows', text: 'b', append: true, lastChunk: true });
  return 'done';
};
const allNews = ['2 working', '3 working', '5 rows', '6 result', '7 completed'];

describe('news of a task', () => {
  it('are pushed in order: states and complete artifacts, in the revision of the config', async () => {
    const served = new Served(threeStates);
    await served.start();
    const taskId = await served.start({ token: 't0', authentication: { scheme: 'Basic', credentials: 'c0' } });
    await served.pass({ hours: 1 });
    expect(served.news).toEqual(allNews);
    expect(served.sent[0]?.headers).toMatchObject({
      'content-type': 'application/a2a+json',
      authorization: 'Basic c0',
      'x-a2a-notification-token': 't0',
      'a2a-notification-token': 't0',
    });
    const rows = (JSON.parse(served.taken[2]!.body) as StreamResponse).artifactUpdate!;
    expect(rows).toMatchObject({ taskId, artifact: { parts: [{ text: 'a' }, { text: 'b' }] }, lastChunk: true });
    expect(rows).not.toHaveProperty('append');
  });

  it('end with the whole task if it has artifacts that were never said to be complete', async () => {
    const served = new Served(async (ctx, input) => {
      if ((input as { readonly isLast?: true }).isLast) return 'done';
      ctx.artifact({ artifactId: 'rows', text: 'a', append: true });
      ctx.artifact({ artifactId: 'whole', text: 'c', lastChunk: true });
      await ctx.sleep({ minutes: 10 });
      ctx.artifact({ artifactId: 'rows', text: 'b', append: true });
      return ctx.continueAsNew({ isLast: true });
    });
    const taskId = await served.start({});
    await served.pass({ hours: 1 });
    const bodies = served.taken.map(({ body }) => JSON.parse(body) as { readonly task?: object });
    expect(bodies.map((body) => Object.keys(body)[0])).toEqual([
      ...['statusUpdate', 'artifactUpdate', 'artifactUpdate', 'task'],
    ]);
    expect(bodies.at(-1)?.task).toMatchObject({
      id: taskId,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'rows', parts: [{ text: 'a' }, { text: 'b' }] }, {}, { artifactId: 'result' }],
    });
    expect(await due(served)).toEqual([]);
  });

  it('are tasks for a receiver of 0.3, each in the state of its event', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({ wire: '0.3' });
    await served.pass({ hours: 1 });
    const bodies = served.taken.map(({ body }) => JSON.parse(body) as { status: { state: string } });
    expect(bodies.map(({ status: { state } }) => state)).toEqual([
      ...['working', 'working', 'working', 'working', 'completed'],
    ]);
    expect(bodies[0]).toMatchObject({ kind: 'task', id: taskId });
    expect(served.taken[0]?.headers['content-type']).toBe('application/json');
  });

  it('go to receivers of 1.0 and of 0.3 at once, to each in its own form (A2A-S24)', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({ id: 'new', url: `${url}/1.0` });
    await served.configs().set(taskId, { id: 'old', url: `${url}/0.3`, wire: '0.3' });
    await served.pass({ hours: 1 });
    const lastTo = (wire: string): unknown =>
      JSON.parse(served.taken.filter((push) => push.url.endsWith(wire)).at(-1)?.body ?? '');
    expect(lastTo('1.0')).toMatchObject({ statusUpdate: { taskId, status: { state: 'TASK_STATE_COMPLETED' } } });
    expect(lastTo('0.3')).toMatchObject({ kind: 'task', id: taskId, status: { state: 'completed' } });
  });

  it('are signed with a published key, over the body', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({});
    await served.pass({ hours: 1 });
    const { headers, body } = served.taken[0]!;
    expect(headers['authorization']).toBe(`Bearer ${headers['outwait-signature']}`);
    const keys = createLocalJWKSet(publicKeys(served.deps.tokens.signingSeeds()) as unknown as JSONWebKeySet);
    const { payload } = await jwtVerify(headers['outwait-signature'] ?? '', keys, {
      audience: url,
      currentDate: new Date(served.sent[0]!.atMs),
    });
    expect(payload).toMatchObject({ taskId, request_body_sha256: createHash('sha256').update(body).digest('hex') });
  });

  it('of the runs that continue one another are those of one task', async () => {
    const served = new Served(async (ctx, input) => {
      const { n = 1 } = input as { n?: number };
      ctx.progress(`part ${n}`);
      await ctx.sleep({ minutes: 10 });
      return n === 1 ? ctx.continueAsNew({ n: 2 }) : 'done';
    });
    await served.start({});
    await served.pass({ hours: 2 });
    expect(served.news).toEqual(['2 working', '3 working', '4 working', '5 result', '6 completed']);
  });

  it('begin after the generation at which a config is set, and leave no marker behind', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start();
    await served.pass({ minutes: 5 });
    await served.configs().set(taskId, { url, wire: '1.0' });
    await served.pass({ hours: 1 });
    expect(served.news).toEqual(allNews.slice(2));
    expect(await due(served)).toEqual([]);
  });

  it('wait for a receiver that is down for an hour, and come in order (A2A-S21)', async () => {
    const served = new Served(threeStates);
    await served.start({});
    const upAtMs = served.deps.clock.nowMs() + hourMs;
    served.answers = (_, __, atMs) => (atMs < upAtMs ? { kind: 'failed' } : status(204));
    await served.pass({ hours: 2 });
    expect(served.news).toEqual(allNews);
    const [first, ...pauses] = served.sent
      .slice(0, 14)
      .map(({ atMs }) => Math.round((atMs - served.sent[0]!.atMs) / 1_000));
    expect(first).toBe(0);
    expect(pauses.slice(0, 4)).toEqual([1, 3, 7, 15]);
    // At most a quarter of an hour between two tries, and no more tries than that takes.
    expect(served.sent.length).toBeLessThan(20);
  });

  it('are passed over after a day', async () => {
    const served = new Served(threeStates);
    await served.start({});
    served.answers = () => status(500);
    await served.pass({ hours: 30 });
    served.answers = () => status(200);
    await served.pass({ hours: 30 });
    expect(served.taken).toEqual([]);
    expect(await due(served)).toEqual([]);
  });

  it.each([410, 404])('end for good with %s (A2A-S21)', async (code) => {
    const served = new Served(threeStates);
    await served.start({});
    served.answers = (_, count) => status(count === 2 ? code : 200);
    await served.pass({ hours: 2 });
    expect(served.news).toEqual(allNews.slice(0, 1));
    expect(served.sent).toHaveLength(2);
    expect(await due(served)).toEqual([]);
  });

  it.each([401, 403])('end after three refusals with %s', async (code) => {
    const served = new Served(threeStates);
    await served.start({});
    served.answers = () => status(code);
    await served.pass({ hours: 2 });
    expect(served.sent).toHaveLength(3);
  });

  it('that a receiver refuses otherwise are given up one by one', async () => {
    const served = new Served(threeStates);
    await served.start({});
    served.answers = (_, count) => status(count === 2 ? 422 : 200);
    await served.pass({ hours: 2 });
    expect(served.news).toEqual(allNews.filter((_, at) => at !== 1));
    expect(served.sent).toHaveLength(5);
  });

  it('are sent again to a receiver that redirects', async () => {
    const served = new Served(threeStates);
    await served.start({});
    served.answers = (_, count) => status(count === 1 ? 307 : 200);
    await served.pass({ hours: 2 });
    expect(served.news).toEqual(allNews);
    expect(served.sent).toHaveLength(6);
  });

  it('that are queued are dropped with their config', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({ id: 'one' });
    served.answers = () => status(503);
    await served.pass({ minutes: 30 });
    await served.configs().remove(taskId, 'one');
    await served.configs().remove(taskId, 'one');
    served.answers = () => status(200);
    await served.pass({ hours: 2 });
    expect(served.taken).toEqual([]);
    expect(await due(served)).toEqual([]);
  });

  it('that are queued are dropped when their config is replaced, also by a push under way', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({ id: 'one' });
    served.answers = async (push) => {
      if (push.url !== url) return status(200);
      await served.configs().set(taskId, { id: 'one', url: `${url}/2`, wire: '1.0' });
      return status(200);
    };
    await served.pass({ hours: 2 });
    expect(served.sent.filter((push) => push.url === url)).toHaveLength(1);
    expect(served.news.slice(1)).toEqual(allNews.slice(2));
  });

  it('reach two senders at once only through one of them', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({ id: 'one' });
    let other: Promise<void> | undefined;
    served.answers = async () => {
      other ??= deliverPushes(served.deps, { kind: 'push', runId: taskId, configId: 'one' });
      await other;
      return status(200);
    };
    await served.pass({ hours: 1 });
    expect(served.news).toEqual(allNews);
  });

  it('are not sent by a sender that was frozen until its claim is over (A2A-S22)', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({ id: 'one' });
    await served.pass({ hours: 1 });
    const sentBefore = served.sent.length;
    await served.configs().set(taskId, { id: 'two', url, wire: '1.0' });
    const { clock } = served.app;
    const store = await served.deps.store.pushConfigs();
    await store.put({
      ...{ taskId, configId: 'two', createdAtMs: clock.nowMs(), wire: '1.0', cursor: 2, owed: 7 },
      ...{ failures: 0, refusals: 0, receiver: { url }, dueAtMs: clock.nowMs() },
    });
    // It freezes while it signs the push.
    const frozen: Deps = {
      ...served.deps,
      get tokens() {
        clock.moveTo(clock.nowMs() + 55_000);
        return served.deps.tokens;
      },
    };
    await deliverPushes(frozen, { kind: 'push', runId: taskId, configId: 'two' });
    expect(served.sent).toHaveLength(sentBefore);
    await served.pass({ hours: 1 });
    expect(served.news.slice(5)).toEqual(allNews.slice(1));
  });

  it.each([
    ['before', false],
    ['after', true],
  ])('are all sent, in order, if the process dies %s any access to the config', async (_, diesAfter) => {
    const whole = new Served(threeStates);
    await whole.start({ id: 'one' });
    const setUp = whole.accesses;
    await whole.pass({ hours: 2 });
    for (let deathAt = setUp + 1; deathAt <= whole.accesses; deathAt++) {
      const served = new Served(threeStates);
      await served.start({ id: 'one' });
      Object.assign(served, { deathAt, diesAfter });
      await served.pass({ hours: 2 });
      await served.pass({ hours: 1 });
      // A push may come twice: its process died before it could say that it was taken.
      expect([...new Set(served.news)], `died at access ${deathAt}`).toEqual(allNews);
      expect(served.news.length).toBeLessThanOrEqual(allNews.length + 1);
      expect(served.news).toEqual(served.news.toSorted());
      expect(await due(served)).toEqual([]);
    }
    expect(whole.accesses - setUp).toBeGreaterThan(10);
  });

  it('are owed by a turn whose process died before it said so', async () => {
    const served = new Served(async (ctx) => {
      await ctx.sleep({ minutes: 10 });
      ctx.progress('late');
      await ctx.sleep({ days: 1 });
    });
    await served.start({ id: 'one' });
    await served.pass({ minutes: 5 });
    // The next access is that of the turn which commits the progress.
    Object.assign(served, { deathAt: served.accesses + 1, diesAfter: false });
    await served.pass({ hours: 1 });
    expect(served.news).toEqual(['2 working', '3 working']);
  });

  it('that a turn committed before their config was put are pushed without a message', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start();
    await served.pass({ minutes: 5 });
    const config = { taskId, configId: 'one', createdAtMs: 0, wire: '1.0', receiver: { url } } as const;
    const counts = { cursor: 2, owed: 0, failures: 0, refusals: 0 };
    const store = await served.deps.store.pushConfigs();
    await store.put({ ...config, ...counts, dueAtMs: served.deps.clock.nowMs() });
    await served.pass({ minutes: 2 });
    expect(served.news).toEqual(['3 working']);
  });

  it('that are owed while the last one is sent come too', async () => {
    const served = new Served(async (ctx) => {
      await ctx.signal('go');
      ctx.progress('gone');
      await ctx.sleep({ days: 3 });
    });
    const taskId = await served.start({ id: 'one' });
    const store = await served.deps.store.pushConfigs();
    let isOwed = false;
    // The turn commits and notes what it owes between the last read of a sender and its end.
    const rest = store.rest.bind(store);
    Object.assign(store, {
      rest: async (...given: Parameters<typeof rest>) => {
        if (!isOwed) {
          isOwed = true;
          await served.app.signal(taskId, 'go');
          const { runTurn } = await import('../../../lib/operations/turn/run-turn.js');
          const { warmRuns: _, ...cold } = served.deps;
          await runTurn(cold, { runId: taskId }, { remainingMs: () => 600_000 });
        }
        return rest(...given);
      },
    });
    await served.pass({ hours: 1 });
    expect(served.news).toEqual(['2 working', '3 working']);
  });

  it('of ten thousand events come once each, in order (A2A-S25)', async () => {
    const served = new Served(async (ctx) => {
      for (let at = 0; at < 9_999; at++) ctx.progress(`${at}`);
      await ctx.sleep({ minutes: 1 });
    });
    await served.start({});
    await served.pass({ hours: 1 });
    const generations = served.news.map((one) => Number(one.split(' ')[0]));
    expect(generations).toEqual(Array.from({ length: 10_001 }, (_, at) => at + 2));
  }, 120_000);
});

describe('a push config', () => {
  it('takes one of two hundred ids of its task, also if those before it were removed', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start();
    const configs = served.configs();
    for (let n = 0; n < 200; n++) {
      await configs.set(taskId, { id: `c${n}`, url, wire: '1.0' });
      await configs.remove(taskId, `c${n}`);
    }
    const late = configs.set(taskId, { id: 'late', url, wire: '1.0' });
    await expect(late).rejects.toThrow('200 ids');
  });

  it('is one of 32 at most, also if more come at once', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start();
    const configs = served.configs();
    const set = async (id: string) => configs.set(taskId, { id, url, wire: '1.0' }).then(() => id, String);
    const told = await Promise.all(Array.from({ length: 60 }, (_, n) => set(`c${n}`)));
    const kept = (await configs.list(taskId, { pageSize: 100 })).configs.map(({ id }) => id);
    expect(kept).toHaveLength(32);
    expect(told.filter((id) => /^c\d+$/.test(id)).sort()).toEqual([...kept].sort());
    expect(told.filter((id) => id.includes('a task has at most 32 of them'))).toHaveLength(28);
    await configs.remove(taskId, kept[0] ?? '');
    expect(await set('next')).toBe('next');
  });

  it('is read and listed without its secrets', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start();
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    const made = await served.configs().set(taskId, { id: 'b', url, wire: '1.0', token: 'secret', authentication });
    await served.configs().set(taskId, { id: 'a', url, wire: '0.3' });
    await served.configs().set(taskId, { id: 'c', url, wire: '1.0' });
    expect(made).toEqual({ id: 'b', url, wire: '1.0', authentication: { scheme: 'Bearer' } });
    expect(await served.configs().read(taskId, 'b')).toEqual(made);
    const { configs, nextPageToken } = await served.configs().list(taskId, { pageSize: 2 });
    expect(configs.map(({ id }) => id)).toEqual(['a', 'b']);
    const rest = await served.configs().list(taskId, { pageSize: 2, pageToken: nextPageToken! });
    expect(rest).toEqual({ configs: [{ id: 'c', url, wire: '1.0' }] });
    await expect(served.configs().list(taskId, { pageSize: 2, pageToken: '?' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('of another caller, of an unknown id and of a removed one are not found (A2A-S23)', async () => {
    const served = new Served(threeStates);
    const taskId = await served.start({ id: 'one' });
    const notFound = { code: 'TASK_NOT_FOUND' };
    await expect(served.configs(bob).read(taskId, 'one')).rejects.toMatchObject(notFound);
    await expect(served.configs(bob).set(taskId, { url, wire: '1.0' })).rejects.toMatchObject(notFound);
    await expect(served.configs(bob).remove(taskId, 'one')).rejects.toMatchObject(notFound);
    await expect(served.configs().read(taskId, 'two')).rejects.toMatchObject(notFound);
    for (let times = 0; times < 2; times++) await served.configs().remove(taskId, 'one');
    await expect(served.configs().read(taskId, 'one')).rejects.toMatchObject(notFound);
    expect((await served.configs().list(taskId, { pageSize: 5 })).configs).toEqual([]);
  });

  it('may be set on a task that has ended (A2A-S23)', async () => {
    const served = new Served(async () => 'done');
    const taskId = await served.start();
    await served.pass({ hours: 1 });
    expect(await served.configs().set(taskId, { url, wire: '1.0' })).toMatchObject({ url });
    await served.pass({ hours: 1 });
    expect(served.sent).toEqual([]);
    expect(await due(served)).toEqual([]);
  });

  it.each([
    { url: 'http://receiver.example' },
    { url: 'https://user:secret@receiver.example' },
    { url: 'nothing' },
    { token: 'line\r\nbreak' },
    { authentication: { scheme: 'two words' } },
    { authentication: { scheme: 'Bearer', credentials: 'ä' } },
  ])('that cannot be used is refused before anything is written: %j', async (part) => {
    const served = new Served(threeStates);
    const refused = await served.start(part).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'INPUT_INVALID' });
    expect(served.writes).toBe(0);
  });

  it('of a message that is repeated goes on where it was', async () => {
    const served = new Served(threeStates);
    const send = () =>
      served.tasks().send({
        message: { messageId: 'm', role: 'user', parts: [{ text: 'go' }] },
        ...{ skill: 'flow', arguments: {}, key: 'k', push: { url, wire: '1.0' } },
      });
    await send();
    await served.pass({ hours: 1 });
    await send();
    await served.pass({ hours: 1 });
    expect(served.news).toEqual(allNews);
  });
});

describe('the push config of a message', () => {
  const waiting = async (ctx: WorkflowContext): Promise<void> => {
    for await (const message of ctx.messages()) ctx.progress(message.parts as never);
  };
  const start = async (served: Served, push: Partial<NewPushConfig>, messageId = 'm'): Promise<string> => {
    const { taskId } = await served.tasks().send({
      message: { messageId, role: 'user', parts: [{ text: 'go' }] },
      ...{ skill: 'flow', arguments: {}, key: 'k', push: { url, wire: '1.0', ...push } },
    });
    return taskId;
  };
  const sayMore = async (served: Served, taskId: string, push: Partial<NewPushConfig>, messageId = 'more') =>
    served.tasks().send({
      message: { messageId, role: 'user', parts: [{ text: messageId }] },
      ...{ taskId, push: { url, wire: '1.0', ...push } },
    });
  const idsOf = async (served: Served, taskId: string): Promise<readonly string[]> => {
    const { configs } = await served.configs().list(taskId, { pageSize: 100 });
    return configs.map((config) => `${config.id} ${config.url}`);
  };

  it.each([
    ['removed', [], async (configs: PushConfigs, taskId: string) => configs.remove(taskId, 'one')],
    [
      'replaced',
      ['one https://elsewhere.example'],
      async (configs: PushConfigs, taskId: string) =>
        configs.set(taskId, { id: 'one', url: 'https://elsewhere.example', wire: '1.0' }),
    ],
  ])('stays as it is when the message is repeated: %s', async (_, left, change) => {
    const served = new Served(waiting);
    const taskId = await start(served, { id: 'one' });
    await change(served.configs(), taskId);
    await start(served, { id: 'one' });
    expect(await idsOf(served, taskId)).toEqual(left);

    await sayMore(served, taskId, { id: 'one', token: 'second' });
    await change(served.configs(), taskId);
    await sayMore(served, taskId, { id: 'one', token: 'second' });
    expect(await idsOf(served, taskId)).toEqual(left);
  });

  it('is put once for all starts under one key, whatever the ids of their messages', async () => {
    const served = new Served(waiting);
    const taskId = await start(served, {}, 'm1');
    await start(served, {}, 'm2');
    expect(await idsOf(served, taskId)).toHaveLength(1);
  });

  it('may have the id of one that was removed', async () => {
    const served = new Served(waiting);
    const taskId = await start(served, { id: 'one' });
    await served.configs().remove(taskId, 'one');
    await sayMore(served, taskId, { id: 'one' });
    expect(await idsOf(served, taskId)).toEqual([`one ${url}`]);
  });

  it('is refused before the message is taken if the task may have no more', async () => {
    const served = new Served(waiting);
    const taskId = await start(served, { id: 'one' });
    for (let n = 1; n < 32; n++) await served.configs().set(taskId, { id: `c${n}`, url, wire: '1.0' });
    await served.pass({ minutes: 1 });
    const writes = served.writes;
    await expect(sayMore(served, taskId, { id: 'late' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(served.writes).toBe(writes);
    // A repeat is answered like the first.
    await expect(start(served, { id: 'one' })).resolves.toBe(taskId);
    await served.pass({ minutes: 1 });
    expect((await served.tasks().read(taskId)).history).toHaveLength(1);
  });

  it('is not put if the message is refused', async () => {
    const served = new Served(async () => 'done');
    const taskId = await start(served, { id: 'one' });
    const late = served.tasks().send({
      message: { messageId: 'late', role: 'user', parts: [{ text: 'late' }] },
      ...{ taskId, ifGenerationMatch: 9, push: { id: 'late', url, wire: '1.0' } },
    });
    await expect(late).rejects.toMatchObject({ code: 'QUESTION_CLOSED' });
    await served.pass({ hours: 1 });
    await expect(sayMore(served, taskId, { id: 'late' })).rejects.toMatchObject({ code: 'TASK_ENDED' });
    expect(await idsOf(served, taskId)).toEqual([`one ${url}`]);
  });

  it.each([
    ['before', false],
    ['after', true],
  ])('owes all its news if the process dies %s its put, once the message is repeated', async (_, diesAfter) => {
    const served = new Served(waiting);
    Object.assign(served, { deathAt: served.accesses + 1, diesAfter });
    await expect(start(served, { id: 'one' })).rejects.toMatchObject({ code: /^STORE_/ });
    await served.pass({ minutes: 10 });
    const taskId = await start(served, { id: 'one' });
    await served.pass({ minutes: 10 });
    expect(served.news).toEqual(['2 working']);

    // Its accesses: the configs that are there, the count of their ids, the put.
    Object.assign(served, { deathAt: served.accesses + 3 });
    await expect(sayMore(served, taskId, { id: 'two', url: `${url}/2` })).rejects.toMatchObject({ code: /^STORE_/ });
    await served.pass({ minutes: 10 });
    await sayMore(served, taskId, { id: 'two', url: `${url}/2` });
    await served.pass({ minutes: 10 });
    expect(served.sent.filter((push) => push.url === `${url}/2`)).toHaveLength(2);
  });
});

/** Returns what is still due. */
async function due({ deps }: Served): Promise<readonly unknown[]> {
  const pages = await Promise.all(
    Array.from({ length: deps.store.dueShards }, (_, shard) => deps.store.lists.due(shard, Number.MAX_SAFE_INTEGER, 9)),
  );
  return pages.flatMap(({ rows }) => rows);
}
