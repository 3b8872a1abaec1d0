import { setImmediate } from 'node:timers/promises';
import { serveHandler, type ServeHandler } from '../../../lib/aws/serve-handler.js';
import type { Caller } from '../../../lib/base/caller.js';
import type { JsonObject } from '../../../lib/base/json.js';
import { defineApp, defineWorkflow } from '../../../lib/index.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { createPushConfigs } from '../../../lib/operations/serve/push-configs.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import type { ServeConfig } from '../../../lib/workflow/serve.js';
import { aWorld, type World } from '../../unit/http/world.js';
import { managementToken, type ValidRequest } from './scene.js';

const asks = defineWorkflow({
  name: 'asks',
  run: (ctx) => ctx.ask({ to: 'caller', message: 'Which?', timeout: { hours: 1 } }),
});
const chat = defineWorkflow({ name: 'chat', run: (ctx) => ctx.sleep({ hours: 1 }) });
export const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'Does things', url: 'https://flows.example.com' },
  skills: { asks: { description: 'Asks' }, chat: { description: 'Talks', listed: 'callers' } },
  onMessage: 'chat',
};

/** An app whose workflows are served, with something for every door to act on. */
export interface ServedScene {
  readonly world: World;
  readonly serve: ServeHandler;
  readonly requests: readonly ValidRequest[];
  readonly secrets: readonly string[];
  dump(): string;
}

const pushSecret = 'canary-push-secret-of-the-test';
/** The first admin, as whom the management token calls. */
const caller: Caller = { id: 'management', roles: ['admin'] };

/** Creates a scene. `planted`: replaces parts of the dependencies, to plant a fault. */
export async function aServedScene(planted: Partial<Deps> = {}): Promise<ServedScene> {
  const world = aWorld();
  const { deps, clock } = world;
  // A request that waits gives up when its time is over.
  const delay = async (delayMs: number): Promise<void> => {
    clock.atMs += delayMs;
    await setImmediate();
  };
  const pushSender = { allows: async (url: string) => url.startsWith('https://'), send: neverSent };
  Object.assign(deps, { app: defineApp({ workflows: [asks, chat], serve }), delay, pushSender }, planted);
  const own = { ...deps, caller };
  const tasks = createTasks(own, serve);
  const message = { messageId: 'm0', role: 'user', parts: [{ data: {} }] } as const;
  const asking = await tasks.send({ message, skill: 'asks', arguments: {} });
  const ended = await tasks.send({ message, skill: 'asks', arguments: {} });
  await world.runTurns();
  await createPushConfigs(own).set(asking.taskId, { id: 'p', url, wire: '1.0', token: pushSecret });
  return {
    world,
    serve: serveHandler(() => deps, { managementTokens: () => [managementToken], streamMaxMs: 1 }),
    requests: validRequests({ asking: asking.taskId, other: ended.taskId }),
    secrets: [managementToken, pushSecret],
    dump: () => world.dump(),
  };
}

const url = 'https://receiver.example/news';
const neverSent = () => Promise.reject(new Error('nothing is due'));

interface Ids {
  readonly asking: string;
  readonly other: string;
}

/** Returns valid requests to each door, for each method. */
function validRequests(ids: Ids): readonly ValidRequest[] {
  const rpc = Object.entries(methodsOf(ids)).map(([method, params]): ValidRequest => {
    const is10 = /^[A-Z]/.test(method);
    return aRequest(method, 'POST', '/a2a', {
      body: { jsonrpc: '2.0', id: 'q', method, params },
      free: 'message' in params ? ['params.message.metadata.free'] : [],
      ...(is10 ? {} : { version: '' }),
    });
  });
  const cards = ['/.well-known/agent-card.json', '/agents/asks/.well-known/agent-card.json', '/.well-known/jwks.json'];
  return [
    ...rpc,
    ...restRequests(ids),
    ...cards.map((path) => ({ ...aRequest(path, 'GET', path), headers: {} })),
    aRequest('agents/asks SendMessage', 'POST', '/agents/asks/a2a', {
      body: { jsonrpc: '2.0', id: 'q', method: 'SendMessage', params: aMessage({ data: {} }) },
    }),
  ];
}

