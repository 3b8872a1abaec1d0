import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Log, silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp, mcpServer } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { closeAll } from '../../unit/remote/loopback.js';
import { aPeer, modern } from '../../unit/remote/mcp-peer.js';

const tokens = new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]);
const engines: LocalEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
  await closeAll();
});

const steps = defineWorkflow({
  name: 'steps',
  run: async (ctx) => [await ctx.step('one', () => 1), await ctx.step('two', () => 2)],
});
const naps = defineWorkflow({
  name: 'naps',
  run: async (ctx) => {
    await ctx.sleep({ seconds: 1 });
    return 'awake';
  },
});

async function anEngine(
  table = new MemoryTable(),
  options: {
    port?: number;
    managementToken?: string;
    allowedOrigins?: readonly string[];
    app?: ReturnType<typeof defineApp>;
    checksCode?: boolean;
    log?: Log;
  } = {},
) {
  const engine = await startLocalEngine({
    app: defineApp({ workflows: [steps, naps] }),
    table,
    tokens,
    log: silentLog,
    port: 0,
    ...options,
  });
  engines.push(engine);
  return engine;
}

async function start(engine: LocalEngine, workflow: string): Promise<string> {
  const response = await fetch(`${engine.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ workflow }),
  });
  return ((await response.json()) as { runId: string }).runId;
}

/** Polls until the run has ended; the test's own timeout limits it. */
async function outcomeOf(engine: LocalEngine, runId: string): Promise<unknown> {
  for (;;) {
    const run = (await (await fetch(`${engine.url}/runs/${runId}`)).json()) as { status: string; outcome?: unknown };
    if (run.status !== 'running' && run.status !== 'ending') return run.outcome;
  }
}

/** Polls until the run is blocked or has ended. */
async function blockOf(engine: LocalEngine, runId: string): Promise<unknown> {
  for (;;) {
    const run = (await (await fetch(`${engine.url}/runs/${runId}`)).json()) as { blocked?: unknown; outcome?: unknown };
    if (run.blocked !== undefined || run.outcome !== undefined) return run.blocked ?? run.outcome;
  }
}

describe('the local engine that checks code (F27)', () => {
  const checked = async (run: Parameters<typeof defineWorkflow>[0]['run']) => {
    const warned: unknown[] = [];
    const log: Log = { ...silentLog, warn: (event, fields) => void warned.push({ event, ...fields }) };
    const app = defineApp({ workflows: [defineWorkflow({ name: 'flow', run })] });
    const engine = await anEngine(new MemoryTable(), { app, log, checksCode: true });
    return { warned, end: await blockOf(engine, await start(engine, 'flow')) };
  };

  it('blocks a run whose step has another name each time, and says where the clock was read', async () => {
    const { warned, end } = await checked(async (ctx) => {
      await ctx.step(`at ${Date.now()} ${process.hrtime.bigint()}`, () => 1);
    });
    expect(end).toMatchObject({
      code: 'NONDETERMINISM',
      message: expect.stringContaining('the workflow now asks for') as unknown,
    });
    expect(warned).toContainEqual(
      expect.objectContaining({
        event: 'workflow code reads what is another at each replay',
        what: 'Date.now()',
        instead: 'ctx.now()',
        place: expect.stringContaining('engine.test.ts') as unknown,
      }),
    );
  });

  it('blocks a run at rest whose code was other at its first run, before anything wakes it', async () => {
    let runs = 0;
    const { end } = await checked(async (ctx) => {
      await (++runs === 1 ? ctx.signal('go') : ctx.signal('stop'));
    });
    expect(end).toMatchObject({ code: 'NONDETERMINISM' });
  });

  it('blocks a run whose result is another each time', async () => {
    const { end } = await checked(async () => ({ rows: [Math.random()] }));
    expect(end).toMatchObject({
      code: 'NONDETERMINISM',
      message: expect.stringContaining('its result.rows[0] is another') as unknown,
    });
  });

  it('ends a run that is the same each time', async () => {
    const { warned, end } = await checked(async (ctx) => {
      ctx.log.info('on');
      const at = await ctx.step('read', () => typeof Date.now());
      await ctx.sleep({ seconds: 1 });
      return [at, ctx.random() < 1];
    });
    expect(end).toEqual({ status: 'completed', result: ['number', true] });
    expect(warned).toEqual([]);
  });
});

describe('the local engine (EN-13)', () => {
  it('takes a run from the HTTP API to its end', async () => {
    const engine = await anEngine();
    expect(await outcomeOf(engine, await start(engine, 'steps'))).toEqual({ status: 'completed', result: [1, 2] });
  });

  it('wakes a sleeping run from the work queue', async () => {
    const engine = await anEngine();
    expect(await outcomeOf(engine, await start(engine, 'naps'))).toEqual({ status: 'completed', result: 'awake' });
    expect(engine.stats().poll.invocations).toBeGreaterThan(0);
  });

  it('runs a long step in a function of its own', async () => {
    const works = defineWorkflow({ name: 'works', run: (ctx) => ctx.step('work', () => 'worked', { long: true }) });
    const engine = await anEngine(new MemoryTable(), { app: defineApp({ workflows: [works] }) });
    expect(await outcomeOf(engine, await start(engine, 'works'))).toEqual({ status: 'completed', result: 'worked' });
    expect(engine.stats().step.invocations).toBe(1);
  });

  it('F68 does not ask a server for its revision that an engine before it has asked', async () => {
    const calls = defineWorkflow({
      name: 'calls',
      run: (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'build', arguments: {}, timeout: { hours: 1 } }),
    });
    const peer = await aPeer({
      'server/discover': modern,
      'tools/call': { content: [{ type: 'text', text: 'built' }] },
    });
    const servers = { reports: mcpServer({ url: peer.server.url }) };
    const table = new MemoryTable();
    for (let boots = 0; boots < 2; boots++) {
      const engine = await anEngine(table, { app: defineApp({ workflows: [calls], servers }) });
      expect(await outcomeOf(engine, await start(engine, 'calls'))).toMatchObject({ status: 'completed' });
      await engines.pop()!.stop();
    }
    expect(peer.methods()).toEqual(['server/discover', 'tools/call', 'tools/call']);
  });

  it('reports how long each function ran', async () => {
    const engine = await anEngine();
    await outcomeOf(engine, await start(engine, 'steps'));
    const { functions } = (await (await fetch(`${engine.url}/local/stats`)).json()) as {
      functions: Record<string, { invocations: number; busyMs: number }>;
    };
    expect(Object.keys(functions).sort()).toEqual(['api', 'poll', 'schedule', 'serve', 'step', 'turn']);
    expect(functions['turn']!.invocations).toBeGreaterThan(0);
    expect(functions['turn']!.busyMs).toBeGreaterThan(0);
  });

  it('takes up at its boot what an earlier engine left', async () => {
    const table = new MemoryTable();
    const first = await anEngine(table);
    const runId = await start(first, 'naps');
    await engines.pop()!.stop();
    expect(await outcomeOf(await anEngine(table), runId)).toEqual({ status: 'completed', result: 'awake' });
  });

  it('lets a step in flight end before it stops', async () => {
    let stepStarted: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      stepStarted = resolve;
    });
    let endStep: () => void = () => undefined;
    const slow = defineWorkflow({
      name: 'slow',
      run: (ctx) =>
        ctx.step('slow', () => {
          stepStarted();
          return new Promise<string>((resolve) => {
            endStep = () => {
              resolve('done');
            };
          });
        }),
    });
    const table = new MemoryTable();
    const engine = await anEngine(table, { app: defineApp({ workflows: [slow] }) });
    await start(engine, 'slow');
    await started;
    const stopped = engines.pop()!.stop();
    endStep();
    await stopped;
    expect(JSON.stringify([...table.items()])).toContain('StepCompleted');
  });

  it('refuses a port that is taken, and runs nothing', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    await expect(anEngine(undefined, { port })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `port ${port} is in use; stop the process that uses it or choose another with --port`,
    });
    taken.close();
  });

  it('S3-50: listens on this machine only and turns pages of other sites away', async () => {
    const engine = await anEngine();
    expect(new URL(engine.url).hostname).toBe('127.0.0.1');
    for (const path of ['/runs', '/local/stats']) {
      expect((await fetch(engine.url + path, { headers: { origin: 'https://evil.example.com' } })).status).toBe(403);
      expect((await fetch(engine.url + path, { headers: { origin: engine.url } })).status).toBe(200);
    }
  });

  it('F95 answers pages of another local port only where they are let in', async () => {
    const origin = 'http://localhost:3000';
    const [closed, open] = [await anEngine(), await anEngine(undefined, { allowedOrigins: [origin] })];
    for (const path of ['/runs', '/local/stats']) {
      expect((await fetch(closed.url + path, { headers: { origin } })).status).toBe(403);
      const answer = await fetch(open.url + path, { headers: { origin } });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
      const preflight = { origin, 'access-control-request-method': 'GET' };
      expect((await fetch(open.url + path, { method: 'OPTIONS', headers: preflight })).status).toBe(204);
    }
  });

  it('asks for the management token when there is one', async () => {
    const engine = await anEngine(undefined, { managementToken: 'canary-s3cret' });
    expect((await fetch(`${engine.url}/runs`)).status).toBe(401);
    expect((await fetch(`${engine.url}/runs`, { headers: { authorization: 'Bearer canary-s3cret' } })).status).toBe(
      200,
    );
  });
});
