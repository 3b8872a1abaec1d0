import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../lib/base/caller.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { ListRequest, TaskPage, Tasks } from '../../../lib/serve/tasks.js';

const ann: Caller = { id: 'ann', roles: ['call'] };
const serve = {
  agent: { name: 'Desk', description: 'Does things' },
  skills: { report: { description: 'Writes a report' } },
};

type Flow = (ctx: WorkflowContext, input: { readonly seen?: number }) => Promise<unknown>;

function served(run: Flow): {
  readonly app: TestApp;
  readonly deps: Deps;
  readonly tasks: (caller?: Caller) => Tasks;
  readonly start: (caller?: Caller, contextId?: string) => Promise<string>;
} {
  const report = defineWorkflow({
    name: 'report',
    run: run as (ctx: WorkflowContext, input: unknown) => Promise<unknown>,
  });
  const app = createTestApp(defineApp({ workflows: [report] }));
  const { deps } = app as unknown as { readonly deps: Deps };
  const tasks = (caller = ann): Tasks => createTasks({ ...deps, caller }, serve);
  let messages = 0;
  const start = async (caller = ann, contextId = 'c'): Promise<string> => {
    const message = { messageId: `m${++messages}`, role: 'user', parts: [] } as const;
    return (await tasks(caller).send({ message, skill: 'report', arguments: {}, contextId })).taskId;
  };
  return { app, deps, tasks, start };
}

const ids = ({ tasks }: TaskPage): readonly string[] => tasks.map(({ taskId }) => taskId);
const all: ListRequest = { pageSize: 10 };
const ask: Flow = async (ctx) => ctx.ask({ to: 'caller', message: 'Which?' });

async function cancelled(app: TestApp, tasks: Tasks, taskId: string): Promise<void> {
  const cancelling = tasks.cancel(taskId);
  await app.pass({ seconds: 3 });
  await cancelling;
}

/** The hint of the only task of Ann, and the status that its log says. */
async function hintAndStatus(deps: Deps, tasks: Tasks): Promise<readonly [unknown, unknown]> {
  const [row] = await (await deps.store.servedTasks()).list({ owner: 'ann' }, 10);
  const { status } = await tasks.read(row?.taskId ?? '');
  return [
    { state: row?.state, atMs: row?.atMs },
    { state: status.state, atMs: status.atMs },
  ];
}