interface Made {
  readonly body?: JsonObject;
  readonly free?: readonly string[];
  readonly ids?: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly version?: string;
}

function aRequest(route: string, method: string, path: string, made: Made = {}): ValidRequest {
  const { body, free = [], ids = [], query = {}, version = '1.0' } = made;
  return {
    ...{ route, method, path, ids, query, body, free },
    headers: {
      authorization: `Bearer ${managementToken}`,
      ...(version === '' ? {} : { 'a2a-version': version }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
  };
}

function aMessage(part: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    message: { messageId: 'm1', role: 'ROLE_USER', parts: [part], metadata: { free: 1 }, ...more },
    configuration: { returnImmediately: true, historyLength: 1 },
  };
}

function methodsOf({ asking, other }: Ids): Readonly<Record<string, JsonObject>> {
  const config = { taskId: asking, id: 'p2', url, token: 'x', authentication: { scheme: 'Bearer', credentials: 'c' } };
  const message03 = { kind: 'message', messageId: 'm1', role: 'user', metadata: { free: 1 } };
  const { taskId, ...config03 } = { ...config, authentication: { schemes: ['Bearer'], credentials: 'c' } };
  return {
    SendMessage: aMessage({ text: 'yes' }, { taskId: asking }),
    SendStreamingMessage: aMessage({ data: { skill: 'asks', arguments: {} } }),
    GetTask: { id: asking, historyLength: 2 },
    ListTasks: { pageSize: 5, historyLength: 1, includeArtifacts: true, status: 'TASK_STATE_INPUT_REQUIRED' },
    CancelTask: { id: other },
    SubscribeToTask: { id: asking },
    GetExtendedAgentCard: {},
    CreateTaskPushNotificationConfig: config,
    GetTaskPushNotificationConfig: { taskId: asking, id: 'p' },
    ListTaskPushNotificationConfigs: { taskId: asking, pageSize: 3 },
    DeleteTaskPushNotificationConfig: { taskId: asking, id: 'p' },
    'message/send': {
      message: { ...message03, parts: [{ kind: 'text', text: 'hi' }] },
      configuration: { blocking: false },
    },
    'message/stream': { message: { ...message03, parts: [{ kind: 'data', data: { skill: 'asks', arguments: {} } }] } },
    'tasks/get': { id: asking, historyLength: 2 },
    'tasks/cancel': { id: other },
    'tasks/resubscribe': { id: asking },
    'tasks/pushNotificationConfig/set': { taskId, pushNotificationConfig: config03 },
    'tasks/pushNotificationConfig/get': { id: asking, pushNotificationConfigId: 'p' },
    'tasks/pushNotificationConfig/list': { id: asking },
    'tasks/pushNotificationConfig/delete': { id: asking, pushNotificationConfigId: 'p' },
    'agent/getAuthenticatedExtendedCard': {},
  };
}

function restRequests({ asking, other }: Ids): readonly ValidRequest[] {
  const at = (method: string, path: string, made: Made = {}): ValidRequest =>
    aRequest(`${method} ${path.replace(asking, '{id}').replace(other, '{id}')}`, method, `/a2a/rest${path}`, made);
  const task = `/tasks/${asking}`;
  const configs = `${task}/pushNotificationConfigs`;
  const ids = [asking];
  return [
    at('POST', '/message:send', { body: aMessage({ text: 'hi' }), free: ['message.metadata.free'] }),
    at('POST', '/message:stream', { body: aMessage({ data: { skill: 'asks', arguments: {} } }) }),
    at('GET', '/extendedAgentCard'),
    at('GET', '/tasks', { query: { pageSize: '5', historyLength: '1', includeArtifacts: 'true' } }),
    at('GET', task, { ids, query: { historyLength: '2' } }),
    at('POST', `/tasks/${other}:cancel`, { ids: [other], body: {} }),
    at('POST', `${task}:subscribe`, { ids, body: {} }),
    at('GET', `${task}:subscribe`, { ids }),
    at('POST', configs, { ids, body: { id: 'p2', url, token: 'x' } }),
    at('GET', configs, { ids }),
    at('GET', `${configs}/p`, { ids }),
    at('DELETE', `${configs}/p`, { ids }),
  ];
}
