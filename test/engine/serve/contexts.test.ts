import { defineApp, defineWorkflow, type App, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { TableAround } from '../../../bench/table-around.js';
import type { Caller } from '../../../lib/base/caller.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { Deps } from '../../../lib/operations/deps.js';
import type { Tasks } from '../../../lib/serve/tasks.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import type { Item, Key, TransactResult, Write, WriteResult } from '../../../lib/store/table.js';
import type { ServeConfig } from '../../../lib/workflow/serve.js';
import { driven } from './driven.js';

const ann: Caller = { id: 'ann', roles: ['call'] };
const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'Does one thing after the other' },
  skills: { work: { description: 'Works', context: 'queue' } },
};
const contextId = 'the context';

/** What the arguments of a task say it does. */
interface Work {
  readonly name: string;
  readonly does?: 'waits' | 'asks' | 'goes on' | 'fails';
}

/** Tasks in one context, and what was under way of them when. */
class Desk {
  readonly app: TestApp;
  readonly deps: Deps;
  readonly table = new ForgettingTable(new MemoryTable());
  readonly tasks: Tasks;
  /** Names of the tasks in the order in which their code began, each once. */
  readonly begun: string[] = [];
  /** Most tasks whose code was under way at once. */
  most = 0;
  readonly #underWay = new Set<string>();
  #sent = 0;

