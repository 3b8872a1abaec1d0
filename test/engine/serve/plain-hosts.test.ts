import type { TestApp } from 'outwait/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import type { Sent } from '../../support/mcp-requests.js';
import { during, served } from './served-mcp.js';

// Hosts that know no tasks: they end a call after a time of their own, and a model sees only what is in results.

const minuteMs = 60_000;

interface ToolResult {
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: JsonObject;
  readonly isError: boolean;
}

interface Handle {
  readonly runId: string;
  readonly status: string;
  readonly result?: unknown;
}

const cutOff = 'cut off';

/** A host that gives up a call after some time. The server is not told, as on Lambda. */
class Host {
  /** The longest time that an answered call has taken. */
  longestMs = 0;
  readonly #app: TestApp;
  readonly #modern: ReturnType<typeof served>['modern'];
  readonly #limitMs: number;

  constructor({ app, modern }: ReturnType<typeof served>, limitMs: number) {
    this.#app = app;
    this.#modern = modern;
    this.#limitMs = limitMs;
  }

  async call(name: string, args: JsonObject = {}, sent: Sent = {}): Promise<ToolResult | typeof cutOff> {
    const beganMs = this.#app.clock.nowMs();
    let answered: ToolResult | undefined;
    const request = this.#modern('tools/call', { name, arguments: args }, { capabilities: {}, ...sent });
    void request.then(({ body }) => {
      answered = body.result as unknown as ToolResult;
    });
    for (;;) {
      // What loads late takes time of the machine, not of the clock.
      for (let turn = 0; turn < 50 && answered === undefined; turn++)
        await new Promise((resolve) => setImmediate(resolve));
      const tookMs = this.#app.clock.nowMs() - beganMs;
      if (answered !== undefined) {
        this.longestMs = Math.max(this.longestMs, tookMs);
        return answered;
      }
      if (tookMs >= this.#limitMs) return cutOff;
      await this.#app.pass({ seconds: 1 });
    }
  }

  /** Does what the texts say for a result that is needed now. */
  async resultOf(called: ToolResult | typeof cutOff): Promise<unknown> {
    if (called === cutOff) throw new Error('the call was cut off');
    const handle = called.structuredContent as unknown as Handle;
    if (handle.status !== 'working') return 'result' in handle ? handle.result : called.structuredContent;
    expect(called.content[0]?.text).toMatch(/^The call of flow goes on as run [0-9a-f]+/);
    return this.resultOf(await this.call('wait_for_run', { runId: handle.runId }));
  }
}

/** Serves a workflow of some length, and counts its runs. */
function servedFor(seconds: number) {
  const started: unknown[] = [];
  const parts = served(async (ctx, input) => {
    await ctx.step('begin', () => {
      started.push(input);
    });
    await ctx.sleep({ seconds });
    return { rows: 3 };
  });
  return { ...parts, started };
}

// What loads late is there before the clock moves.
beforeAll(async () => {
  const { app, modern } = servedFor(5);
  const { body } = await during(app, modern('tools/call', { name: 'flow' }, { capabilities: {} }), 10);
  expect(body.result).toBeDefined();
  for (const name of ['run_status', 'start_run']) await modern('tools/call', { name, arguments: {} });
});

describe('a host that knows no tasks', () => {
  it.each([60, 120, 180].flatMap((limit) => [5, 45, 600, 7_200].map((length) => ({ limit, length }))))(
    'with a limit of $limit s has the result of a run of $length s, by one run',
    async ({ limit, length }) => {
      const parts = servedFor(length);
      const host = new Host(parts, limit * 1_000);
      expect(await host.resultOf(await host.call('flow'))).toEqual({ rows: 3 });
      expect(parts.started).toHaveLength(1);
      expect(host.longestMs).toBeLessThan(55_000);
    },
  );

  it('that moves a call to the background and forgets it finds the run and its result later', async () => {
    const parts = servedFor(600);
    const host = new Host(parts, 10_000);
    expect(await host.call('flow', { month: '2026-11' })).toBe(cutOff);
    await parts.app.pass({ minutes: 30 });
    const list = (await host.call('run_status')) as ToolResult;
    const runs = list.structuredContent?.['runs'] as unknown as readonly (Handle & { readonly tool: string })[];
    expect(runs).toMatchObject([{ tool: 'flow', status: 'completed' }]);
    const [found] = runs;
    expect(list.content[0]?.text).toBe(`${found?.runId}: flow, completed`);
    expect(await host.resultOf(await host.call('run_status', { runId: found?.runId ?? '' }))).toEqual({ rows: 3 });
    expect(parts.started).toEqual([{ month: '2026-11' }]);
  });

  it('that has moved on after the handle gets the result whenever it asks', async () => {
    const parts = servedFor(600);
    const host = new Host(parts, minuteMs);
    const called = (await host.call('flow')) as ToolResult;
    const { runId } = called.structuredContent as unknown as Handle;
    await parts.app.pass({ days: 30 });
    expect(await host.resultOf(await host.call('run_status', { runId }))).toEqual({ rows: 3 });
    expect(parts.started).toHaveLength(1);
  });

  it('that repeats a request whose reply was lost has one run, by its key', async () => {
    const parts = servedFor(600);
    const host = new Host(parts, 10_000);
    const sent = { headers: { 'idempotency-key': 'report-2026-11' } };
    expect(await host.call('flow', {}, sent)).toBe(cutOff);
    expect(await host.call('flow', {}, sent)).toBe(cutOff);
    const patient = new Host(parts, minuteMs);
    expect(await patient.resultOf(await patient.call('flow', {}, sent))).toEqual({ rows: 3 });
    expect(parts.started).toHaveLength(1);
  });

  it('whose model repeats a start with its key has one run', async () => {
    const parts = servedFor(600);
    const host = new Host(parts, minuteMs);
    const start = { tool: 'flow', arguments: {}, key: 'november' };
    await host.call('start_run', start);
    expect(await host.resultOf(await host.call('start_run', start))).toEqual({ rows: 3 });
    expect(parts.started).toHaveLength(1);
  });
});
