import { defineApp, defineWorkflow } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../lib/base/caller.js';
import { EngineError } from '../../../lib/base/errors.js';
import { silentLog } from '../../../lib/base/log.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { createOpenStream } from '../../../lib/operations/serve/stream-slots.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import { drainMicrotasks } from '../../../lib/process/drain.js';
import { createA2aRoutes } from '../../../lib/serve/a2a/routes.js';
import type { Timer } from '../../../lib/serve/sse.js';
import type { Tasks } from '../../../lib/serve/tasks.js';
import type { ServeConfig } from '../../../lib/workflow/serve.js';

const ann: Caller = { id: 'ann', roles: ['call'] };
const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'Waits' },
  skills: { report: { description: 'Waits for the end' } },
};

interface Desk {
  readonly app: TestApp;
  readonly deps: Deps;
  readonly tasks: Tasks;
  /** Open streams, as told by the metric. */
  readonly told: number[];
  readonly start: () => Promise<string>;
  /** Subscribes to a task through a process. */
  readonly subscribe: (taskId: string, by?: Process) => Promise<Stream>;
  readonly aProcess: (caller?: Caller) => Process;
}

/** A process that serves, until it is frozen. */
interface Process {
  readonly fetch: (path: string, body: object, version?: string) => Promise<Response>;
  freeze(): void;
}

interface Stream {
  readonly status: number;
  /** Text so far, as its client has read it. */
  readonly text: () => string;
  readonly isOpen: () => boolean;
  leave(): Promise<void>;
}

function aDesk(max: number, { streamMaxMs = 180_000 }: { readonly streamMaxMs?: number } = {}): Desk {
  const told: number[] = [];
  const app = createTestApp(
    defineApp({ workflows: [defineWorkflow({ name: 'report', run: async (ctx) => ctx.signal('end') })] }),
    {
      metrics: {
        put: (name: string, value: number) => {
          if (name === 'OpenStreams') told.push(value);
        },
      },
    },
  );
  const { deps } = app as unknown as { readonly deps: Deps };
  const tasks = createTasks({ ...deps, caller: ann }, serve);
  const timer: Timer = (delayMs, fire) => {
    const withdrawn = new AbortController();
    void deps.delay(delayMs, withdrawn.signal).then(() => {
      if (!withdrawn.signal.aborted) fire();
    });
    return () => {
      withdrawn.abort();
    };
  };
  const aProcess = (caller: Caller = ann): Process => {
    let isFrozen = false;
    const thawed: (() => void)[] = [];
    const delay: Deps['delay'] = async (delayMs, signal) => {
      await deps.delay(delayMs, signal);
      if (isFrozen) await new Promise<void>((resolve) => thawed.push(resolve));
    };
    const openStream = createOpenStream({ ...deps, delay, caller }, max);
    const routes = createA2aRoutes({
      ...{ serve, workflows: deps.app.workflows, clock: deps.clock, log: silentLog, pushes: false, timer, streamMaxMs },
      admit: () => ({ tasks: createTasks({ ...deps, caller }, serve, openStream), openStream }),
    });
    return {
      fetch: async (path, body, version = '1.0') =>
        routes.request(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'a2a-version': version },
          body: JSON.stringify(body),
        }),
      freeze: () => {
        isFrozen = !isFrozen;
        if (!isFrozen) for (const go of thawed.splice(0)) go();
      },
    };
  };
  const only = aProcess();
  return {
    ...{ app, deps, tasks, told, aProcess },
    start: async () => {
      const message = { messageId: deps.random.hex(8), role: 'user', parts: [] } as const;
      const { taskId } = await tasks.send({ message, skill: 'report', arguments: {} });
      await app.settleDown();
      return taskId;
    },
    subscribe: async (taskId, by = only) => streamOf(await by.fetch('/a2a', rpc('SubscribeToTask', { id: taskId }))),
  };
}

function streamOf(response: Response): Stream {
  let text = '';
  let isOpen = response.status === 200;
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  void (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    isOpen = false;
  })();
  return {
    status: response.status,
    text: () => text,
    isOpen: () => isOpen,
    leave: async () => {
      await reader.cancel();
      await drainMicrotasks();
    },
  };
}

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });

describe('streams to callers', () => {
  it('of one caller alone leave a quarter of the places to others', async () => {
    const desk = aDesk(8, { streamMaxMs: 30_000 });
    const taskId = await desk.start();
    const statuses: number[] = [];
    for (let at = 0; at < 8; at++) statuses.push((await desk.subscribe(taskId)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 503, 503]);
    const bob = { id: 'bob', roles: ['call'] } as const;
    const message = { messageId: 'b', role: 'user', parts: [] } as const;
    const own = await createTasks({ ...desk.deps, caller: bob }, serve).send({
      message,
      skill: 'report',
      arguments: {},
    });
    await desk.app.settleDown();
    const byBob = desk.aProcess(bob);
    const others = [await desk.subscribe(own.taskId, byBob), await desk.subscribe(own.taskId, byBob)];
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    expect((await desk.subscribe(own.taskId, byBob)).status).toBe(503);
  });

  it.each([
    ['the task ends', async ({ app }: Desk, taskId: string) => app.signal(taskId, 'end').then(() => app.settleDown())],
    ['its client leaves', async (_: Desk, __: string, stream: Stream) => stream.leave()],
    ['its time is over', async () => undefined],
  ])('are no more than there may be, and one more when %s', async (_, end) => {
    const desk = aDesk(2, { streamMaxMs: 30_000 });
    const [first, second, third] = [await desk.start(), await desk.start(), await desk.start()];
    const stream = await desk.subscribe(first);
    expect((await desk.subscribe(second)).status).toBe(200);
    expect((await desk.subscribe(third)).status).toBe(503);
    await end(desk, first, stream);
    await desk.app.pass({ seconds: 35 });
    expect(stream.isOpen()).toBe(false);
    expect((await desk.subscribe(third)).status).toBe(200);
    expect(desk.told).toEqual([1, 2, 2, expect.any(Number)]);
  });

  it.each([
    ['/a2a', '1.0', rpc('SendStreamingMessage', message10())],
    [
      '/a2a',
      '0.3',
      rpc('message/stream', {
        message: { messageId: 'm', kind: 'message', role: 'user', parts: [{ kind: 'data', data: {} }] },
      }),
    ],
    ['/a2a/rest/message:stream', '1.0', message10()],
  ])(
    'beyond that are refused on %s of %s before the message is taken: 503, and what to do',
    async (path, version, body) => {
      const desk = aDesk(1);
      await desk.subscribe(await desk.start());
      const refused = await desk.aProcess().fetch(`/agents/report${path}`, body, version);
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('15');
      expect(await refused.text()).toContain('poll the task, or have its news pushed');
      expect((await desk.tasks.list({ pageSize: 10 })).totalSize).toBe(1);
    },
  );

  it('cost no place where the task is not found or has ended', async () => {
    const desk = aDesk(1);
    const taskId = await desk.start();
    await desk.app.signal(taskId, 'end');
    await desk.app.settleDown();
    for (const id of [taskId, 'f'.repeat(32)]) expect((await desk.subscribe(id)).status).toBe(200);
    expect(desk.told).toEqual([]);
    expect((await desk.subscribe(await desk.start())).isOpen()).toBe(true);
  });

  it('give their place back if the message is refused', async () => {
    const desk = aDesk(1);
    const { message } = message10();
    const refused = await desk
      .aProcess()
      .fetch('/a2a', rpc('SendStreamingMessage', { message: { ...message, taskId: 'f'.repeat(32) } }));
    expect(await refused.text()).toContain('no task has this id');
    const taskId = await desk.start();
    // Longer than the interval of renewals: none may take the place again.
    await desk.app.pass({ seconds: 70 });
    expect((await desk.subscribe(taskId)).status).toBe(200);
  });

  it('keep their place for as long as they are open', async () => {
    const desk = aDesk(1, { streamMaxMs: 840_000 });
    const taskId = await desk.start();
    const stream = await desk.subscribe(taskId);
    for (let minutes = 0; minutes < 13; minutes++) {
      await desk.app.pass({ minutes: 1 });
      expect((await desk.subscribe(taskId)).status).toBe(503);
    }
    expect(stream.isOpen()).toBe(true);
    await desk.app.pass({ minutes: 1 });
    expect(stream.isOpen()).toBe(false);
    expect(stream.text()).toContain('subscribe again');
  });

  it('of a process that has died leave their places within a minute, and it ends them if it was only frozen', async () => {
    const desk = aDesk(1, { streamMaxMs: 840_000 });
    const taskId = await desk.start();
    const frozen = desk.aProcess();
    const stream = await desk.subscribe(taskId, frozen);
    await desk.app.pass({ seconds: 30 });
    frozen.freeze();
    await desk.app.pass({ seconds: 45 });
    expect((await desk.subscribe(taskId)).status).toBe(503);
    await desk.app.pass({ seconds: 10 });
    const next = await desk.subscribe(taskId);
    expect(next.status).toBe(200);
    frozen.freeze();
    await desk.app.pass({ seconds: 1 });
    expect([stream.isOpen(), next.isOpen()]).toEqual([false, true]);
    await desk.app.pass({ minutes: 2 });
    expect([next.isOpen(), (await desk.subscribe(taskId)).status]).toEqual([true, 503]);
  });

  it('outlive a store that does not answer for less than a minute, and end with one that is away for longer', async () => {
    const desk = aDesk(1, { streamMaxMs: 840_000 });
    const stream = await desk.subscribe(await desk.start());
    const slots = await desk.deps.store.streamSlots();
    const renew = slots.renew.bind(slots);
    slots.renew = async () => {
      throw new EngineError('STORE_UNAVAILABLE', 'away');
    };
    await desk.app.pass({ seconds: 50 });
    slots.renew = renew;
    await desk.app.pass({ minutes: 1 });
    expect(stream.isOpen()).toBe(true);
    slots.renew = async () => {
      throw new EngineError('STORE_UNAVAILABLE', 'away');
    };
    await desk.app.pass({ minutes: 2 });
    expect(stream.isOpen()).toBe(false);
  });

  it('that open at once in several processes are as many as there may be', async () => {
    const desk = aDesk(5);
    const taskId = await desk.start();
    const opened = await Promise.all(Array.from({ length: 20 }, () => desk.subscribe(taskId, desk.aProcess())));
    expect(opened.filter(({ status }) => status === 200)).toHaveLength(5);
  });
});

