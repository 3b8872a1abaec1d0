import { type AnyWorkflow, defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { setImmediate } from 'node:timers/promises';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { readTask } from '../../../lib/operations/serve/read-task.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import { listRuns } from '../../../lib/operations/views/list-runs.js';
import type { Followed, Tasks } from '../../../lib/serve/tasks.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import type { Table, TransactResult, Write, WriteResult } from '../../../lib/store/table.js';

// Cases in which servers of tasks go wrong, by the numbers under which the specification of this project lists them.

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- each workflow takes what its test gives it
type Run = (ctx: WorkflowContext, input: any) => Promise<unknown>;

interface Served {
  readonly app: TestApp;
  readonly deps: Deps;
  readonly tasks: Tasks;
  /** Starts a task of `flow`, and returns its id. */
  readonly start: (given?: object, contextId?: string) => Promise<string>;
}

let messages = 0;

function served(flow: Run, { more = [], table }: { more?: readonly AnyWorkflow[]; table?: Table } = {}): Served {
  const app = createTestApp(defineApp({ workflows: [defineWorkflow({ name: 'flow', run: flow }), ...more] }));
  const { deps } = app as unknown as { readonly deps: Deps };
  // Without a pause between two tries of a write, for which virtual time would not pass.
  if (table !== undefined)
    Object.assign(deps, { store: new RunStore(new SealedTable(table)), delay: () => setImmediate() });
  const ofAnn: Deps = { ...deps, caller: { id: 'ann', roles: ['call'] } };
  const tasks = createTasks(ofAnn, {
    agent: { name: 'Desk', description: 'd' },
    skills: { flow: { description: 'f' } },
  });
  return {
    ...{ app, tasks, deps: ofAnn },
    start: async (given = {}, contextId) => {
      const message = { messageId: `m${++messages}`, role: 'user', parts: [{ data: {} }] } as const;
      const more = contextId === undefined ? {} : { contextId };
      return (await tasks.send({ message, skill: 'flow', arguments: given as never, ...more })).taskId;
    },
  };
}

const generationsOf = (followed: readonly Followed[]): number[] =>
  followed.map((one) => (one.kind === 'snapshot' ? one.task.generation : one.generation));

const through = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

async function collected(following: AsyncIterable<Followed>): Promise<Followed[]> {
  const got: Followed[] = [];
  for await (const one of following) got.push(one);
  return got;
}

const twoSteps: Run = async (ctx) => {
  ctx.progress('half');
  await ctx.sleep({ minutes: 1 });
  ctx.artifact({ artifactId: 'rows', text: 'a' });
  return 'done';
};

describe('a served task', () => {
  it('shows an event that comes between the snapshot and the rest once (A2A-S4)', async () => {
    const { app, tasks, start } = served(twoSteps);
    const taskId = await start();
    const following = tasks.follow(taskId, { signal: new AbortController().signal })[Symbol.asyncIterator]();
    const { value: snapshot } = (await following.next()) as { value: Followed };
    await app.pass({ minutes: 5 });
    const rest = await collected({ [Symbol.asyncIterator]: () => following });
    const last = (await tasks.read(taskId)).generation;
    expect(generationsOf([snapshot, ...rest])).toEqual(through(1, last));
  });

  it('ends once where a cancel meets its end, whatever comes first (A2A-S9)', async () => {
    const ends = new Set<string>();
    for (let turns = 0; turns < 30; turns++) {
      const { app, tasks, start } = served(async (ctx) => {
        for (let at = 0; at < 4; at++) await ctx.step(`step ${at}`, async () => at);
        return 'done';
      });
      const taskId = await start();
      const running = app.settleDown();
      for (let at = 0; at < turns; at++) await setImmediate();
      const answer = tasks.cancel(taskId).then(
        ({ status }) => status.state,
        (error: unknown) => (error as EngineError).code,
      );
      await running;
      await app.pass({ seconds: 10 });
      const { state } = (await tasks.read(taskId)).status;
      expect([await answer, state]).toEqual(state === 'canceled' ? ['canceled', state] : ['TASK_ENDED', 'completed']);
      expect((await tasks.read(taskId)).artifacts).toHaveLength(state === 'canceled' ? 0 : 1);
      ends.add(state);
    }
    expect(ends).toEqual(new Set(['canceled', 'completed']));
  });

  it('has each event once if the answer to any commit is lost (A2A-S26)', async () => {
    const tell = async (lostAt: number) => {
      const losing = new LosingTable(lostAt);
      const { app, deps, start } = served(twoSteps, { table: losing.table });
      const taskId = await start();
      for (let passes = 0; passes < 3; passes++) await app.pass({ minutes: 10 }).catch(onlyLost);
      const { past } = await readTask(deps, taskId);
      const kinds = past.map((one) => (one.kind === 'status' ? one.status.state : one.kind));
      return { told: { generations: past.map(({ generation }) => generation), kinds }, commits: losing.commits };
    };
    const calm = await tell(Infinity);
    expect(calm.told.kinds.at(-1)).toBe('completed');
    for (const lostAt of through(1, calm.commits))
      expect((await tell(lostAt)).told, `commit ${lostAt}`).toEqual(calm.told);
  });

  it('has each event once if every message to its worker comes twice (A2A-S27)', async () => {
    const { app, deps, tasks, start } = served(twoSteps);
    const sendTurn = deps.queues.sendTurn.bind(deps.queues);
    let count = 0;
    deps.queues.sendTurn = async (message, dedupId) => {
      await sendTurn(message, dedupId);
      await sendTurn(message, `again-${++count}`);
    };
    const taskId = await start();
    await app.pass({ minutes: 10 });
    expect(count).toBeGreaterThan(1);
    const got = await collected(tasks.follow(taskId, { afterGeneration: 0, signal: new AbortController().signal }));
    expect(got.map((one) => (one.kind === 'status' ? one.status.state : one.kind))).toEqual([
      ...['working', 'working', 'artifact', 'artifact', 'completed'],
    ]);
    expect(generationsOf(got)).toEqual(through(2, 6));
  });

  it('is read at once, also while a list does not show it yet (A2A-S33)', async () => {
    const memory = new MemoryTable();
    let isStale = true;
    const table: Table = {
      ...asTable(memory),
      queryIndex: async (query) => (isStale ? { items: [] } : memory.queryIndex(query)),
    };
    const { tasks, start } = served(twoSteps, { table });
    const taskId = await start();
    expect((await tasks.list({ pageSize: 10 })).tasks).toEqual([]);
    expect((await tasks.read(taskId)).status.state).toBe('submitted');
    isStale = false;
    expect((await tasks.list({ pageSize: 10 })).tasks.map((task) => task.taskId)).toEqual([taskId]);
  });
});

describe('two tasks of one context', () => {
  const afterSignal: Run = async (ctx, { of }: { readonly of: string }) => {
    ctx.progress(`waiting for ${of}`);
    return { of, got: await ctx.signal('go') };
  };
  const outcome = async (tasks: Tasks, taskId: string) => {
    const { status, artifacts } = await tasks.read(taskId);
    return [status.state, ...artifacts.flatMap(({ parts }) => parts)];
  };

  it('have their own results, in whichever order they end (A2A-S31, S3-13)', async () => {
    const { app, tasks, start } = served(afterSignal);
    const first = await start({ of: 'a' }, 'c');
    const second = await start({ of: 'b' }, 'c');
    await app.settleDown();
    await app.signal(second, 'go', 'B');
    await app.settleDown();
    expect(await outcome(tasks, second)).toEqual(['completed', { data: { of: 'b', got: 'B' } }]);
    expect(await outcome(tasks, first)).toEqual(['working']);
    await app.signal(first, 'go', 'A');
    await app.settleDown();
    expect(await outcome(tasks, first)).toEqual(['completed', { data: { of: 'a', got: 'A' } }]);
  });

  it('have their own results if what they wait for comes in one moment (S3-18)', async () => {
    const { app, tasks, start } = served(afterSignal);
    const ids = [await start({ of: 'a' }, 'c'), await start({ of: 'b' }, 'c')];
    await app.settleDown();
    await Promise.all(ids.map((id, at) => app.signal(id, 'go', at)));
    await app.settleDown();
    expect(await Promise.all(ids.map((id) => outcome(tasks, id)))).toEqual([
      ['completed', { data: { of: 'a', got: 0 } }],
      ['completed', { data: { of: 'b', got: 1 } }],
    ]);
  });
});

describe('a served task that leaves work to others', () => {
  const background: AnyWorkflow = defineWorkflow({
    name: 'background',
    run: async (ctx, { waves }: { readonly waves: number }): Promise<unknown> => {
      const got = await ctx.signal('result');
      return waves > 1 ? ctx.child(background, { waves: waves - 1 }) : got;
    },
  });
  const delegating: Run = async (ctx, { waves }: { readonly waves: number }) => {
    ctx.progress('I have passed this on.');
    return waves === 0 ? 'at once' : ctx.child(background, { waves });
  };
  /** Returns the runs of `background` that are under way. */
  const under = async ({ deps }: Served): Promise<readonly string[]> => {
    const { runs } = await listRuns(deps, { workflow: 'background', status: 'running', limit: 10 });
    return runs.map(({ runId }) => runId);
  };

  it.each([0, 1, 2])('is working until the last of %i waves of it has its result (S3-16)', async (waves) => {
    const world = served(delegating, { more: [background] });
    const taskId = await world.start({ waves });
    await world.app.settleDown();
    for (let wave = waves; wave > 0; wave--) {
      const { status, artifacts } = await world.tasks.read(taskId);
      expect([status.state, status.message?.parts, artifacts]).toEqual([
        ...['working', [{ text: 'I have passed this on.' }], []],
      ]);
      for (const runId of await under(world)) await world.app.signal(runId, 'result', `wave ${wave}`);
      await world.app.settleDown();
    }
    const done = await world.tasks.read(taskId);
    expect([done.status.state, done.artifacts[0]?.parts]).toEqual([
      ...['completed', [{ text: waves === 0 ? 'at once' : 'wave 1' }]],
    ]);
  });

  /** Has a task pass its work on twice, and the results of both come. */
  async function passedOn() {
    const world = served(delegating, { more: [background] });
    const [root, other] = [await world.start({ waves: 1 }), await world.start({ waves: 1 })];
    await world.app.settleDown();
    const [ofRoot, ofOther] = (await under(world)).toSorted() as [string, string];
    const parentOf = async (runId: string) => (await world.app.show(runId)).parent?.runId;
    const isInOrder = (await parentOf(ofRoot)) === root;
    return { world, root, other, ofRoot: isInOrder ? ofRoot : ofOther, ofOther: isInOrder ? ofOther : ofRoot };
  }
  const stateOf = async ({ tasks }: Served, taskId: string) => (await tasks.read(taskId)).status.state;

  it('is the only one that the result ends, and its stream shows it (S3-17)', async () => {
    const { world, root, other, ofRoot } = await passedOn();
    const following = collected(world.tasks.follow(root, { signal: new AbortController().signal }));
    await world.app.signal(ofRoot, 'result', 'R');
    await world.app.pass({ minutes: 1 });
    expect((await following).at(-1)).toMatchObject({ kind: 'status', status: { state: 'completed' } });
    expect(await stateOf(world, other)).toBe('working');
  });

  it('is canceled with what it has passed on, and a late result changes neither it nor another (S3-17)', async () => {
    const { world, root, other, ofRoot } = await passedOn();
    const cancelling = world.tasks.cancel(root);
    await world.app.pass({ minutes: 1 });
    expect((await cancelling).status.state).toBe('canceled');
    const before = await world.tasks.read(root);
    expect(await world.app.signal(ofRoot, 'result', 'late')).toBe(false);
    await world.app.pass({ minutes: 1 });
    expect(await world.tasks.read(root)).toEqual(before);
    expect(await stateOf(world, other)).toBe('working');
  });

  it('fails alone if what it has passed on fails (S3-17)', async () => {
    const { world, root, other, ofRoot } = await passedOn();
    await world.app.cancel(ofRoot);
    await world.app.settleDown();
    expect([await stateOf(world, root), await stateOf(world, other)]).toEqual(['failed', 'working']);
  });
});

/** A table of which one commit is written and its answer lost. */
class LosingTable {
  commits = 0;
  readonly table: Table;

  constructor(lostAt: number) {
    const memory = new MemoryTable();
    const losing = async <Outcome extends WriteResult | TransactResult>(
      writes: readonly Write[],
      write: () => Promise<Outcome>,
    ): Promise<Outcome> => {
      const outcome = await write();
      const isCommit = writes.some((one) => one.kind === 'put' && one.item.sk.startsWith('h#'));
      if (isCommit && ++this.commits === lostAt) throw new EngineError('STORE_RESULT_UNKNOWN', 'no answer');
      return outcome;
    };
    this.table = {
      ...asTable(memory),
      write: (write) => losing([write], () => memory.write(write)),
      transact: (writes) => losing(writes, () => memory.transact(writes)),
    };
  }
}

function asTable(table: Table): Table {
  return {
    write: (write) => table.write(write),
    transact: (writes) => table.transact(writes),
    get: (...asked) => table.get(...asked),
    queryPartition: (...asked) => table.queryPartition(...asked),
    queryIndex: (query) => table.queryIndex(query),
  };
}

function onlyLost(error: unknown): void {
  if (!(error instanceof EngineError) || !error.code.startsWith('STORE_')) throw error;
}
