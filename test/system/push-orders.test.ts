import { describe, expect, it } from 'vitest';
import { pollTask } from '../../lib/operations/remote-task/poll-task.js';
import type { Deps } from '../../lib/operations/deps.js';
import type { PollMessage } from '../../lib/queue/queue.js';
import type { RemoteTaskTransport } from '../../lib/remote/transport.js';
import { withParts } from '../support/store-proxy.js';
import { aPushedTask, type PushWorld, quotes, statusBody } from '../unit/http/pushes.js';
import { replayHistory } from './replay-history.js';

// Two polls, two pushes and the timeout of one wait meet at its settlement, in each of their 120 orders, with each of
// them doubled or lost: one settles, and the history says the same each time that it is replayed.

const actors = ['poll 1', 'poll 2', 'push 1', 'push 2', 'timeout'] as const;
type Actor = (typeof actors)[number];
type Fate = 'once' | 'doubled' | 'lost';

/** When the pushes come: before the token exists, before the task is known, or when both are. */
const moments = ['before the token', 'before the handle', 'after the start'] as const;

function orders<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((first) => orders(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

const onlyOnce = new Map<Actor, Fate>(actors.map((actor) => [actor, 'once']));
const fates: readonly ReadonlyMap<Actor, Fate>[] = [
  onlyOnce,
  ...actors.flatMap((actor) => (['doubled', 'lost'] as const).map((fate) => new Map([...onlyOnce, [actor, fate]]))),
  new Map(actors.map((actor) => [actor, 'doubled'])),
];

const result = { state: 'TASK_STATE_COMPLETED', said: 'done' };
const endedTask: Pick<RemoteTaskTransport, 'get'> = {
  get: async () => ({ kind: 'ended', end: { kind: 'completed', result, isError: false } }),
};

/** Runs one invocation up to its settlement, and from there on when it is let go. */
class Invocation {
  readonly done: Promise<string>;
  #go: () => void = () => undefined;

  constructor(world: PushWorld, message: PollMessage, atMs: number) {
    const held = new Promise<void>((resolve) => (this.#go = resolve));
    const store = withParts(world.deps.store, (part, name) =>
      name !== 'tokens'
        ? part
        : new Proxy(part, {
            get: (target, method) => {
              const found: unknown = Reflect.get(target, method, target);
              if (typeof found !== 'function') return found;
              const call = found.bind(target) as (...given: readonly unknown[]) => unknown;
              return method === 'settle'
                ? async (...given: readonly unknown[]) => held.then(() => call(...given))
                : call;
            },
          }),
    );
    const transports = { get: () => endedTask as RemoteTaskTransport };
    const deps: Deps = { ...world.deps, store, transports, clock: { nowMs: () => atMs } };
    this.done = pollTask(deps, message);
  }

  async letGo(): Promise<string> {
    this.#go();
    return this.done;
  }
}

interface Case {
  readonly order: readonly Actor[];
  readonly fate: ReadonlyMap<Actor, Fate>;
  readonly moment: (typeof moments)[number];
}

/** Plays one order. Returns what happened. */
async function play({ order, fate, moment }: Case) {
  const world = await aPushedTask();
  const { runId } = world;
  if (moment !== 'after the start') await pushEarly(world, moment);
  const { deadlineAtMs = 0, dueAtMs = 0 } = (await world.deps.store.tokens.read(runId, '1'))!;
  const poll: PollMessage = { kind: 'poll', runId, waitId: '1' };
  const nowMs = dueAtMs;

  // All of them have read the item before any of them settles.
  const invocations = new Map<Actor, readonly Invocation[]>();
  for (const actor of actors) {
    const count = fate.get(actor) === 'doubled' ? 2 : 1;
    const messages: PollMessage[] = [];
    for (let times = 0; times < count; times++) {
      if (actor === 'timeout') messages.push({ ...poke(poll), dueAtMs: deadlineAtMs });
      else if (actor.startsWith('poll')) messages.push(poke(poll));
      else {
        world.clock.atMs += 2_000;
        expect(await world.push({ body: statusBody(world.taskId) })).toMatchObject({ status: 202 });
        messages.push(...world.pokes());
      }
    }
    const atMs = actor === 'timeout' ? deadlineAtMs : nowMs;
    invocations.set(
      actor,
      messages.map((message) => new Invocation(world, message, atMs)),
    );
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  const settled: string[] = [];
  for (const actor of order) {
    if (fate.get(actor) === 'lost') continue;
    for (const invocation of invocations.get(actor) ?? [])
      if ((await invocation.letGo()) === 'settled') settled.push(actor);
  }
  await world.runTurns();
  return { world, settled };
}

const poke = (message: PollMessage): PollMessage => ({ ...message });

async function pushEarly(world: PushWorld, moment: Case['moment']): Promise<void> {
  const waitId = moment === 'before the token' ? '8' : '7';
  if (moment === 'before the handle') {
    const token = (await world.deps.store.tokens.read(world.runId, '1'))!;
    const { handle: _handle, dueAtMs: _dueAtMs, startedAtMs: _startedAtMs, ...starting } = { ...token, waitId };
    await world.deps.store.tokens.put(starting);
  }
  const { token, secret } = world.deps.tokens.pushToken({ runId: world.runId, waitId, server: 'agent' });
  const { status } = await world.push({ token, headers: { 'a2a-notification-token': secret } });
  expect(status).toBe(moment === 'before the token' ? 404 : 202);
  expect(world.pokes()).toEqual([]);
}

describe.each(moments)('two polls, two pushes and a timeout, with a push %s', (moment) => {
  it('settle the wait once in all 120 orders, each of them doubled or lost, and replay to the same end', async () => {
    let played = 0;
    const winners = new Set<string>();
    for (const order of orders(actors)) {
      for (const fate of fates) {
        const { world, settled } = await play({ order, fate, moment });
        const first = order.find((actor) => fate.get(actor) !== 'lost')!;
        // The first that settles wins, and is the only one that is told so.
        expect([settled, order, [...fate]]).toEqual([[first], order, [...fate]]);
        const records = (await world.deps.store.runs.read(world.runId))!;
        const isTimeout = first === 'timeout';
        expect(records.head.status).toBe(isTimeout ? 'failed' : 'completed');
        const replays = await Promise.all([replayHistory(records, quotes), replayHistory(records, quotes)]);
        expect(replays[0]).toEqual(replays[1]);
        expect(replays[0]).toMatchObject({ kind: 'ended', outcome: { status: isTimeout ? 'failed' : 'completed' } });
        winners.add(first);
        played++;
      }
    }
    expect([played, winners.size]).toEqual([120 * fates.length, actors.length]);
  }, 240_000);
});
