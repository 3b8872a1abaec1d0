import { defineApp, defineWorkflow, type AppConfig, type CallbackRules, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { EngineError } from '../../lib/base/errors.js';
import type { Deps } from '../../lib/operations/deps.js';
import { afterEnd } from '../../lib/operations/turn/end-run.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { startNamedRun } from '../../lib/operations/requests/start-named-run.js';
import { startOrSignal, startRun, type StartRequest } from '../../lib/operations/requests/start-run.js';
import { explainRun } from '../../lib/operations/views/explain-run.js';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import type { Push, PushAnswer } from '../../lib/remote/push-sender.js';
import { problemWithCallbacks } from '../../lib/workflow/callbacks.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import type { Table } from '../../lib/store/table.js';

const url = 'https://origin.example/ended?key=canary';
const secret = `whsec_${'canary'.repeat(6)}`;
const callback = { url, secret };
const status = (code: number): PushAnswer => ({ kind: 'answered', status: code });

type Run = (ctx: WorkflowContext, input: unknown) => Promise<unknown>;
type Told = { readonly type: string; readonly timestamp: string; readonly data: Readonly<Record<string, unknown>> };

/** Ends a process: nothing retries it. */
class Died extends Error {}

/** A deployment whose receiver answers as a test says, and whose process dies at one access to the table. */
class Origin {
  readonly app: TestApp;
  readonly deps: Deps;
  readonly sent: (Push & { readonly atMs: number })[] = [];
  answer: (count: number, atMs: number) => PushAnswer = () => status(200);
  /** Accesses of the table, and the one at which the process dies: before it, or after it. */
  accesses = 0;
  deathAt = Infinity;
  diesAfter = true;
  readonly allowed: unknown[] = [];

  constructor(run: Run = async () => 'done', more: Partial<AppConfig> = {}) {
    const debounced = defineWorkflow({ name: 'debounced', run, debounce: { period: { minutes: 1 } } });
    this.app = createTestApp(defineApp({ workflows: [defineWorkflow({ name: 'flow', run }), debounced], ...more }));
    this.deps = this.app.deps;
    Object.assign(this.deps, {
      pushSender: {
        allows: async (asked: string, options: unknown) => {
          this.allowed.push(options);
          return asked.startsWith('https://') && !asked.includes('127.0.0.1');
        },
        send: async (push: Push) => {
          const atMs = this.deps.clock.nowMs();
          this.sent.push({ ...push, atMs });
          return this.answer(this.sent.length, atMs);
        },
      },
      store: new RunStore(new SealedTable(this.#mortalTable())),
    });
  }

  #mortalTable(): Table {
    const table = new MemoryTable();
    const access = async <Result>(pk: string, ask: () => Promise<Result>): Promise<Result> => {
      const dies = pk.startsWith('run#') && ++this.accesses === this.deathAt;
      if (dies && !this.diesAfter) throw new Died();
      const result = await ask();
      if (dies) throw new Died();
      return result;
    };
    return {
      write: (write) => access(write.kind === 'put' ? write.item.pk : write.key.pk, () => table.write(write)),
      transact: (writes) => access('run#', () => table.transact(writes)),
      get: (key, attributes) => access(key.pk, () => table.get(key, attributes)),
      queryPartition: (pk, ...more) => access(pk, () => table.queryPartition(pk, ...more)),
      queryIndex: (query) => table.queryIndex(query),
    };
  }

  async start(more: Partial<StartRequest> = {}): Promise<string> {
    return (await startRun(this.deps, { workflow: 'flow', callback, ...more })).runId;
  }

  /** Lets time pass, whatever dies meanwhile. */
  async pass(duration: { readonly hours?: number; readonly minutes?: number }) {
    for (let deaths = 0; deaths < 50; deaths++)
      try {
        await this.app.pass(duration);
        return;
      } catch (error) {
        if (!(error instanceof Died)) throw error;
      }
  }

  get told(): readonly Told[] {
    return this.sent.map(({ body }) => JSON.parse(body) as Told);
  }
}

const slow: Run = async (ctx) => {
  await ctx.sleep({ minutes: 10 });
  return { rows: 3 };
};

describe('the callback of a start', () => {
  it('is told once that the run has ended, and how, and not before', async () => {
    const origin = new Origin(slow);
    const runId = await origin.start({ key: 'order-1', tags: { of: 'ann' } });
    await origin.pass({ minutes: 5 });
    expect(origin.sent).toEqual([]);
    await origin.pass({ hours: 48 });
    expect(origin.told).toEqual([
      {
        type: 'run.ended',
        timestamp: '2026-01-01T00:10:00.000Z',
        data: {
          runId,
          workflow: 'flow',
          status: 'completed',
          endedAt: '2026-01-01T00:10:00.000Z',
          key: 'order-1',
          tags: { of: 'ann' },
          outcome: { status: 'completed', result: { rows: 3 } },
        },
      },
    ]);
    expect(origin.sent[0]).toMatchObject({ url, signing: { id: `${runId}_ended`, secret } });
    expect(await dueOf(origin)).toEqual([]);
  });

  it('is told of a failure, a cancel and a terminate', async () => {
    const origin = new Origin(async (ctx, input) => {
      if (input === 'fails') throw new Error('no paper');
      await ctx.sleep({ hours: 1 });
    });
    await origin.start({ input: 'fails' });
    const cancelled = await origin.start();
    const terminated = await origin.start();
    await origin.pass({ minutes: 1 });
    await requestStop(origin.deps, { runId: cancelled, kind: 'cancel' });
    await requestStop(origin.deps, { runId: terminated, kind: 'terminate' });
    await origin.pass({ minutes: 1 });
    expect(origin.told.map(({ data }) => data['status']).sort()).toEqual(['cancelled', 'failed', 'terminated']);
  });

  it('is told of the end of the last run that the started one continues as', async () => {
    const origin = new Origin(async (ctx, input) => {
      const n = typeof input === 'number' ? input : 1;
      await ctx.sleep({ minutes: 1 });
      return n < 3 ? ctx.continueAsNew(n + 1) : 'third';
    });
    const runId = await origin.start();
    await origin.pass({ hours: 1 });
    expect(origin.told).toHaveLength(1);
    expect(origin.told[0]?.data).toMatchObject({ runId, status: 'completed', outcome: { result: 'third' } });
    expect(origin.told[0]?.data['lastRunId']).not.toBe(runId);
    expect(origin.sent[0]?.signing?.id).toBe(`${runId}_ended`);
  });

  it('is told without the outcome if that is large: its receiver reads it', async () => {
    const origin = new Origin(async () => 'x'.repeat(300_000));
    await origin.start();
    await origin.pass({ minutes: 1 });
    expect(origin.told[0]?.data).toMatchObject({ status: 'completed' });
    expect(origin.told[0]?.data).not.toHaveProperty('outcome');
  });

  it('is told once it can be reached again, with the same id each time', async () => {
    const origin = new Origin();
    const upAtMs = origin.deps.clock.nowMs() + 3_600_000;
    origin.answer = (_, atMs) => (atMs < upAtMs ? { kind: 'failed' } : status(204));
    await origin.start();
    await origin.pass({ hours: 3 });
    const seconds = origin.sent.map(({ atMs }) => Math.round((atMs - origin.sent[0]!.atMs) / 1_000));
    expect(seconds.slice(0, 5)).toEqual([0, 1, 3, 7, 15]);
    expect(origin.sent.length).toBeLessThan(20);
    expect(new Set(origin.sent.map(({ signing }) => signing?.id)).size).toBe(1);
  });

  it('is tried for a day', async () => {
    const origin = new Origin();
    origin.answer = () => status(500);
    await origin.start();
    await origin.pass({ hours: 30 });
    const { length } = origin.sent;
    const lastHours = (origin.sent.at(-1)!.atMs - origin.sent[0]!.atMs) / 3_600_000;
    expect(lastHours).toBeGreaterThan(23.5);
    expect(lastHours).toBeLessThan(24.1);
    await origin.pass({ hours: 30 });
    expect(origin.sent).toHaveLength(length);
    expect(await dueOf(origin)).toEqual([]);
  });

  it.each([
    [404, 1],
    [410, 1],
    [422, 1],
    [401, 3],
    [403, 3],
  ])('that answers %i is tried %i times', async (code, times) => {
    const origin = new Origin();
    origin.answer = () => status(code);
    await origin.start();
    await origin.pass({ hours: 2 });
    expect(origin.sent).toHaveLength(times);
  });

  it.each([true, false])('is told whatever access to the table a process dies at (after it: %s)', async (diesAfter) => {
    const whole = new Origin(slow);
    await whole.start();
    const first = whole.accesses;
    await whole.pass({ minutes: 20 });
    expect(whole.accesses).toBeGreaterThan(first + 10);
    for (let deathAt = first + 1; deathAt <= whole.accesses; deathAt++) {
      const origin = new Origin(slow);
      Object.assign(origin, { deathAt, diesAfter });
      await origin.start();
      await origin.pass({ minutes: 20 });
      expect(origin.told.length, `death at ${deathAt}`).toBeGreaterThan(0);
      expect(await dueOf(origin), `death at ${deathAt}`).toEqual([]);
    }
  });

  it('is owed once, however often the end of the run is handled', async () => {
    const origin = new Origin(slow);
    const runId = await origin.start();
    await origin.pass({ minutes: 20 });
    await afterEnd(origin.deps, runId, { remainingMs: () => 60_000 });
    await origin.pass({ minutes: 20 });
    expect(origin.told).toHaveLength(1);
  });

  it('is known of a run that is ended although not all of it can be read', async () => {
    const origin = new Origin(slow);
    const records = await origin.deps.store.runs.readWhatCanBe(await origin.start({ input: 'x' }));
    expect(records?.head).toMatchObject({ callback });
    expect(records?.head).not.toHaveProperty('input');
  });

  it('is never shown: neither its secret nor its URL is in anything that is read of the run', async () => {
    const origin = new Origin(slow);
    const runId = await origin.start();
    await origin.pass({ minutes: 1 });
    const read = [
      ...[await origin.app.show(runId), await origin.app.history(runId)],
      ...[await explainRun(origin.deps, runId), await listRuns(origin.deps, { limit: 10 })],
    ];
    expect(JSON.stringify(read)).not.toContain('canary');
  });
});

describe('the callback of a start that finds a run', () => {
  it('must be that of the first start with the key, whose run tells it once', async () => {
    const origin = new Origin(slow);
    const runId = await origin.start({ key: 'order-1' });
    expect(await origin.start({ key: 'order-1' })).toBe(runId);
    const other = { url: 'https://other.example/', secret };
    await expect(origin.start({ key: 'order-1', callback: other })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    await origin.pass({ hours: 1 });
    expect(origin.sent.map(({ url: to }) => to)).toEqual([url]);
  });

  it('by an id, has no effect', async () => {
    const origin = new Origin(slow);
    const { runId } = await startNamedRun(origin.deps, { workflow: 'flow', id: 'order-1' });
    const again = await startNamedRun(origin.deps, { workflow: 'flow', id: 'order-1', callback });
    expect(again).toEqual({ runId, deduplicated: true });
    await origin.pass({ hours: 1 });
    expect(origin.sent).toEqual([]);
  });

  it('is told of a run that is started with a signal, or under an id', async () => {
    const origin = new Origin();
    await startOrSignal(origin.deps, { workflow: 'flow', key: 'a', callback, signal: { name: 'go' } });
    await startNamedRun(origin.deps, { workflow: 'flow', id: 'order-1', callback });
    await startRun(origin.deps, { workflow: 'flow', concurrencyKey: 'one', callback });
    await origin.pass({ hours: 1 });
    expect(origin.sent).toHaveLength(3);
  });
});

describe('a callback that cannot be used', () => {
  const rules = { allowedHosts: ['origin.example', 'api.example:8443'] };
  it.each<[string, Partial<StartRequest>, string]>([
    ['plain http', { callback: { url: 'http://origin.example/', secret } }, 'https, at a public address'],
    ['this machine', { callback: { url: 'https://127.0.0.1/', secret } }, 'on a host of callbacks.allowedHosts'],
    ['another host', { callback: { url: 'https://other.example/', secret } }, 'on a host of callbacks.allowedHosts'],
    ['another port', { callback: { url: 'https://api.example/', secret } }, 'on a host of callbacks.allowedHosts'],
    ['a user name', { callback: { url: 'https://canary@origin.example/', secret } }, 'a URL without a user name'],
    ['no URL', { callback: { url: 'origin', secret } }, 'a URL without a user name'],
    ['a short secret', { callback: { url, secret: 'whsec_canary' } }, 'its secret must be whsec_'],
    ['no secret', { callback: { url, secret: '' } }, 'its secret must be whsec_'],
    ['a debounced start', { workflow: 'debounced' }, 'debounced: they take no callback'],
  ])('is refused before anything is written: %s', async (_, request, text) => {
    const origin = new Origin(slow, { callbacks: rules });
    const error = await origin.start(request).catch((thrown: unknown) => thrown as EngineError);
    expect(error).toMatchObject({ code: 'INPUT_INVALID' });
    expect((error as EngineError).message).toContain(text);
    expect((error as EngineError).message).not.toContain('canary');
    expect((await listRuns(origin.deps, { limit: 10 })).runs).toEqual([]);
  });

  it('is refused where the address is not public', async () => {
    const origin = new Origin(slow);
    const started = await origin
      .start({ callback: { url: 'https://127.0.0.1/', secret } })
      .catch((error: unknown) => error);
    expect(started).toMatchObject({
      code: 'INPUT_INVALID',
      message: 'the callback is not valid: its url must be https, at a public address',
    });
  });

  it('may be at a private address if the app says so, at the start and at each attempt', async () => {
    const origin = new Origin(undefined, { callbacks: { allowPrivateAddresses: true } });
    await origin.start();
    await origin.pass({ minutes: 1 });
    expect(origin.allowed).toEqual([{ allowPrivateAddresses: true }]);
    expect(origin.sent[0]?.allowPrivateAddresses).toBe(true);
  });

  it.each([
    [{ allowedHosts: 'origin.example' }, 'allowedHosts must be a list of hosts'],
    [{ allowedHosts: ['https://a'] }, 'allowedHosts must be a list of hosts'],
    [{ allowPrivateAddresses: 'no' }, 'allowPrivateAddresses must be true or false'],
  ])('is not excused by rules that are wrong: %j', (rules, problem) => {
    expect(problemWithCallbacks(rules as unknown as CallbackRules)).toContain(problem);
  });
});

async function dueOf({ deps }: Origin): Promise<readonly unknown[]> {
  const pages = await Promise.all(
    Array.from({ length: deps.store.dueShards }, (_, shard) => deps.store.lists.due(shard, Number.MAX_SAFE_INTEGER, 9)),
  );
  return pages.flatMap(({ rows }) => rows);
}
