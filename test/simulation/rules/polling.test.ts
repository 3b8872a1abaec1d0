import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import type { Deps } from '../../../lib/operations/deps.js';
import { pollTask } from '../../../lib/operations/remote-task/poll-task.js';
import type { PollMessage } from '../../../lib/queue/queue.js';
import type { Held, PollReply, RemoteTaskTransport } from '../../../lib/remote/transport.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { aFlow, anApp, started, startMs, WatchedServer } from '../../engine/support.js';
import { pollHopsMax } from '../../../lib/operations/remote-task/poll-reply.js';

// Reads of a remote task: each within its claim, hops within theirs, and no more writes and messages than needed.

const runId = '00'.repeat(16);
const poke: PollMessage = { kind: 'poll', runId, waitId: '1' };
const working = { kind: 'working', state: 'working' } as const;
const unreachable = { code: 'REMOTE_UNREACHABLE', message: 'gone' } as const;
const asking = {
  ...({ kind: 'working', state: 'input_required' } as const),
  questions: [{ key: 'q', kind: 'form', message: 'Release?' }] as const,
};
/** Instant at that many seconds from the start. */
const at = (seconds: number): number => startMs + seconds * 1_000;

/** What the reply to the start showed, which is also what most reads show. */
const trail = { changes: [{ state: 'working', atMs: startMs }], count: 1, stateSinceMs: startMs } as const;

/** A remote task that was started at 0 s and is due at 100 s, without a run. Times are in seconds. */
class Task {
  nowS = 100;
  reads = 0;
  /** Writes that were applied since the task was set up. */
  writes = -2;
  /** Messages that were sent: their kind, and for which instant. */
  readonly sent: string[] = [];
  reply: PollReply = working;
  /** Runs elsewhere while the server answers, and before it may be called. */
  meanwhile: () => Promise<unknown> = async () => undefined;
  held: (() => Promise<Held>) | undefined;
  readonly table = new MemoryTable({ onApplied: () => (this.writes += 1) });
  readonly store = new RunStore(this.table);
  readonly #deps: Deps;

  constructor() {
    const transport: Pick<RemoteTaskTransport, 'get' | 'admit'> = {
      get: async () => {
        this.reads++;
        await this.meanwhile();
        return this.reply;
      },
      admit: async () => (await this.held?.()) ?? { kind: 'admitted', leave: async () => undefined },
    };
    this.#deps = {
      ...createTestApp(anApp(aFlow(async () => undefined))).deps,
      store: this.store,
      transports: { get: () => transport as RemoteTaskTransport },
      clock: { nowMs: () => at(this.nowS) },
      queues: {
        sendTurn: async () => void this.sent.push('wake'),
        sendWork: async (message) =>
          void this.sent.push(
            `${message.kind} for ${((('dueAtMs' in message ? message.dueAtMs : undefined) ?? 0) - startMs) / 1_000}`,
          ),
        sendStep: async () => undefined,
        sendStart: async () => undefined,
      },
    };
  }

  static async known(more: Partial<TokenRecord> = {}, ttlMs?: number): Promise<Task> {
    const task = new Task();
    await task.store.tokens.put({
      ...{ runId, waitId: '1', server: 'reports', attempt: 1, writerId: 'w', createdAtMs: startMs },
      ...{ deadlineAtMs: at(20_000), pollErrors: 0, ...more },
    });
    const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 't1' } as const;
    await task.store.starts.storeHandle(runId, '1', {
      ...{ startedAtMs: startMs, dueAtMs: at(100), trail },
      handle: ttlMs === undefined ? handle : { ...handle, ttlMs },
    });
    return task;
  }

  /** Returns the result of a poll, or the text of its error. */
  async poll(message: PollMessage = poke): Promise<string> {
    return pollTask(this.#deps, message).catch((error: unknown) => (error as Error).message);
  }

  /** Lets another worker move the due instant. */
  async move(toS = 400): Promise<void> {
    const seenDueAtMs = (await this.store.tokens.read(runId, '1'))?.dueAtMs ?? 0;
    await this.store.polls.claim(runId, '1', { seenDueAtMs, dueAtMs: at(toS) });
  }

  async settle(atS: number): Promise<void> {
    const outcome = { kind: 'completed', result: 1, isError: false } as const;
    await this.store.tokens.settle(runId, '1', { writerId: 's', atMs: at(atS), by: 'relay', outcome });
  }

  async token(): Promise<{ readonly dueS: number; readonly token: TokenRecord | undefined }> {
    const token = await this.store.tokens.read(runId, '1');
    return { dueS: ((token?.dueAtMs ?? 0) - startMs) / 1_000, token };
  }
}
const hopTo = (claimedS: number, count = 1): PollMessage => ({
  ...{ ...poke, dueAtMs: at(claimedS) },
  hop: { count, claimedDueAtMs: at(claimedS) },
});

