import { defineApp, defineWorkflow, type App, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../lib/base/caller.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { Deps } from '../../../lib/operations/deps.js';
import type { Followed, Tasks } from '../../../lib/serve/tasks.js';
import type { ServeConfig } from '../../../lib/workflow/serve.js';

const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'Does things' },
  skills: { report: { description: 'Writes a report' } },
  onMessage: 'chat',
};
const ann: Caller = { id: 'ann', roles: ['call'] };
const bob: Caller = { id: 'bob', roles: ['call'] };

interface Flows {
  readonly report?: (ctx: WorkflowContext, input: unknown) => Promise<unknown>;
  readonly chat?: (ctx: WorkflowContext, input: unknown) => Promise<unknown>;
}

function anApp({ report = async () => 'done', chat = async () => 'hello' }: Flows): App {
  return defineApp({
    workflows: [defineWorkflow({ name: 'report', run: report }), defineWorkflow({ name: 'chat', run: chat })],
  });
}

interface Served {
  readonly app: TestApp;
  readonly tasks: (caller?: Caller) => Tasks;
}

function served(flows: Flows): Served {
  const app = createTestApp(anApp(flows));
  const { deps } = app as unknown as { readonly deps: Deps };
  return { app, tasks: (caller = ann) => createTasks({ ...deps, caller }, serve) };
}

let messages = 0;
const user = (...parts: ({ readonly text: string } | { readonly data: never })[]) =>
  ({ messageId: `m${++messages}`, role: 'user', parts }) as const;
const start = { skill: 'report', arguments: { month: '2026-10' } } as const;

