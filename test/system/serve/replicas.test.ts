import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeWithDynoxide } from '../../support/dynoxide.js';
import { eventually } from '../../support/eventually.js';
import { closeAll } from '../../unit/remote/loopback.js';
import { Caller, generationOf, type Event, type TaskJson } from './caller.js';
import { startNotices } from './notices.js';
import type { Death } from './replica-process.js';
import { type Replica, Replicas } from './replicas.js';

const skill = (name: string, given: object = {}) => [{ data: { skill: name, arguments: given } }];

/** Returns numbers from `first` to `last`. */
const through = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

// Processes on a busy machine are slow.
vi.setConfig({ testTimeout: 120_000 });

describeWithDynoxide('three replicas on one store', () => {
  let replicas: Replicas;
  let one: string;
  let two: string;
  let three: string;
  let caller: Caller;
  beforeAll(async () => {
    replicas = await Replicas.start(3);
    [one = '', two = '', three = ''] = replicas.urls;
    caller = new Caller(await replicas.keyOf('ann'));
  });
  afterAll(async () => {
    await replicas.stop();
    await closeAll();
  });

  it('A2A-S3, A2A-S8, S3-15: run a task on the first, watch it on the second, and cancel it on the third', async () => {
    const notices = await startNotices();
    const { id } = await caller.send(one, skill('work', { noticeUrl: notices.url }));
    const watched: Event[] = [];
    const watching = (async () => {
      for await (const event of caller.follow(two, id)) watched.push(event);
    })();
    await notices.heard(id, 'began');
    const { status } = await caller.cancel(three, id);
    const acknowledgedAtMs = Date.now();
    expect(['TASK_STATE_CANCELED', 'TASK_STATE_WORKING']).toContain(status.state);
    await watching;
    expect(watched.at(-1)?.kind).toBe('canceled');
    expect(watched.map(({ generation }) => generation)).toEqual(
      through(watched[0]!.generation, watched.at(-1)!.generation),
    );
    const told = await notices.heard(id, 'was told');
    expect(told.atMs - acknowledgedAtMs).toBeLessThan(2_500);
    // What the step returned then is not the result of the task, on no replica.
    const tasks = await Promise.all(replicas.urls.map((url) => caller.read(url, id)));
    for (const task of tasks) expect(task).toEqual(tasks[0]);
    expect([tasks[0]?.status.state, tasks[0]?.artifacts]).toEqual(['TASK_STATE_CANCELED', undefined]);
  });

  it('A2A-S4: show a watcher who leaves after any event, and asks the next replica, each event once', async () => {
    const { id } = await caller.send(one, skill('listen'));
    /** Follows the task on one replica, leaves it after so many events, and goes on at the next one. */
    const follow = async (leaveAfter: number, how: 'cursor' | 'snapshot'): Promise<readonly Event[]> => {
      const seen: Event[] = [];
      for (let at = 0; seen.at(-1)?.kind !== 'completed'; at++) {
        const cursor = how === 'cursor' ? [seen.at(-1)?.generation ?? 0] : [];
        let left = at === 0 ? leaveAfter : Infinity;
        try {
          for await (const event of caller.follow(replicas.urls[at % 3]!, id, ...cursor)) {
            seen.push(event);
            if (--left === 0) break;
          }
        } catch (error) {
          // The task ended while nobody watched.
          expect([how, String(error)]).toEqual(['snapshot', expect.stringContaining('-32004')]);
          break;
        }
      }
      return seen;
    };
    const byCursor = Promise.all(through(1, 11).map((leaveAfter) => follow(leaveAfter, 'cursor')));
    const bySnapshot = Promise.all([2, 5, 8].map((leaveAfter) => follow(leaveAfter, 'snapshot')));
    for (const [at, text] of ['a', 'b', 'c', 'd', 'bye'].entries())
      await caller.send(replicas.urls[at % 3]!, [{ text }], { taskId: id });
    const last = generationOf(await readEnded(id));
    const [whole, ...others] = (await byCursor).reverse();
    expect(whole?.map(({ generation }) => generation)).toEqual(through(2, last));
    for (const seen of others) expect(seen).toEqual(whole);
    for (const seen of await bySnapshot) {
      expect(seen[0]?.isSnapshot).toBe(true);
      for (const [at, event] of seen.entries()) {
        const before = seen[at - 1]?.generation ?? 0;
        if (event.isSnapshot) expect(event.generation).toBeGreaterThanOrEqual(before);
        else expect(event.generation).toBe(before + 1);
      }
    }
  });

  function readEnded(id: string): Promise<TaskJson> {
    return vi.waitFor(
      async () => {
        const task = await caller.read(two, id);
        expect(task.status.state).toBe('TASK_STATE_COMPLETED');
        return task;
      },
      { timeout: 20_000 },
    );
  }

  it('make one task of 20 concurrent sends with one key, and one more for another caller', async () => {
    const bob = new Caller(await replicas.keyOf('bob'));
    const asked = { idempotencyKey: 'k-1', messageId: 'm' };
    const sendAll = (by: Caller): Promise<TaskJson[]> =>
      Promise.all(through(1, 20).map((at) => by.send(replicas.urls[at % 3]!, skill('listen'), asked)));
    const [ofAnn, ofBob] = await Promise.all([sendAll(caller), sendAll(bob)]);
    const ids = (tasks: readonly TaskJson[]): string[] => [...new Set(tasks.map(({ id }) => id))];
    expect([ids(ofAnn).length, ids(ofBob).length]).toEqual([1, 1]);
    expect(ids(ofAnn)).not.toEqual(ids(ofBob));
    const { tasks } = await bob.call<{ readonly tasks: readonly TaskJson[] }>(three, 'ListTasks', {});
    expect(ids(tasks)).toEqual(ids(ofBob));
  });

  it('S3-12: answer 20 messages of one context one after the other, each with its own answer', async () => {
    const first = await caller.send(one, [{ text: 'hold' }]);
    const { contextId, id: taskId } = first;
    const sent = [first];
    for (const at of through(2, 20))
      sent.push(await caller.send(replicas.urls[at % 3]!, [{ text: String(at) }], { contextId }));
    const states = async (): Promise<string[]> =>
      Promise.all(sent.slice(1).map(async ({ id }) => (await caller.read(two, id)).status.state));
    expect([...new Set(await states())]).toEqual(['TASK_STATE_SUBMITTED']);
    await caller.send(three, [{ text: 'go on' }], { taskId });
    const answers: { readonly to: string; readonly beganAtMs: number; readonly endedAtMs: number }[] = [];
    for (const { id } of sent) {
      const { artifacts } = await readEnded(id);
      answers.push(artifacts![0]!.parts[0]!.data as (typeof answers)[number]);
    }
    expect(answers.map(({ to }) => to)).toEqual(['hold', ...through(2, 20).map(String)]);
    for (const [at, { beganAtMs }] of answers.entries())
      if (at > 0) expect(beganAtMs).toBeGreaterThanOrEqual(answers[at - 1]!.endedAtMs);
  });

  /** Has a conversation with a replica that may die; what it has not heard is said again to another one. */
  async function converse(death?: Death): Promise<Told> {
    const owner = death === undefined ? replicas.list[0]! : await replicas.add(death);
    const key = { idempotencyKey: `talk-${++talks}`, messageId: 'm1' };
    const say = async (parts: readonly object[], more: object): Promise<TaskJson> => {
      const heard = owner.isAlive() ? await caller.send(owner.url, parts, more).catch(() => undefined) : undefined;
      return heard ?? caller.send(two, parts, more);
    };
    let isOver = false;
    // What the dead one has not asked for anybody to do is found by the next sweep.
    const swept = owner.ended.then(() => (isOver ? undefined : replicas.sweep()));
    const { id } = await say(skill('talk', { of: 'sea' }), key);
    const watched: Event[] = [];
    const watching = (async () => {
      for await (const event of caller.follow(three, id, 0)) watched.push(event);
    })();
    await eventually(async () => {
      expect((await caller.read(two, id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    });
    await say([{ text: 'blue' }], { taskId: id, messageId: 'm2' });
    await watching;
    await replicas.idle();
    const isDead = !(await answers(owner));
    isOver = !isDead;
    if (!isDead && death !== undefined) await owner.kill();
    if (death !== undefined) await swept;
    return { task: await caller.read(two, id), watched, isDead };
  }

  it(
    'tell a caller and a watcher the same when the owner of the task is killed at any commit',
    async () => {
      const calm = await converse();
      const { commits } = (await replicas.store.runs.read(calm.task.id))!;
      for (const moment of moments) {
        let deaths = 0;
        for (let isDead = true; isDead;) {
          const death: Death = { moment, of: everyWrite ? 'writes' : 'commits', occurrence: deaths + 1 };
          const told = await converse(death);
          const where = JSON.stringify(death);
          expect(told.watched, where).toEqual(calm.watched);
          expect(endOf(told.task), where).toEqual(endOf(calm.task));
          ({ isDead } = told);
          if (isDead) deaths++;
        }
        expect(deaths).toBeGreaterThanOrEqual(commits.length);
      }
    },
    everyWrite ? 600_000 : 120_000,
  );
});

/** With `REPLICA_DEATHS=all` an owner dies before and after each of its writes, else after each commit. */
const everyWrite = process.env['REPLICA_DEATHS'] === 'all';
const moments = everyWrite ? (['before', 'after'] as const) : (['after'] as const);
let talks = 0;

function answers({ url }: Replica): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

interface Told {
  readonly task: TaskJson;
  readonly watched: readonly Event[];
  readonly isDead: boolean;
}

/** Returns what a caller has at the end, without ids and instants. */
function endOf({ status: { state }, artifacts, metadata }: TaskJson) {
  return { state, artifacts, metadata };
}