test('what a read taught is recorded within its claim: a worker that was overtaken changes and sends nothing', async () => {
  for (const reply of [
    { kind: 'unreadable', error: unreachable },
    { ...working, pollAfterMs: 20_000 },
  ] as const) {
    const task = await Task.known();
    task.meanwhile = () => task.move();
    task.reply = reply;
    await task.poll();
    const { dueS, token } = await task.token();
    expect({ dueS, pollErrors: token?.pollErrors, sent: task.sent }).toEqual({ dueS: 400, pollErrors: 0, sent: [] });
  }
});

test('questions are recorded within the claim of the read: a worker that was overtaken changes and sends nothing', async () => {
  const task = await Task.known({ answersQuestions: true });
  task.meanwhile = () => task.move();
  task.reply = asking;
  expect(await task.poll()).toBe('working');
  const { dueS, token } = await task.token();
  expect({ dueS, questions: token?.questions, sent: task.sent }).toEqual({ dueS: 400, questions: undefined, sent: [] });
});

test('questions are taken in once: those that a turn has seen wake nobody again, and the next read is arranged', async () => {
  const task = await Task.known({ answersQuestions: true });
  task.reply = asking;
  expect(await task.poll()).toBe('working');
  expect(task.sent).toEqual(['wake', 'poll for 110']);
  await task.store.questions.take(runId, '1', 1);
  task.sent.length = 0;
  task.nowS = 110;
  expect(await task.poll()).toBe('working');
  expect(task.sent.filter((message) => message === 'wake')).toEqual([]);
  expect((await task.token()).token?.questions).toMatchObject({ recorded: 1, taken: 1 });
});

test('questions of a call that answers none are not recorded', async () => {
  const task = await Task.known();
  task.reply = asking;
  expect(await task.poll()).toBe('working');
  expect((await task.token()).token?.questions).toBeUndefined();
  expect(task.sent).not.toContain('wake');
});

test('one write: a read that goes as before writes its claim alone', async () => {
  const task = await Task.known({}, 3_600_000);
  task.reply = { ...working, pollAfterMs: 20_000, ttlMs: 7_200_000 };
  await task.poll();
  expect((await task.token()).token).toMatchObject({ pollHintMs: 20_000, ttlMs: 7_200_000 });
  task.writes = 0;
  task.nowS = 120;
  await task.poll();
  expect([task.reads, task.writes]).toEqual([2, 1]);
  task.nowS = 180;
  task.reply = { ...working, pollAfterMs: 20_000, ttlMs: 3_600_000 };
  await task.poll();
  expect((await task.token()).token?.ttlMs).toBe(3_600_000);
});

test('one write: a server that promises as little as before, by a word or by none, makes no other', async () => {
  for (const said of [{}, { ttlMs: null }]) {
    const task = await Task.known();
    task.reply = { ...working, ...said };
    await task.poll();
    expect([task.reads, task.writes]).toEqual([1, 1]);
  }
});

