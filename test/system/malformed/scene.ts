import { setImmediate } from 'node:timers/promises';
import * as z from 'zod';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { EngineError } from '../../../lib/base/errors.js';
import { addKey } from '../../../lib/operations/requests/manage-keys.js';
import { inputIdOf } from '../../../lib/base/ids.js';
import type { JsonObject } from '../../../lib/base/json.js';
import { a2aAgent, bearerWebhook, defineApp, defineWorkflow, mcpServer, secret } from '../../../lib/index.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { SecretReader } from '../../../lib/secrets/secret-reader.js';
import { type RouteName, routes } from '../../../lib/topology/routes.js';
import { anEvent } from '../../unit/http/event.js';
import { aWorld, type World } from '../../unit/http/world.js';

export const managementToken = 'canary-management-token-of-the-test';
const hookToken = 'canary-hook-token-of-the-test';

/** A request that its route accepts. */
export interface ValidRequest {
  /** Name of the route. */
  readonly route: string;
  readonly method: string;
  readonly path: string;
  /** Part of the path that names something, and may be any text. */
  readonly ids: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject | undefined;
  /** Fields of the body, as paths with dots, that take any JSON. */
  readonly free: readonly string[];
}

/** An app with something for every route to act on. */
export interface Scene {
  readonly world: World;
  readonly handler: ReturnType<typeof apiHandler>;
  readonly requests: readonly ValidRequest[];
  /** Texts that no response may contain. */
  readonly secrets: readonly string[];
}

const said = z.object({ text: z.string() });
const echo = defineWorkflow({ name: 'echo', input: said, run: (_ctx, { text }) => Promise.resolve({ said: text }) });
const waits = defineWorkflow({
  name: 'waits',
  run: (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } }),
});
const delegates = defineWorkflow({
  name: 'delegates',
  run: (ctx) => ctx.callRemoteTask({ server: 'agent', tool: 'export', timeout: { hours: 1 } }),
});
const talks = defineWorkflow({
  name: 'talks',
  run: async (ctx) => {
    ctx.onQuery('said', (input) => input ?? null);
    await ctx.signal('say');
  },
});
const asks = defineWorkflow({
  name: 'asks',
  run: (ctx) => ctx.ask({ message: 'Go on?', schema: { type: 'object', properties: { why: { type: 'string' } } } }),
});

