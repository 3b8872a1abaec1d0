import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { afterEach, describe, expect, it } from 'vitest';
import { serveHandler, type ServeOptions } from '../../../lib/aws/serve-handler.js';
import type { Caller } from '../../../lib/base/caller.js';
import { defined } from '../../../lib/base/defined.js';
import { createGateway } from '../../../lib/local/api-gateway.js';
import { answerAsStream, isServed } from '../../../lib/local/rest-gateway.js';
import { addKey } from '../../../lib/operations/requests/manage-keys.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import type { ServeConfig } from '../../../lib/workflow/serve.js';
import { throughRestApi } from '../../system/malformed/doors.js';
import { aWorld, type World } from './world.js';

// Who may use which door of served workflows on whose task, written by hand, through the doors that callers come through.

const columns = ['owner', 'colleague', 'stranger', 'anonymous', 'call', 'read', 'operate', 'admin'] as const;
type Column = (typeof columns)[number];

/** All but the last three may call: the task is the owner's, and the stranger is of another tenant. */
const callers: Readonly<Record<Exclude<Column, 'anonymous'>, Caller>> = {
  owner: { id: 'ann', tenant: 'acme', roles: ['call'] },
  colleague: { id: 'bob', tenant: 'acme', roles: ['call'] },
  stranger: { id: 'eve', tenant: 'globex', roles: ['call'] },
  call: { id: 'op-call', roles: ['call'] },
  read: { id: 'op-read', roles: ['read'] },
  operate: { id: 'op-operate', roles: ['operate'] },
  admin: { id: 'op-admin', roles: ['admin'] },
};

const url = 'https://receiver.example/news';
const text = (taskId?: string) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'yes' }], ...defined({ taskId }) },
  configuration: { returnImmediately: true },
});
const text03 = (taskId?: string) => ({
  message: {
    kind: 'message',
    messageId: 'm',
    role: 'user',
    parts: [{ kind: 'text', text: 'yes' }],
    ...defined({ taskId }),
  },
  configuration: { blocking: false },
});

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly version?: string;
}

const rpc = (method: string, params: object): Asked => ({
  method: 'POST',
  path: '/a2a',
  body: { jsonrpc: '2.0', id: 1, method, params },
  version: /^[A-Z]/.test(method) ? '1.0' : '',
});
const rest = (method: string, path: string, body?: object): Asked => ({
  ...{ method, path: `/a2a/rest${path}`, version: '1.0' },
  ...defined({ body }),
});
const get = (path: string): Asked => ({ method: 'GET', path });

/**
 * `+`: served, and shows the task where it is a list. `e`: served, without the task. `a`: 401. `f`: 403. `u`: as for a
 * task that does not exist. `n`: as for an agent that does not exist.
 */