test('hop of another claim: it reads nothing', async () => {
  const task = await Task.known();
  expect(await task.poll(hopTo(40))).toBe('stale');
  expect(await task.poll(hopTo(160))).toBe('stale');
  expect(task.reads).toBe(0);
  task.nowS = 60;
  expect(await task.poll(hopTo(100))).toBe('working');
  expect(task.reads).toBe(1);
});

test('hop within its claim: it writes nothing', async () => {
  const task = await Task.known();
  task.nowS = 60;
  expect(await task.poll(hopTo(100))).toBe('working');
  expect(task.writes).toBe(0);
  expect(task.sent).toEqual(['poll for 100']);
});

test('hop to the end of its claim: there is none, since the schedule reads then', async () => {
  const task = await Task.known();
  task.nowS = 90.5;
  expect(await task.poll(hopTo(100))).toBe('working');
  expect(task.sent).toEqual([]);
});

test('hops of one claim: ten of them, and no more', async () => {
  const reports = new WatchedServer();
  const { app } = await started(
    aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 6 } })),
    { reports },
  );
  await app.settleDown();
  await app.pass({ seconds: 70 });
  // The first read holds its claim until 65 s.
  const inClaim = reports.readAtMs.filter((atMs) => atMs < 65_000);
  expect(inClaim).toHaveLength(1 + pollHopsMax);
});

test('poll of a settled wait: it reads nothing, and wakes the run only while its marker stands', async () => {
  const task = await Task.known();
  await task.settle(100);
  expect(await task.poll(hopTo(100))).toBe('stale');
  expect([task.reads, task.sent]).toEqual([0, ['wake']]);
  await task.store.tokens.clearMarker(runId, '1', { dueAtMs: at(100), hasHandle: true });
  expect(await task.poll()).toBe('stale');
  expect([task.reads, task.sent]).toEqual([0, ['wake']]);
});

test('poll of what is no remote task: before its deadline nothing is done', async () => {
  const task = new Task();
  expect(await task.poll()).toBe('stale');
  // A wait that was reported as working has a marker for its deadline.
  await task.store.tokens.put({
    ...{ runId, waitId: '1', attempt: 1, writerId: 'w', createdAtMs: startMs },
    ...{ deadlineAtMs: at(200), pollErrors: 0 },
  });
  await task.store.tokens.moveDeadline(runId, '1', { deadlineAtMs: at(300), nowMs: at(0) });
  task.nowS = 299;
  expect(await task.poll({ ...poke, dueAtMs: at(300) })).toBe('stale');
  task.nowS = 300;
  expect(await task.poll({ ...poke, dueAtMs: at(300) })).toBe('settled');
  expect((await task.token()).token?.settlement).toMatchObject({ by: 'timeout', outcome: { kind: 'timed_out' } });
});

test('claim that another worker was faster with: nobody is woken', async () => {
  const task = await Task.known();
  task.held = async () => {
    await task.move();
    return undefined as never;
  };
  expect(await task.poll({ ...poke, dueAtMs: at(100) })).toBe('stale');
  expect([task.reads, task.sent]).toEqual([0, []]);
});

const busy = (): Held => ({ kind: 'held', untilMs: at(130), error: unreachable });

test('server that is left alone: the read is put off to then, and counts as none', async () => {
  const task = await Task.known();
  task.held = async () => busy();
  expect(await task.poll()).toBe('held');
  const { dueS, token } = await task.token();
  expect([dueS, token?.pollErrors, task.sent]).toEqual([130, 0, ['poll for 130']]);
  const late = await Task.known({ deadlineAtMs: at(120) });
  late.held = async () => busy();
  await late.poll();
  expect((await late.token()).dueS).toBe(120);
});