/** Creates a scene. `planted`: replaces parts of the dependencies, to plant a fault. */
export async function aScene(planted: Partial<Deps> = {}): Promise<Scene> {
  const world = aWorld();
  const app = defineApp({
    workflows: [echo, waits, delegates, talks, asks],
    servers: {
      reports: mcpServer({ url: 'https://reports.example.com/mcp' }),
      agent: a2aAgent({ card: 'https://agent.example.com' }),
    },
    schedules: [{ name: 'nightly', workflow: echo, every: { hours: 1 }, input: { text: 'tick' } }],
    hooks: {
      talk: {
        auth: bearerWebhook({ secret: secret('HOOK') }),
        workflow: echo,
        start: ({ body }) => ({ input: said.parse(body) }),
      },
    },
  });
  const missing = new EngineError('REMOTE_UNREACHABLE', 'no AWS here');
  const secrets = new SecretReader({
    clock: world.deps.clock,
    readSecret: (name) => (name === 'HOOK' ? hookToken : undefined),
    aws: { readParameter: () => Promise.reject(missing), readSecret: () => Promise.reject(missing) },
  });
  // Routes that wait for news give up when their time is over.
  const delay = async (delayMs: number): Promise<void> => {
    world.clock.atMs += delayMs;
    await setImmediate();
  };
  Object.assign(world.deps, { app, secrets, delay }, planted);
  const handler = apiHandler(() => world.deps, { managementTokens: () => [managementToken] });
  const start = async (workflow: string): Promise<string> => {
    const { body } = await handler(
      anEvent({
        method: 'POST',
        path: '/runs',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${managementToken}` },
        body: JSON.stringify({ workflow }),
      }),
    );
    return (JSON.parse(body ?? '') as { runId: string }).runId;
  };
  const waiting = await start('waits');
  const talking = await start('talks');
  const asking = await start('asks');
  const delegating = await start('delegates');
  await addKey(world.deps, { name: 'spare', roles: ['read'] });
  await world.runTurns();
  const token = world.deps.tokens.settleToken({ runId: waiting, waitId: '1' });
  const push = world.deps.tokens.pushToken({ runId: delegating, waitId: '1', server: 'agent' });
  const pushed = await world.deps.store.tokens.read(delegating, '1');
  return {
    world,
    handler,
    requests: validRequests({
      waiting,
      talking,
      asking,
      token,
      push: { ...push, taskId: pushed?.handle?.taskId ?? '' },
    }),
    secrets: [token, managementToken, hookToken, push.token, push.secret],
  };
}

interface Ids {
  readonly waiting: string;
  readonly talking: string;
  readonly asking: string;
  readonly token: string;
  readonly push: { readonly token: string; readonly secret: string; readonly taskId: string };
}

interface Made {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  readonly free?: readonly string[];
}

/** Returns at least one valid request for each route. A new route does not compile without one. */
function validRequests({ waiting, talking, asking, token, push }: Ids): readonly ValidRequest[] {
  const run = { path: { runId: talking } };
  const wait = { path: { runId: waiting, waitId: '1' } };
  const held = { path: { token } };
  const bearer = { headers: { authorization: `Bearer ${token}` } };
  const completed = { body: { output: { result: { rows: 3 }, isError: false } }, free: ['output.result'] };
  const failed = { body: { error: 'no rows', retryable: false } };
  const longer = { body: { extendBySeconds: 60 } };
  const question = { path: { inputId: inputIdOf(asking, '1') } };
  const input = { text: 'hello' };
  const made: Readonly<Record<RouteName, readonly Made[]>> = {
    checkHealth: [{}],
    startRun: [
      { body: { workflow: 'echo', input, key: 'k-1', tags: { team: 'a' } } },
      { body: { workflow: 'talks', input: null, id: 'talk-1', whenRunning: 'useExisting' }, free: ['input'] },
      { body: { workflow: 'echo', input, delay: { minutes: 5 }, timeout: { hours: 1 } } },
      { body: { workflow: 'talks', key: 'k-2', signal: { name: 'say', payload: 1 } }, free: ['signal.payload'] },
      { body: { workflow: 'echo', input }, headers: { 'idempotency-key': 'k-3' } },
    ],
    listRuns: [{}, { query: { status: 'running', workflow: 'talks', limit: '2', tag: 'team:a' } }],
    showRun: [run],
    explainRun: [run],
    readHistory: [run, { ...run, query: { after: '0', limit: '10' } }],
    awaitResult: [run, { ...run, query: { wait: '5' } }],
    followRun: [{ ...run, query: { after: '0', wait: '1' } }],
    cancelRun: [{ ...run, body: { reason: 'late', requestId: 'r-1' } }],
    terminateRun: [{ ...run, body: { reason: 'late', requestId: 'r-2' } }],
    pauseRun: [{ ...run, body: {} }],
    resumeRun: [{ ...run, body: {} }],
    retryNow: [{ ...run, body: {} }],
    signalRun: [{ path: { runId: talking, name: 'say' }, body: { payload: { a: 1 }, key: 's-1' }, free: ['payload'] }],
    queryRun: [{ path: { runId: talking, name: 'said' }, body: { input: 1 }, free: ['input'] }],
    settleWait: [
      { ...wait, ...completed },
      { ...wait, ...failed },
    ],
    pollRemoteTask: [{ ...wait, body: {} }],
    cancelRemoteTask: [{ ...wait, body: {} }],
    listRemoteTasks: [{ query: { orphaned: 'false', server: 'reports', limit: '5' } }],
    readRemoteTask: [{ path: { server: 'reports' }, query: { taskId: 'task-1' } }],
    listInputs: [{ query: { limit: '5' } }],
    showInput: [question],
    answerInput: [
      { ...question, body: { action: 'accept', content: { why: 'so' } }, free: ['content'] },
      { ...question, body: { action: 'decline' } },
    ],
    listServers: [{}],
    listSchedules: [{}],
    pauseSchedule: [{ path: { name: 'nightly' }, body: {} }],
    resumeSchedule: [{ path: { name: 'nightly' }, body: {} }],
    addKey: [{ body: { name: 'ci', roles: ['read'], tenant: 'acme' } }],
    listKeys: [{ query: { limit: '5' } }],
    rotateKey: [{ path: { name: 'spare' }, body: {} }],
    revokeKey: [{ path: { name: 'spare' }, body: { only: 'old' } }],
    listExternalWaits: [{ query: { run: waiting } }, { query: { server: 'reports', taskId: 'task-1' } }],
    completeToken: [{ ...held, ...completed }],
    failToken: [{ ...held, ...failed }],
    heartbeatToken: [{ ...held, ...longer }],
    completeBearer: [{ ...bearer, ...completed }],
    failBearer: [{ ...bearer, ...failed }],
    heartbeatBearer: [{ ...bearer, ...longer }],
    settleBatch: [
      {
        body: {
          settlements: [
            { token, complete: { output: { result: 1 } } },
            { token, heartbeat: { extendBySeconds: 60 } },
          ],
        },
        free: ['settlements.0.complete.output.result'],
      },
    ],
    receiveHook: [
      {
        path: { name: 'talk' },
        headers: { authorization: `Bearer ${hookToken}`, 'idempotency-key': 'd-1' },
        body: input,
      },
    ],
    receiveA2aPush: [
      {
        path: { pushToken: push.token },
        headers: { 'x-a2a-notification-token': push.secret },
        body: { statusUpdate: { taskId: push.taskId, status: { state: 'TASK_STATE_COMPLETED' } } },
      },
    ],
  };
  return Object.entries(made).flatMap(([route, requests]) => requests.map((one) => toRequest(route as RouteName, one)));
}

function toRequest(route: RouteName, { path = {}, query = {}, headers = {}, body, free = [] }: Made): ValidRequest {
  const { method, path: pattern, access } = routes[route];
  return {
    route,
    method,
    path: pattern.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => path[name] ?? ''),
    // A signal may have any name.
    ids: Object.entries(path).flatMap(([name, id]) => (route === 'signalRun' && name === 'name' ? [] : [id])),
    query,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(access === 'management' ? { authorization: `Bearer ${managementToken}` } : {}),
      ...headers,
    },
    body,
    free,
  };
}
