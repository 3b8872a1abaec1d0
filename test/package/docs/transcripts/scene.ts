import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { defineApp, defineWorkflow, mcpServer } from 'outwait';
import { createTestApp, scriptedServer, type TestApp } from 'outwait/testing';
import { z } from 'zod';
import { createRoutes } from '../../../../lib/http/routes.js';
import { requestControl } from '../../../../lib/operations/requests/control-run.js';
import { startNamedRun } from '../../../../lib/operations/requests/start-named-run.js';
import { startRun } from '../../../../lib/operations/requests/start-run.js';

// The engine in memory, on a clock that stands still, behind a real server: what the command line prints of it is the
// same each time.

const bin = fileURLToPath(new URL('../../../../bin/outwait.js', import.meta.url));

const report = defineWorkflow<{ month: string }>({
  name: 'monthlyReport',
  async run(ctx, { month }) {
    const bookings = await ctx.step('count bookings', () => ({ bookings: 412 }));
    const outcome = await ctx.callRemoteTask({
      ...{ server: 'reports', tool: 'start_export', arguments: { month } },
      timeout: { hours: 6 },
    });
    return { ...bookings, report: outcome.result };
  },
});
const refund = defineWorkflow<{ order: string }>({
  name: 'refund',
  run: (ctx, { order }) =>
    ctx.ask({
      message: `Refund 1,200 € for order ${order}? The customer has returned three of the five items, and one is damaged.`,
      schema: { type: 'object', properties: { costCentre: { type: 'string' } }, required: ['costCentre'] },
      timeout: { days: 2 },
    }),
});
const imports = (step: string) =>
  defineWorkflow({
    name: 'imports',
    run: async (ctx) => {
      await ctx.step(step, () => 3);
      return ctx.signal('file', { schema: z.string() });
    },
  });
const greets = defineWorkflow<{ name: string }>({
  name: 'greets',
  run: async (ctx, { name }) => `${await ctx.signal('greeting', { schema: z.string() })} ${name}`,
});

const appWith = (step: string) =>
  defineApp({
    workflows: [report, refund, imports(step), greets],
    servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
  });

export interface Scene {
  readonly url: string;
  readonly nowMs: number;
  readonly ids: Readonly<Record<'report' | 'blocked' | 'greeting', string>>;
  readonly close: () => Promise<void>;
}

export async function openScene(): Promise<Scene> {
  const app = createTestApp(appWith('read'), {
    servers: { reports: scriptedServer({ protocol: 'mcp', task: () => ({ after: { hours: 3 } }) }) },
  });
  const { deps } = app;
  const { runId: greeting } = await startRun(deps, { workflow: 'greets', input: { name: 'you' } });
  await app.pass({ minutes: 2 });
  await app.signal(greeting, 'greeting', 'Hello');
  await app.pass({ hours: 1 });
  const { runId: reportId } = await startNamedRun(deps, {
    ...{ workflow: 'monthlyReport', input: { month: '2026-10' }, id: 'october' },
  });
  const { runId: blocked } = await startRun(deps, { workflow: 'imports' });
  await app.pass({ minutes: 12 });
  app.deploy(appWith('read lines'));
  await requestControl(deps, blocked, 'retryNow');
  await startRun(deps, { workflow: 'refund', input: { order: '4711' } });
  await startRun(deps, { workflow: 'monthlyReport', input: { month: '2026-11' }, delayMs: 7_200_000 });
  await app.pass({ minutes: 3 });
  const { url, close } = await serve(app);
  return { url, close, nowMs: app.clock.nowMs(), ids: { report: reportId, blocked, greeting } };
}

async function serve({ deps }: TestApp): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const routes = createRoutes(deps);
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const answer = await routes.request(`http://engine${request.url ?? '/'}`, {
        method: request.method ?? 'GET',
        headers: { 'content-type': 'application/json' },
        ...(body === '' ? {} : { body }),
      });
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(await answer.text());
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns what the command line prints to a pipe, or to a terminal of 80 columns. */
export async function printed(
  { url, nowMs }: Pick<Scene, 'url' | 'nowMs'>,
  args: readonly string[],
  { terminal = false, env = {} }: { terminal?: boolean; env?: Record<string, string> } = {},
): Promise<string> {
  // The clock of the command stands still too.
  const clock = `data:text/javascript,Date.now=()=>${nowMs}`;
  const command = [process.execPath, '--import', clock, bin, ...args];
  const quoted = command.map((word) => `'${word}'`).join(' ');
  const child = terminal
    ? spawn('script', ['-qec', `stty cols 80 rows 24; exec ${quoted}`, '/dev/null'], { env: environment(url, env) })
    : spawn(command[0] ?? '', command.slice(1), { env: environment(url, env) });
  child.stdin.end();
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (err !== '') throw new Error(err);
  return out.replaceAll('\r\n', '\n').trimEnd();
}

function environment(url: string, env: Record<string, string>): NodeJS.ProcessEnv {
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...own } = process.env;
  return { ...own, TERM: 'xterm-256color', OUTWAIT_URL: url, ...env };
}