// prettier-ignore
const table: Readonly<Record<string, readonly [cells: string, ask: (id: string) => Asked]>> = {
  //                             own col str ano cal rea ope adm
  'card':                       ['+   +   +   +   +   +   +   +', () => get('/.well-known/agent-card.json')],
  'card of a skill':            ['+   +   +   +   +   +   +   +', () => get('/agents/asks/.well-known/agent-card.json')],
  'card of a skill for callers':['n   n   n   n   n   n   n   n', () => get('/agents/chat/.well-known/agent-card.json')],
  'keys that sign pushes':      ['+   +   +   +   +   +   +   +', () => get('/.well-known/jwks.json')],
  'GetExtendedAgentCard':       ['+   +   +   a   +   f   f   +', () => rpc('GetExtendedAgentCard', {})],
  'SendMessage':                ['+   +   +   a   +   f   f   +', () => rpc('SendMessage', text())],
  'SendMessage to a task':      ['+   u   u   a   u   f   f   u', (id) => rpc('SendMessage', text(id))],
  'SendStreamingMessage':       ['+   u   u   a   u   f   f   u', (id) => rpc('SendStreamingMessage', text(id))],
  'GetTask':                    ['+   u   u   a   u   f   f   u', (id) => rpc('GetTask', { id })],
  'ListTasks':                  ['+   e   e   a   e   f   f   e', () => rpc('ListTasks', {})],
  'CancelTask':                 ['+   u   u   a   u   f   f   u', (id) => rpc('CancelTask', { id })],
  'SubscribeToTask':            ['+   u   u   a   u   f   f   u', (id) => rpc('SubscribeToTask', { id })],
  'CreateTaskPush':             ['+   u   u   a   u   f   f   u', (taskId) => rpc('CreateTaskPushNotificationConfig', { taskId, url })],
  'GetTaskPush':                ['+   u   u   a   u   f   f   u', (taskId) => rpc('GetTaskPushNotificationConfig', { taskId, id: 'p' })],
  'ListTaskPushes':             ['+   u   u   a   u   f   f   u', (taskId) => rpc('ListTaskPushNotificationConfigs', { taskId })],
  'DeleteTaskPush':             ['+   u   u   a   u   f   f   u', (taskId) => rpc('DeleteTaskPushNotificationConfig', { taskId, id: 'p' })],
  'GET /extendedAgentCard':     ['+   +   +   a   +   f   f   +', () => rest('GET', '/extendedAgentCard')],
  'POST /message:send':         ['+   u   u   a   u   f   f   u', (id) => rest('POST', '/message:send', text(id))],
  'POST /message:stream':       ['+   u   u   a   u   f   f   u', (id) => rest('POST', '/message:stream', text(id))],
  'GET /tasks/{id}':            ['+   u   u   a   u   f   f   u', (id) => rest('GET', `/tasks/${id}`)],
  'GET /tasks':                 ['+   e   e   a   e   f   f   e', () => rest('GET', '/tasks')],
  'POST /tasks/{id}:cancel':    ['+   u   u   a   u   f   f   u', (id) => rest('POST', `/tasks/${id}:cancel`, {})],
  'GET /tasks/{id}:subscribe':  ['+   u   u   a   u   f   f   u', (id) => rest('GET', `/tasks/${id}:subscribe`)],
  'POST …Configs':              ['+   u   u   a   u   f   f   u', (id) => rest('POST', `/tasks/${id}/pushNotificationConfigs`, { url })],
  'GET …Configs':               ['+   u   u   a   u   f   f   u', (id) => rest('GET', `/tasks/${id}/pushNotificationConfigs`)],
  'GET …Configs/{id}':          ['+   u   u   a   u   f   f   u', (id) => rest('GET', `/tasks/${id}/pushNotificationConfigs/p`)],
  'DELETE …Configs/{id}':       ['+   u   u   a   u   f   f   u', (id) => rest('DELETE', `/tasks/${id}/pushNotificationConfigs/p`)],
  'message/send':               ['+   u   u   a   u   f   f   u', (id) => rpc('message/send', text03(id))],
  'message/stream':             ['+   u   u   a   u   f   f   u', (id) => rpc('message/stream', text03(id))],
  'tasks/get':                  ['+   u   u   a   u   f   f   u', (id) => rpc('tasks/get', { id })],
  'tasks/cancel':               ['+   u   u   a   u   f   f   u', (id) => rpc('tasks/cancel', { id })],
  'tasks/resubscribe':          ['+   u   u   a   u   f   f   u', (id) => rpc('tasks/resubscribe', { id })],
  'pushConfig/set':             ['+   u   u   a   u   f   f   u', (taskId) => rpc('tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig: { url } })],
  'pushConfig/get':             ['+   u   u   a   u   f   f   u', (id) => rpc('tasks/pushNotificationConfig/get', { id, pushNotificationConfigId: 'p' })],
  'pushConfig/list':            ['+   u   u   a   u   f   f   u', (id) => rpc('tasks/pushNotificationConfig/list', { id })],
  'pushConfig/delete':          ['+   u   u   a   u   f   f   u', (id) => rpc('tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'p' })],
  'extended card of 0.3':       ['+   +   +   a   +   f   f   +', () => rpc('agent/getAuthenticatedExtendedCard', {})],
};

const asks = defineWorkflow({
  name: 'asks',
  run: (ctx) => ctx.ask({ to: 'caller', message: 'Which?', timeout: { hours: 1 } }),
});
const chat = defineWorkflow({ name: 'chat', run: (ctx) => ctx.sleep({ hours: 1 }) });
const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'Does things', url: 'https://flows.example.com' },
  skills: { asks: { description: 'Asks' }, chat: { description: 'Talks', listed: 'callers' } },
  onMessage: 'asks',
};
const principalOf = (id: string): string => `arn:aws:iam::123456789012:role/${id}`;
const principals = Object.fromEntries(Object.values(callers).map(({ id, ...rules }) => [principalOf(id), rules]));

interface Answer {
  readonly status: number;
  readonly body: string;
}
type Send = (asked: Asked, column: Column) => Promise<Answer>;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const options: ServeOptions = { managementTokens: () => ['canary-m'.repeat(3)], streamMaxMs: 1 };

function headersOf({ body, version = '' }: Asked, key: string | undefined): Record<string, string> {
  return {
    ...(version === '' ? {} : { 'a2a-version': version }),
    ...defined({
      'content-type': body === undefined ? undefined : 'application/json',
      authorization: key === undefined ? undefined : `Bearer ${key}`,
    }),
  };
}

const sent = (asked: Asked, key?: string) => ({
  ...{ method: asked.method, path: asked.path, query: '', change: '', mustBeRefused: false },
  headers: Object.entries(headersOf(asked, key)),
  body: asked.body === undefined ? undefined : Buffer.from(JSON.stringify(asked.body)),
});

const doors: Readonly<Record<string, (world: World, keys: ReadonlyMap<Column, string>) => Promise<Send>>> = {
  'the local server, with named keys': async ({ deps }, keys) => {
    const handler = serveHandler(() => deps, { ...options, loopbackOnly: true });
    const stopped = new AbortController().signal;
    const server = createGateway(async () => ({ statusCode: 404 }), deps.log, {
      takes: isServed,
      answer: (request, body, response) => answerAsStream(handler, request, body, { response, stopped }),
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return async (asked, column) => {
      const { method, path, body } = asked;
      const response = await fetch(origin + path, {
        ...{ method, headers: headersOf(asked, keys.get(column)) },
        ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.text() };
    };
  },
  'the function, with named keys': async ({ deps }, keys) => {
    const handler = serveHandler(() => deps, options);
    return (asked, column) => throughRestApi(handler, sent(asked, keys.get(column)));
  },
  'the function behind an IAM authorizer': async ({ deps }) => {
    const handler = serveHandler(() => deps, { byAuthorizer: true, streamMaxMs: 1 });
    return (asked, column) => {
      const role = column === 'anonymous' ? undefined : callers[column].id;
      const userArn = role === undefined ? null : `arn:aws:sts::123456789012:assumed-role/${role}/session`;
      const identity = { userArn, sourceIp: '192.0.2.1' };
      return throughRestApi(
        (event, stream) =>
          handler(
            { ...event, requestContext: { authorizer: null, identity } } as unknown as APIGatewayProxyEvent,
            stream,
          ),
        sent(asked),
      );
    };
  },
};

async function aWorldWithKeys() {
  const world = aWorld([asks, chat]);
  const delay = async (delayMs: number): Promise<void> => {
    world.clock.atMs += delayMs;
    await new Promise((resolve) => setImmediate(resolve));
  };
  const pushSender = { allows: async () => true, send: () => Promise.reject(new Error('nothing is due')) };
  Object.assign(world.deps, { app: { ...world.deps.app, serve, access: { principals } }, delay, pushSender });
  const keys = new Map<Column, string>();
  for (const [column, { id, tenant, roles }] of Object.entries(callers))
    keys.set(column as Column, (await addKey(world.deps, { name: id, roles, ...defined({ tenant }) })).key);
  return { world, keys };
}

/** Starts a task of the owner that asks, with a push config. */
async function aTask(world: World, send: Send): Promise<string> {
  const { body } = await send(rpc('SendMessage', text()), 'owner');
  const { result } = JSON.parse(body) as { readonly result: { readonly task: { readonly id: string } } };
  const { id } = result.task;
  await world.runTurns();
  await send(rpc('CreateTaskPushNotificationConfig', { taskId: id, id: 'p', url }), 'owner');
  return id;
}

function cellOf({ status, body }: Answer, taskId: string): string {
  if (status === 401) return 'a';
  if (status === 403) return 'f';
  const reason = /"reason":"([A-Z_]+)"/.exec(body)?.[1];
  if (reason === 'TASK_NOT_FOUND') return 'u';
  if (reason === 'METHOD_NOT_FOUND') return 'n';
  if (status !== 200 || body.includes('"error"')) return `${status} ${body.slice(0, 200)}`;
  return body.startsWith('{"tasks":') || body.includes('"result":{"tasks":')
    ? body.includes(taskId)
      ? '+'
      : 'e'
    : '+';
}

describe.each(Object.entries(doors))('through %s', (_, door) => {
  it.each(Object.keys(table))(
    '%s is served to whom the table says, and what another has looks like what nobody has',
    async (row) => {
      const [cells, ask] = table[row]!;
      const { world, keys } = await aWorldWithKeys();
      const send = await door(world, keys);
      // The day of use is noted with the first request.
      for (const column of columns) await send(rpc('GetExtendedAgentCard', {}), column);
      const got: Record<string, string> = {};
      let taskId = await aTask(world, send);
      for (const column of columns) {
        const before = tasksOf(world);
        const answer = await send(ask(taskId), column);
        got[column] = cellOf(answer, taskId);
        if (got[column] === '+') {
          // The task may have ended.
          taskId = await aTask(world, send);
          continue;
        }
        expect([column, tasksOf(world) === before]).toEqual([column, true]);
        expect(await send(ask('f'.repeat(32)), column)).toEqual(answer);
      }
      const expected = cells.split(/\s+/);
      expect(got).toEqual(Object.fromEntries(columns.map((column, at) => [column, expected[at]])));
    },
  );
});

/** All that the table holds but the places of streams: one is taken before a message is looked at, and left again. */
function tasksOf(world: Pick<World, 'dump'>): string {
  const items = (JSON.parse(world.dump()) as readonly unknown[]).map((item) => JSON.stringify(item));
  return items.filter((item) => !item.includes('"slot#')).join('\n');
}