test('server that fails or asks for a pause: a scheduled read is put off by an interval, a poke until the pause ends', async () => {
  const resting = async (): Promise<Held> => ({ ...busy(), isResting: true });
  const old = { createdAtMs: at(-899.995) };
  const scheduled = await Task.known(old);
  scheduled.held = resting;
  await scheduled.poll({ ...poke, dueAtMs: at(100) });
  // Instants are whole seconds: the interval of a task that is 1,000 s old is 100 s.
  expect([(await scheduled.token()).dueS, scheduled.sent]).toEqual([200, []]);
  const young = await Task.known();
  young.held = resting;
  await young.poll({ ...poke, dueAtMs: at(100) });
  expect([(await young.token()).dueS, young.sent]).toEqual([130, ['poll for 130']]);
  const poked = await Task.known({ ...old, pushedAtMs: at(90) });
  poked.held = resting;
  await poked.poll({ ...poke, saidEnded: true });
  await poked.poll({ ...poke, dueAtMs: at(130), saidEnded: true });
  expect([(await poked.token()).dueS, poked.sent]).toEqual([130, ['poll for 130', 'poll for 130']]);
  const late = await Task.known({ ...old, deadlineAtMs: at(150) });
  late.held = resting;
  await late.poll({ ...poke, dueAtMs: at(100) });
  expect((await late.token()).dueS).toBe(150);
  const full = await Task.known(old);
  full.held = async () => busy();
  await full.poll({ ...poke, dueAtMs: at(100) });
  expect((await full.token()).dueS).toBe(130);
});

test('server that is left alone: a hop and a worker that was overtaken put nothing off', async () => {
  const hopping = await Task.known();
  hopping.nowS = 60;
  hopping.held = async () => busy();
  expect(await hopping.poll(hopTo(100))).toBe('held');
  expect([(await hopping.token()).dueS, hopping.sent]).toEqual([100, []]);
  const overtaken = await Task.known();
  overtaken.held = async () => {
    await overtaken.move();
    return busy();
  };
  expect(await overtaken.poll({ ...poke, dueAtMs: at(100) })).toBe('held');
  expect([(await overtaken.token()).dueS, overtaken.sent]).toEqual([400, []]);
});

test('wait that cannot be read: it is passed over, and a store that fails is not', async () => {
  const task = await Task.known();
  await task.table.write({
    ...{ kind: 'update', key: { pk: `run#${runId}`, sk: 't#1' } },
    ...{ set: { handle: 'no form of a payload' }, conditions: [] },
  });
  expect(await task.poll()).toBe('stale');
  task.table.get = () => Promise.reject(new Error('gone'));
  expect(await task.poll()).toBe('gone');
});

test('a change is recorded by the write that claims the next read; a worker that was overtaken changes and sends nothing', async () => {
  const task = await Task.known();
  task.reply = { ...working, state: 'paused' };
  await task.poll();
  // Two writes, as for a read without a change and the claim of the next one, at 110 s.
  expect([task.writes, task.sent]).toEqual([2, ['poll for 170']]);
  const { dueS, token } = await task.token();
  expect([dueS, token?.trail?.changes.map(({ state }) => state)]).toEqual([170, ['working', 'paused']]);
  task.nowS = 110;
  await task.poll({ ...hopTo(170), hop: { count: 1, claimedDueAtMs: at(170), isAhead: true } });
  expect([task.reads, task.writes]).toEqual([2, 2]);

  const late = await Task.known();
  late.meanwhile = () => late.move();
  late.reply = { ...working, state: 'paused' };
  await late.poll();
  expect([late.sent, (await late.token()).token?.trail?.count]).toEqual([[], 1]);
});

test('a message or a number is recorded with the next write, once a minute by one of its own', async () => {
  const task = await Task.known({ createdAtMs: at(60) });
  task.nowS = 59;
  task.reply = { ...working, note: 'reading' };
  await task.poll();
  expect((await task.token()).token?.trail?.count).toBe(1);
  task.nowS = 61;
  await task.poll();
  expect((await task.token()).token?.trail?.count).toBe(2);
});