describe('a served workflow', () => {
  it('is a task that its caller reads: submitted, working, completed with its output as an artifact', async () => {
    const { app, tasks } = served({
      report: async (ctx) => {
        ctx.progress('half');
        await ctx.sleep({ minutes: 10 });
        ctx.artifact({ artifactId: 'rows', data: [1], append: true });
        ctx.artifact({ artifactId: 'rows', data: [2], append: true, lastChunk: true });
        return { total: 3, of: ctx.task?.taskId, by: ctx.caller?.id };
      },
    });
    const first = await tasks().send({ message: user(), ...start });
    const { taskId, contextId } = first;
    expect(first).toMatchObject({ skill: 'report', status: { state: 'submitted' }, generation: 1, artifacts: [] });
    await app.settleDown();
    const half = await tasks().read(taskId);
    expect(half).toMatchObject({ contextId, generation: 3, status: { state: 'working' } });
    expect(half.status.message?.parts).toEqual([{ text: 'half' }]);
    await app.pass({ minutes: 20 });
    const done = await tasks().read(taskId);
    expect(done.status.state).toBe('completed');
    expect(done.artifacts).toEqual([
      { artifactId: 'rows', parts: [{ data: [1] }, { data: [2] }] },
      { artifactId: 'result', parts: [{ data: { total: 3, of: taskId, by: 'ann' } }] },
    ]);
    expect(done.history.map(({ role, parts }) => [role, parts])).toEqual([
      ['user', [{ data: { skill: 'report', arguments: { month: '2026-10' } } }]],
      ['agent', [{ text: 'half' }]],
    ]);
    expect(done.generation).toBe(7);
  });

  it('asks its caller, who answers; the answer is in the history, and a repeat of it changes nothing', async () => {
    const { app, tasks } = served({
      report: async (ctx) => {
        const answer = await ctx.ask({ to: 'caller', message: 'Which cost centre?', schema: oneNumber });
        return answer.action === 'accept' ? answer.content : answer.action;
      },
    });
    const { taskId } = await tasks().send({ message: user(), ...start });
    await app.settleDown();
    const asked = await tasks().read(taskId);
    expect(asked.status).toMatchObject({ state: 'input-required', message: { role: 'agent' } });
    await expect(tasks().send({ taskId, message: user({ text: 'none' }) })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    const answer = user({ text: '4711' });
    await tasks().send({ taskId, message: answer, ifGenerationMatch: asked.generation });
    await tasks().send({ taskId, message: answer, ifGenerationMatch: asked.generation });
    await app.settleDown();
    const done = await tasks().read(taskId);
    expect(done.status.state).toBe('completed');
    expect(done.artifacts).toEqual([{ artifactId: 'result', parts: [{ data: { centre: 4711 } }] }]);
    expect(done.history.map(({ parts }) => parts).slice(-1)).toEqual([[{ text: '4711' }]]);
  });

  it('is answered to, and the reply is sent once the answer is taken in, not with the question that it answers', async () => {
    const { app, tasks } = served({
      report: async (ctx) => {
        await ctx.ask({ to: 'caller', message: 'Sure?' });
        await ctx.ask({ to: 'caller', message: 'Quite sure?' });
      },
    });
    const { taskId } = await tasks().send({ message: user(), ...start });
    await app.settleDown();
    const untilMs = app.clock.nowMs() + 25_000;
    const reply = tasks().send({ taskId, message: user({ text: 'yes' }) }, { untilMs });
    const rested = reply.then(async () => tasks().waitFor(taskId, { untilMs }));
    await app.pass({ seconds: 5 });
    expect((await reply).history.map(({ parts }) => parts)).toContainEqual([{ text: 'yes' }]);
    expect((await rested).status.message?.parts).toEqual([{ text: 'Quite sure?' }]);
  });

  it('is shown with its question if nobody takes the answer in for as long as the reply may wait', async () => {
    const { app, tasks } = served({ report: async (ctx) => ctx.ask({ to: 'caller', message: 'Sure?' }) });
    const { taskId } = await tasks().send({ message: user(), ...start });
    await app.settleDown();
    const answer = { taskId, message: user({ text: 'yes' }) };
    const reply = await tasks().send(answer, { untilMs: app.clock.nowMs() });
    expect(reply.status.state).toBe('input-required');
    const left = await tasks().send(answer, { untilMs: Infinity, signal: AbortSignal.abort() });
    expect(left.status.state).toBe('input-required');
    const repeated = tasks().send(answer, { untilMs: Infinity });
    await app.pass({ seconds: 5 });
    expect((await repeated).status.state).toBe('completed');
  });

  it('reads further messages of its caller, in order, also after it has continued as a new run', async () => {
    const { app, tasks } = served({
      chat: async (ctx, input) => {
        const seen = (input as { readonly seen?: readonly unknown[] }).seen ?? [];
        for await (const { parts } of ctx.messages()) {
          const now = [...seen, parts];
          if (now.length === 3) return now;
          await ctx.continueAsNew({ seen: now });
        }
        return undefined;
      },
    });
    const { taskId } = await tasks().send({ message: user({ text: 'hi' }) });
    for (const text of ['a', 'b']) await tasks().send({ taskId, message: user({ text }) });
    await app.settleDown();
    const last = user({ text: 'c' });
    expect(await tasks().send({ taskId, message: last }).catch(String)).toMatchObject({ taskId });
    await app.settleDown();
    expect(await tasks().send({ taskId, message: last }).catch(String)).toMatchObject({ taskId });
    const done = await tasks().read(taskId);
    expect(done.status.state).toBe('completed');
    expect(done.artifacts[0]?.parts).toEqual([{ data: [[{ text: 'a' }], [{ text: 'b' }], [{ text: 'c' }]] }]);
    expect(done.history.map(({ parts }) => parts)).toEqual([
      ...[[{ text: 'hi' }], [{ text: 'a' }], [{ text: 'b' }], [{ text: 'c' }]],
    ]);
    await expect(tasks().send({ taskId, message: user({ text: 'late' }) })).rejects.toMatchObject({
      code: 'TASK_ENDED',
    });
  });

  it('ends canceled once a cancel was acknowledged, whatever its workflow returns', async () => {
    const { app, tasks } = served({
      report: async (ctx) => {
        await ctx.sleep({ hours: 1 }).catch(() => undefined);
        return 'went on';
      },
    });
    const { taskId } = await tasks().send({ message: user(), ...start });
    await app.settleDown();
    const cancelling = tasks().cancel(taskId);
    await app.pass({ seconds: 5 });
    expect(await cancelling.catch(String)).toMatchObject({ status: { state: 'canceled' } });
    expect(await tasks().cancel(taskId).catch(String)).toMatchObject({ status: { state: 'canceled' } });
    expect((await tasks().read(taskId)).artifacts).toEqual([]);
  });

  it('is rejected with the reason that its workflow gives, and fails without what happened inside', async () => {
    const { app, tasks } = served({
      report: async (ctx) => ctx.reject('No such month.'),
      chat: async () => {
        throw new Error('password=1234');
      },
    });
    const rejected = await tasks().send({ message: user(), ...start });
    const failed = await tasks().send({ message: user({ text: 'hi' }) });
    await app.settleDown();
    expect((await tasks().read(rejected.taskId)).status).toMatchObject({
      state: 'rejected',
      message: { parts: [{ text: 'No such month.' }] },
    });
    expect((await tasks().read(failed.taskId)).status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: 'The task failed.' }] },
    });
  });

  it('takes metadata that fit into each answer and each list: 32 KiB of the task, 256 KiB of its message', async () => {
    const { tasks } = served({});
    const send = async (ofTask: number, ofMessage: number): Promise<unknown> => {
      const of = (length: number) => ({ a: 'x'.repeat(length - '{"a":""}'.length) });
      const sent = { message: { ...user(), metadata: of(ofMessage) }, ...start, metadata: of(ofTask) };
      return tasks()
        .send(sent)
        .then(() => 'taken', String);
    };
    const [small, large] = [32 * 1024, 256 * 1024];
    expect(await send(small, large)).toBe('taken');
    expect(await send(small + 1, 100)).toContain('the metadata of the request are 32769 bytes');
    expect(await send(100, large + 1)).toContain('the metadata of the message are 262145 bytes');
    expect((await tasks().list({ pageSize: 10 })).totalSize).toBe(1);
  });

  it('is seen by its caller only', async () => {
    const { tasks } = served({});
    const { taskId } = await tasks().send({ message: user(), ...start });
    expect(await tasks(bob).read(taskId).catch(String)).toBe('EngineError: no task has this id');
    const unknown = 'f'.repeat(32);
    const said = async (id: string): Promise<unknown> =>
      Promise.all([
        tasks(bob).read(id).catch(String),
        tasks(bob).cancel(id).catch(String),
        tasks(bob)
          .send({ taskId: id, message: user({ text: 'x' }) })
          .catch(String),
      ]);
    expect(await said(taskId)).toEqual(await said(unknown));
    expect((await tasks().read(taskId)).taskId).toBe(taskId);
  });

  it('is started once under one key of one caller, and once more by another caller', async () => {
    const { tasks } = served({});
    const send = async (caller: Caller) => (await tasks(caller).send({ message: user(), ...start, key: 'k' })).taskId;
    const ids = await Promise.all([send(ann), send(ann), send(bob)]);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toBe(ids[1]);
  });

  it('runs the tasks of one context one after the other where the skill queues them', async () => {
    const { app, tasks } = served({ chat: async (ctx) => ctx.sleep({ minutes: 1 }) });
    const first = await tasks().send({ message: user({ text: '1' }) });
    const second = await tasks().send({ message: user({ text: '2' }), contextId: first.contextId });
    await app.settleDown();
    expect((await tasks().read(first.taskId)).status.state).toBe('working');
    expect((await tasks().read(second.taskId)).status.state).toBe('submitted');
    await app.pass({ minutes: 5 });
    expect((await tasks().read(second.taskId)).status.state).toBe('completed');
  });

  it('is followed from a snapshot on: each change once, in order, to the end', async () => {
    const { app, tasks } = served({
      report: async (ctx) => {
        for (const text of ['a', 'b']) {
          ctx.progress(text);
          await ctx.sleep({ minutes: 1 });
        }
      },
    });
    const { taskId } = await tasks().send({ message: user(), ...start });
    const got: Followed[] = [];
    const following = (async () => {
      for await (const one of tasks().follow(taskId, { signal: new AbortController().signal })) got.push(one);
    })();
    await app.pass({ minutes: 10 });
    await following;
    expect(got.map((one) => (one.kind === 'snapshot' ? one.task.generation : one.generation))).toEqual([1, 2, 3, 4, 5]);
    expect(got.at(-1)).toMatchObject({ kind: 'status', status: { state: 'completed' } });
  });
});

const oneNumber = { type: 'object', properties: { centre: { type: 'integer' } }, required: ['centre'] };
