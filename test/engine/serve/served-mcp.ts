import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import type { Caller } from '../../../lib/base/caller.js';
import { defined } from '../../../lib/base/defined.js';
import type { JsonObject } from '../../../lib/base/json.js';
import { silentLog } from '../../../lib/base/log.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import { createMcpRoutes } from '../../../lib/serve/mcp/routes.js';
import type { OpenStream } from '../../../lib/serve/open-streams.js';
import type { ServeConfig, SkillConfig } from '../../../lib/workflow/serve.js';
import { declaresForms, declaresTasks, mcpRequests, type Replied } from '../../support/mcp-requests.js';

export const both = { ...declaresTasks, ...declaresForms };
export type Run = (ctx: WorkflowContext, input: unknown) => Promise<unknown>;

export interface Served extends ReturnType<typeof mcpRequests> {
  readonly app: TestApp;
  /** Calls the tool, and returns the id of its task. */
  readonly start: (sent?: Parameters<ReturnType<typeof mcpRequests>['modern']>[2]) => Promise<string>;
  readonly get: (taskId: string, capabilities?: JsonObject) => Promise<JsonObject>;
}

/** A deployment that serves one workflow over MCP, on a virtual clock. */
export function served(run: Run, config: Partial<SkillConfig> = {}, openStream?: OpenStream): Served {
  const app = createTestApp(defineApp({ workflows: [defineWorkflow({ name: 'flow', run })] }));
  const { deps } = app as unknown as { readonly deps: Deps };
  const serve: ServeConfig = {
    agent: { name: 'Desk', description: 'd', url: 'https://flows.example.com' },
    skills: { flow: { description: 'f', ...config } },
  };
  const routes = createMcpRoutes({
    ...{ serve, workflows: new Map(), clock: deps.clock, log: silentLog },
    seal: (text) => deps.tokens.sentDigest(text),
    // The limits of time are those of the clock of the test.
    timer: (delayMs, fire) => {
      const stop = new AbortController();
      void deps.delay(delayMs, stop.signal).then(() => {
        if (!stop.signal.aborted) fire();
      });
      return () => {
        stop.abort();
      };
    },
    admit: (request) => {
      // `id@tenant`, or an id without a tenant.
      const [id = '', tenant] = (request.headers.get('authorization')?.replace('Bearer ', '') ?? 'ann').split('@');
      const caller: Caller = { id, roles: ['call'], ...defined({ tenant }) };
      return { tasks: createTasks({ ...deps, caller }, serve, openStream), openStream };
    },
  });
  const requests = mcpRequests(routes);
  return {
    app,
    ...requests,
    start: async (sent) =>
      (await requests.modern('tools/call', { name: 'flow' }, { capabilities: both, ...sent })).body.result?.[
        'taskId'
      ] as string,
    get: async (taskId, capabilities = both) =>
      (await requests.modern('tasks/get', { taskId }, { capabilities })).body.result ?? {},
  };
}

/** Lets time pass while a request is under way, at least so long and until it is answered. */
export async function during(app: TestApp, request: Promise<Replied>, seconds = 5): Promise<Replied> {
  const answered = new AbortController();
  const end = (): void => {
    answered.abort();
  };
  request.then(end, end);
  await app.pass({ seconds });
  // What loads late may make it wait later than it was sent.
  while (!answered.signal.aborted) {
    await new Promise((resolve) => setImmediate(resolve));
    await app.pass({ seconds: 1 });
  }
  return request;
}