describe('waits of callers', () => {
  const blocking = (id: string) => rpc('SendMessage', { message: { ...message10().message, messageId: id } });
  const stateOf = async (response: Response): Promise<string> => {
    const { result } = (await response.json()) as { result: { task: { status: { state: string } } } };
    return result.task.status.state;
  };

  it('take the place of a stream until they end', async () => {
    const desk = aDesk(1);
    const taskId = await desk.start();
    const waiting = desk.aProcess().fetch('/agents/report/a2a', blocking('m1'));
    await desk.app.pass({ seconds: 20 });
    expect((await desk.subscribe(taskId)).status).toBe(503);
    await desk.app.pass({ seconds: 10 });
    expect(await stateOf(await waiting)).toBe('TASK_STATE_WORKING');
    expect((await desk.subscribe(taskId)).status).toBe(200);
  });

  it('end at once where there is no place, with the task as it is', async () => {
    const desk = aDesk(1);
    await desk.subscribe(await desk.start());
    const { clock } = desk.deps;
    const beganAtMs = clock.nowMs();
    const answered = desk.aProcess().fetch('/agents/report/a2a', blocking('m1'));
    const endedAtMs = answered.then(() => clock.nowMs());
    await desk.app.pass({ seconds: 30 });
    expect(await stateOf(await answered)).toMatch(/SUBMITTED|WORKING/);
    expect(await endedAtMs).toBe(beganAtMs);
    expect((await desk.tasks.list({ pageSize: 10 })).totalSize).toBe(2);
  });

  it('cost no place if they end with their first look', async () => {
    const desk = aDesk(1);
    const taskId = await desk.start();
    await desk.app.signal(taskId, 'end');
    await desk.app.settleDown();
    const asked: unknown[] = [];
    const tasks = createTasks({ ...desk.deps, caller: ann }, serve, async (stream) => void asked.push(stream));
    const untilMs = desk.deps.clock.nowMs() + 25_000;
    expect((await tasks.waitFor(taskId, { untilMs })).status.state).toBe('completed');
    expect(asked).toEqual([]);
  });

  it('give their place back if the store fails', async () => {
    const desk = aDesk(1);
    const taskId = await desk.start();
    const waiting = desk.aProcess().fetch('/agents/report/a2a', blocking('m1'));
    await desk.app.pass({ seconds: 1 });
    const { runs } = desk.deps.store;
    const readAfter = runs.readAfter.bind(runs);
    runs.readAfter = async () => {
      throw new EngineError('STORE_UNAVAILABLE', 'away');
    };
    await desk.app.pass({ seconds: 5 });
    runs.readAfter = readAfter;
    expect((await waiting).status).toBe(200);
    await desk.app.pass({ seconds: 70 });
    expect((await desk.subscribe(taskId)).status).toBe(200);
  });
});

function message10() {
  return { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: {} }] } };
}