describe('the list of tasks', () => {
  it('shows the newest status first, of one caller and tenant only', async () => {
    const { app, tasks, start } = served(async (ctx) => ctx.sleep({ hours: 1 }));
    const first = await start();
    await app.pass({ minutes: 1 });
    const second = await start();
    await app.pass({ minutes: 1 });
    const others = [{ id: 'bob' }, { id: 'ann', tenant: 'acme' }].map((one): Caller => ({ ...one, roles: ['call'] }));
    for (const caller of others) await start(caller);
    expect(ids(await tasks().list(all))).toEqual([second, first]);
    expect((await tasks().list(all)).totalSize).toBe(2);
    for (const caller of others) expect((await tasks(caller).list(all)).totalSize).toBe(1);
    await app.pass({ minutes: 58, seconds: 30 });
    expect((await tasks().list(all)).tasks.map(({ status }) => status.state)).toEqual(['completed', 'working']);
    expect(ids(await tasks().list(all))).toEqual([first, second]);
  });

  it('filters by state, context and time of the status', async () => {
    const { app, deps, tasks, start } = served(ask);
    const first = await start(ann, 'a');
    await app.pass({ minutes: 5 });
    const atMs = deps.clock.nowMs();
    const second = await start(ann, 'b');
    await app.settleDown();
    await cancelled(app, tasks(), first);
    const listed = async (filter: Partial<ListRequest>): Promise<readonly string[]> =>
      ids(await tasks().list({ ...all, ...filter }));
    await app.settleDown();
    expect(await listed({ state: 'input-required' })).toEqual([second]);
    expect(await listed({ state: 'canceled' })).toEqual([first]);
    expect(await listed({ contextId: 'a' })).toEqual([first]);
    expect(await listed({ statusAfterMs: atMs + 60_000 })).toEqual([]);
    expect(await listed({ state: 'failed' })).toEqual([]);
  });

  it('shows each task once over its pages, also if tasks change and start between them', async () => {
    const { app, tasks, start } = served(ask);
    const started: string[] = [];
    for (let at = 0; at < 5; at++) {
      started.unshift(await start());
      await app.pass({ minutes: 1 });
    }
    const first = await tasks().list({ pageSize: 2 });
    await cancelled(app, tasks(), started[0] ?? '');
    await start();
    await app.settleDown();
    const second = await tasks().list({ pageSize: 2, pageToken: first.nextPageToken ?? '' });
    const third = await tasks().list({ pageSize: 2, pageToken: second.nextPageToken ?? '' });
    expect([first, second, third].flatMap(ids)).toEqual(started);
    expect(third).toMatchObject({ totalSize: 5 });
    expect(third.nextPageToken).toBeUndefined();
  });

  it('holds of its tasks what is shown of them, within the room of the page however many there are', async () => {
    const { app, tasks, start } = served(async () => 'x'.repeat(10_000));
    for (let at = 0; at < 9; at++) await start();
    await app.settleDown();
    const listed = async (historyLength: number, artifacts: boolean) =>
      (await tasks().list({ ...all, contents: { historyLength, artifacts, maxBytes: 40_000 } })).tasks;
    for (const task of await listed(0, false)) expect(task).toMatchObject({ history: [], artifacts: [] });
    const whole = await listed(1, true);
    expect(whole).toHaveLength(9);
    expect(JSON.stringify(whole).length).toBeLessThan(80_000);
    expect(whole[0]).toMatchObject({ history: [{}], artifacts: [{ parts: [{ text: 'left out: 10045 bytes' }] }] });
  });

  it('looks at so many tasks for one page, also if few or none are sought', async () => {
    const { app, tasks, start } = served(ask);
    const sought = await start(ann, 'sought');
    await app.pass({ seconds: 1 });
    for (let n = 0; n < 1_050; n++) await start();
    const first = await tasks().list({ ...all, contextId: 'sought' });
    expect([ids(first), first.totalSize]).toEqual([[], 0]);
    const second = await tasks().list({ ...all, contextId: 'sought', pageToken: first.nextPageToken ?? '' });
    expect([ids(second), second.nextPageToken]).toEqual([[sought], undefined]);
    // All of them may have changed since their hint: each is read, and the page ends.
    const none = await tasks().list({ ...all, state: 'completed' });
    expect([ids(none), typeof none.nextPageToken]).toEqual([[], 'string']);
  });

  it('refuses a page token of another list, and text that is none', async () => {
    const { tasks, start } = served(ask);
    await start();
    await start();
    const { nextPageToken: pageToken = '' } = await tasks().list({ pageSize: 1 });
    const refused = { code: 'INPUT_INVALID' };
    await expect(tasks().list({ pageSize: 1, pageToken, state: 'working' })).rejects.toMatchObject(refused);
    await expect(tasks({ ...ann, id: 'bob' }).list({ pageSize: 1, pageToken })).rejects.toMatchObject(refused);
    for (const text of ['', 'x', `${pageToken}AA`])
      await expect(tasks().list({ pageSize: 1, pageToken: text })).rejects.toMatchObject(refused);
  });

  it('has in its index what the log says, also of a task that has continued as a new run', async () => {
    const { app, deps, tasks, start } = served(async (ctx, { seen = 0 }) => {
      ctx.progress(`run ${seen}`);
      await ctx.sleep({ minutes: 1 });
      if (seen < 1) return ctx.continueAsNew({ seen: seen + 1 });
      return ask(ctx, {});
    });
    const taskId = await start();
    for (const minutes of [0, 0.5, 1, 2]) {
      await app.pass({ seconds: minutes * 60 + 1 });
      const [hint, status] = await hintAndStatus(deps, tasks());
      expect(hint).toEqual(status);
    }
    expect((await tasks().read(taskId)).status.state).toBe('input-required');
    await cancelled(app, tasks(), taskId);
    await app.settleDown();
    const [hint, status] = await hintAndStatus(deps, tasks());
    expect(hint).toEqual(status);
    expect(hint).toMatchObject({ state: 'canceled' });
  });
});