  constructor() {
    this.app = createTestApp(this.#appOf('work'));
    ({ deps: this.deps } = this.app as unknown as { readonly deps: Deps });
    Object.assign(this.deps, { store: new RunStore(this.table), warmRuns: undefined });
    this.tasks = createTasks({ ...this.deps, caller: ann }, serve);
  }

  #appOf(step: string): App {
    const run = async (ctx: WorkflowContext, { name, does }: Work): Promise<unknown> => {
      if (!this.begun.includes(name)) this.begun.push(name);
      this.#underWay.add(name);
      this.most = Math.max(this.most, this.#underWay.size);
      await ctx.step(step, () => name);
      if (does === 'goes on') return ctx.continueAsNew({ name, does: 'waits' });
      if (does === 'waits') await ctx.signal('end');
      if (does === 'asks') await ctx.ask({ to: 'caller', message: 'Go on?' }).catch(() => undefined);
      await ctx.sleep({ seconds: 10 });
      // Awaits nothing more: another one may begin from here on.
      this.#underWay.delete(name);
      if (does === 'fails') throw new Error('failed');
      return name;
    };
    return defineApp({ workflows: [defineWorkflow({ name: 'work', run })] });
  }

  /** Deploys code that does not fit the tasks under way, or the code that does. */
  deploy(fit: 'fits' | 'does not fit'): void {
    this.app.deploy(this.#appOf(fit === 'fits' ? 'work' : 'renamed'));
  }

  async start(name: string, does?: Work['does'], key?: string): Promise<string> {
    const message = { messageId: `m${++this.#sent}`, role: 'user', parts: [] } as const;
    const given = { name, ...(does === undefined ? {} : { does }) };
    const { taskId } = await this.tasks.send({
      ...{ message, skill: 'work', arguments: given, contextId },
      ...(key === undefined ? {} : { key }),
    });
    return taskId;
  }

  async states(...taskIds: readonly string[]): Promise<readonly string[]> {
    return Promise.all(taskIds.map(async (taskId) => (await this.tasks.read(taskId)).status.state));
  }

  /** The tasks end of themselves from here on, each in its turn. */
  async end(...names: readonly string[]): Promise<void> {
    await this.app.pass({ minutes: 15 });
    expect(this.begun).toEqual(names);
    expect(this.most).toBe(1);
  }
}

/** A table that can forget runs: their ids are then free. */
class ForgettingTable extends TableAround {
  readonly #times = new Map<string, number>();

  forget(runId: string): void {
    this.#times.set(`run#${runId}`, (this.#times.get(`run#${runId}`) ?? 0) + 1);
  }

  override async write(write: Write): Promise<WriteResult> {
    return super.write(this.#inside(write));
  }

  override async transact(writes: readonly Write[]): Promise<TransactResult> {
    return super.transact(writes.map((write) => this.#inside(write)));
  }

  override async get(key: Key, attributes?: readonly string[]): Promise<Item | undefined> {
    const item = await super.get(this.#keyInside(key), attributes);
    return item === undefined ? undefined : { ...item, ...key };
  }

  override async queryPartition(...[pk, ...rest]: Parameters<TableAround['queryPartition']>): Promise<Item[]> {
    const items = await super.queryPartition(this.#keyInside({ pk, sk: '' }).pk, ...rest);
    return items.map((item) => ({ ...item, pk }));
  }

  #inside(write: Write): Write {
    if (write.kind === 'put') return { ...write, item: { ...write.item, ...this.#keyInside(write.item) } };
    return { ...write, key: this.#keyInside(write.key) };
  }

  #keyInside({ pk, sk }: Key): Key {
    const times = this.#times.get(pk) ?? 0;
    return { pk: times === 0 ? pk : `${pk}~${times}`, sk };
  }
}

describe('a context whose tasks wait for one another', () => {
  it('answers 20 messages that come at once, one after the other and in the order of their acceptance', async () => {
    const desk = new Desk();
    const sent = Array.from({ length: 20 }, (_, at) => `task ${at}`);
    const ids = await driven(desk.app, Promise.all(sent.map((name) => desk.start(name))));
    await desk.app.pass({ minutes: 20 });
    expect(desk.most).toBe(1);
    const answers = await Promise.all(ids.map(async (taskId) => (await desk.tasks.read(taskId)).artifacts));
    expect(answers).toEqual(sent.map((text) => [{ artifactId: 'result', parts: [{ text }] }]));
    const accepted = await Promise.all(
      ids.map(async (runId) => (await desk.deps.store.heads.read(runId))?.lane?.afterRunId),
    );
    // Each but the first names the one before it, which is its place in the order.
    const order: string[] = [];
    for (let next = ids.find((_, at) => accepted[at] === undefined); next !== undefined;) {
      order.push(sent[ids.indexOf(next)] ?? '');
      next = ids[accepted.indexOf(next)];
    }
    expect(desk.begun).toEqual(order);
    expect(new Set(order).size).toBe(20);
  });

  it('answers 20 messages in the order in which they come, also while others fail', async () => {
    const desk = new Desk();
    const names = Array.from({ length: 20 }, (_, at) => `task ${at}`);
    for (const [at, name] of names.entries()) await desk.start(name, at % 3 === 1 ? 'fails' : undefined);
    await desk.end(...names);
  });

  it('passes over a task that was cancelled before its turn, and those behind it still wait for the one before', async () => {
    const desk = new Desk();
    const [first, second, third] = [await desk.start('1', 'waits'), await desk.start('2'), await desk.start('3')];
    await desk.app.settleDown();
    const cancelling = desk.tasks.cancel(second);
    await desk.app.pass({ seconds: 5 });
    expect((await cancelling).status.state).toBe('canceled');
    await desk.app.pass({ minutes: 30 });
    expect(await desk.states(first, second, third)).toEqual(['working', 'canceled', 'submitted']);
    await desk.app.signal(first, 'end');
    await desk.end('1', '3');
    expect(await desk.states(first, second, third)).toEqual(['completed', 'canceled', 'completed']);
  });

  it.each(['cancel', 'terminate'] as const)('goes on after a %s of the task under way', async (kind) => {
    const desk = new Desk();
    const [first, second] = [await desk.start('1', 'waits'), await desk.start('2')];
    await desk.app.settleDown();
    await requestStop(desk.deps, { runId: first, kind });
    await desk.app.pass({ minutes: 15 });
    expect(await desk.states(first, second)).toEqual(['canceled', 'completed']);
    expect(desk.begun).toEqual(['1', '2']);
  });

  it('goes on after all of several tasks were terminated, resting ones among them', async () => {
    const desk = new Desk();
    const ids = [await desk.start('1', 'waits'), await desk.start('2'), await desk.start('3'), await desk.start('4')];
    await desk.app.settleDown();
    for (const runId of [ids[1], ids[2], ids[0]])
      await requestStop(desk.deps, { runId: runId ?? '', kind: 'terminate' });
    await desk.app.pass({ minutes: 15 });
    expect(await desk.states(...ids)).toEqual(['canceled', 'canceled', 'canceled', 'completed']);
    expect(desk.begun).toEqual(['1', '4']);
  });

  it('waits for the last run of a task that has gone on as a new one', async () => {
    const desk = new Desk();
    const [first, second] = [await desk.start('1', 'goes on'), await desk.start('2')];
    await desk.app.pass({ minutes: 30 });
    expect(await desk.states(first, second)).toEqual(['working', 'submitted']);
    const { nextRunId } = (await desk.deps.store.heads.read(first))!;
    expect(await desk.start('3')).toBeDefined();
    await desk.app.signal(nextRunId ?? '', 'end');
    await desk.end('1', '2', '3');
  });

  it('waits for a task that is blocked, and goes on after the deployment that fits, or after its end', async () => {
    for (const way of ['fits', 'terminate'] as const) {
      const desk = new Desk();
      const [first, second] = [await desk.start('1', 'waits'), await desk.start('2')];
      await desk.app.settleDown();
      desk.deploy('does not fit');
      await desk.app.signal(first, 'end');
      await desk.app.pass({ minutes: 30 });
      expect((await desk.app.show(first)).blocked?.code).toBe('NONDETERMINISM');
      expect(await desk.states(first, second)).toEqual(['working', 'submitted']);
      if (way === 'fits') desk.deploy('fits');
      else await requestStop(desk.deps, { runId: first, kind: 'terminate' });
      await desk.app.pass({ hours: 2 });
      expect(await desk.states(first, second)).toEqual([way === 'fits' ? 'completed' : 'canceled', 'completed']);
      expect(desk.begun).toEqual(['1', '2']);
    }
  });

  it('waits for the answer to a question, and no longer than a day', async () => {
    const desk = new Desk();
    const [first, second] = [await desk.start('1', 'asks'), await desk.start('2', 'asks')];
    const third = await desk.start('3');
    await desk.app.pass({ hours: 1 });
    expect(await desk.states(first, second, third)).toEqual(['input-required', 'submitted', 'submitted']);
    const message = { messageId: 'answer', role: 'user', parts: [{ data: { action: 'decline' } }] } as const;
    await desk.tasks.send({ taskId: first, message });
    await desk.app.pass({ hours: 1 });
    expect(await desk.states(first, second, third)).toEqual(['completed', 'input-required', 'submitted']);
    await desk.app.pass({ hours: 25 });
    expect((await desk.states(first, second, third)).slice(2)).toEqual(['completed']);
    expect([desk.begun, desk.most]).toEqual([['1', '2', '3'], 1]);
  });

  it('goes on after the deletion of the task under way, also if that is started again with its key', async () => {
    for (const isStartedAgain of [false, true]) {
      const desk = new Desk();
      const first = await desk.start('1', 'waits', 'key');
      await desk.app.settleDown();
      const second = await desk.start('2');
      await desk.app.pass({ minutes: 1 });
      desk.table.forget(first);
      if (isStartedAgain) expect(await desk.start('1 again', undefined, 'key')).toBe(first);
      const third = await desk.start('3');
      await desk.app.pass({ minutes: 40 });
      const again = isStartedAgain ? [first] : [];
      expect(await desk.states(second, ...again, third)).toEqual([
        'completed',
        ...again.map(() => 'completed'),
        'completed',
      ]);
      expect(desk.begun).toEqual(['1', '2', ...(isStartedAgain ? ['1 again'] : []), '3']);
    }
  });

  it('of another caller, or of another skill, does not wait for it', async () => {
    const desk = new Desk();
    await desk.start('1', 'waits');
    const tasks = createTasks({ ...desk.deps, caller: { id: 'bob', roles: ['call'] } }, serve);
    const message = { messageId: 'm', role: 'user', parts: [] } as const;
    const { taskId } = await tasks.send({ message, skill: 'work', arguments: { name: 'of bob' }, contextId });
    await desk.app.pass({ minutes: 5 });
    expect((await tasks.read(taskId)).status.state).toBe('completed');
  });
});
