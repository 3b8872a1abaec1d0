import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { apiHandler, type ApiOptions } from '../../../lib/aws/api-handler.js';
import type { Caller } from '../../../lib/base/caller.js';
import { defined } from '../../../lib/base/defined.js';
import { createGateway } from '../../../lib/local/api-gateway.js';
import { addKey } from '../../../lib/operations/requests/manage-keys.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { type RouteName, routes } from '../../../lib/topology/routes.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { defineSchedule } from '../../../lib/workflow/schedule.js';
import type { AccessConfig } from '../../../lib/workflow/access.js';
import { anEvent } from './event.js';
import { aWorld, type World } from './world.js';

// Who may use which route on whose run, written by hand, through the doors that callers come through.

const columns = [
  'owner',
  'colleague',
  'stranger',
  'anonymous',
  'tenant: call',
  'tenant: read',
  'tenant: admin',
  'call',
  'read',
  'operate',
  'admin',
] as const;
type Column = (typeof columns)[number];

/** Owner, colleague and stranger may operate: the run is the owner's, and the stranger is of another tenant. */
const callers: Readonly<Record<Exclude<Column, 'anonymous'>, Caller>> = {
  owner: { id: 'ann', tenant: 'acme', roles: ['operate'] },
  colleague: { id: 'bob', tenant: 'acme', roles: ['operate'] },
  stranger: { id: 'eve', tenant: 'globex', roles: ['operate'] },
  'tenant: call': { id: 'cal', tenant: 'acme', roles: ['call'] },
  'tenant: read': { id: 'rea', tenant: 'acme', roles: ['read'] },
  'tenant: admin': { id: 'adm', tenant: 'acme', roles: ['admin'] },
  call: { id: 'op-call', roles: ['call'] },
  read: { id: 'op-read', roles: ['read'] },
  operate: { id: 'op-operate', roles: ['operate'] },
  admin: { id: 'op-admin', roles: ['admin'] },
};

/**
 * `+`: served, and shows the run where it is a list. `e`: served, without the run. `a`: 401. `f`: 403. `u`: 404, as for a
 * run or question that does not exist. `t`: 404, no token.
 */
// prettier-ignore
const table: Readonly<Record<RouteName, string>> = {
  //                  own col str ano  t:c t:r t:a  cal rea ope adm
  checkHealth:       '+   +   +   +    +   +   +    +   +   +   +',
  startRun:          '+   +   +   a    f   f   +    f   f   +   +',
  listRuns:          '+   +   e   a    f   +   +    f   +   +   +',
  showRun:           '+   +   u   a    f   +   +    f   +   +   +',
  explainRun:        '+   +   u   a    f   +   +    f   +   +   +',
  readHistory:       '+   +   u   a    f   +   +    f   +   +   +',
  awaitResult:       '+   +   u   a    f   +   +    f   +   +   +',
  followRun:         '+   +   u   a    f   +   +    f   +   +   +',
  cancelRun:         '+   +   u   a    f   f   +    f   f   +   +',
  terminateRun:      '+   +   u   a    f   f   +    f   f   +   +',
  pauseRun:          '+   +   u   a    f   f   +    f   f   +   +',
  resumeRun:         '+   +   u   a    f   f   +    f   f   +   +',
  retryNow:          '+   +   u   a    f   f   +    f   f   +   +',
  signalRun:         '+   +   u   a    f   f   +    f   f   +   +',
  queryRun:          '+   +   u   a    f   +   +    f   +   +   +',
  settleWait:        '+   +   u   a    f   f   +    f   f   +   +',
  pollRemoteTask:    '+   +   u   a    f   f   +    f   f   +   +',
  cancelRemoteTask:  '+   +   u   a    f   f   +    f   f   +   +',
  listRemoteTasks:   '+   +   e   a    f   +   +    f   +   +   +',
  readRemoteTask:    'f   f   f   a    f   f   f    f   f   +   +',
  listInputs:        '+   +   e   a    f   +   +    f   +   +   +',
  showInput:         '+   +   u   a    f   +   +    f   +   +   +',
  answerInput:       '+   +   u   a    f   f   +    f   f   +   +',
  listServers:       'f   f   f   a    f   f   f    f   +   +   +',
  listSchedules:     'f   f   f   a    f   f   f    f   +   +   +',
  pauseSchedule:     'f   f   f   a    f   f   f    f   f   +   +',
  resumeSchedule:    'f   f   f   a    f   f   f    f   f   +   +',
  addKey:            'f   f   f   a    f   f   f    f   f   f   +',
  listKeys:          'f   f   f   a    f   f   f    f   f   f   +',
  rotateKey:         'f   f   f   a    f   f   f    f   f   f   +',
  revokeKey:         'f   f   f   a    f   f   f    f   f   f   +',
  listExternalWaits: '+   +   e   a    f   f   +    f   f   +   +',
  // The holder of a settle token may use it; no other credential counts.
  completeToken:     '+   +   +   +    +   +   +    +   +   +   +',
  failToken:         '+   +   +   +    +   +   +    +   +   +   +',
  heartbeatToken:    '+   +   +   +    +   +   +    +   +   +   +',
  settleBatch:       '+   +   +   +    +   +   +    +   +   +   +',
  completeBearer:    't   t   t   a    t   t   t    t   t   t   t',
  failBearer:        't   t   t   a    t   t   t    t   t   t   t',
  heartbeatBearer:   't   t   t   a    t   t   t    t   t   t   t',
  receiveA2aPush:    'a   a   a   a    a   a   a    a   a   a   a',
  receiveHook:       'a   a   a   a    a   a   a    a   a   a   a',
};

/** Routes that list things of runs. */
const lists: readonly RouteName[] = ['listRuns', 'listRemoteTasks', 'listInputs', 'listExternalWaits'];

interface Subject {
  readonly runId: string;
  readonly token: string;
}

const bodies: Readonly<Partial<Record<RouteName, (subject: Subject, column: Column) => object>>> = {
  startRun: () => ({ workflow: 'subject' }),
  settleWait: () => ({ output: { result: 1 } }),
  answerInput: () => ({ action: 'decline' }),
  addKey: (_, column) => ({ name: `new-${column.replace(/\W+/g, '-')}`, roles: ['read'] }),
  completeToken: () => ({ output: { result: 1 } }),
  failToken: () => ({ error: 'no' }),
  heartbeatToken: () => ({ extendBySeconds: 60 }),
  completeBearer: () => ({ output: { result: 1 } }),
  failBearer: () => ({ error: 'no' }),
  heartbeatBearer: () => ({ extendBySeconds: 60 }),
  settleBatch: ({ token }) => ({ settlements: [{ token, complete: { output: { result: 1 } } }] }),
};

function pathOf(route: RouteName, { runId, token }: Subject): string {
  const waitId = route === 'settleWait' ? '3' : '1';
  const name = { pauseSchedule: 'ticks', resumeSchedule: 'ticks', rotateKey: 'spare', revokeKey: 'spare' };
  const parts: Readonly<Record<string, string>> = {
    runId,
    waitId,
    token,
    inputId: `${runId}.2`,
    server: 'reports',
    pushToken: 'x',
    name: (name as Partial<Record<RouteName, string>>)[route] ?? 'what',
  };
  const path = routes[route].path.replaceAll(/\{(\w+)\}/g, (_, part: string) => parts[part] ?? '');
  return route === 'readRemoteTask' ? `${path}?taskId=task-1` : path;
}

const subject = defineWorkflow({
  name: 'subject',
  run: async (ctx) => {
    ctx.onQuery('what', () => 'this');
    return Promise.all([
      ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } }),
      ctx.ask({ message: 'Yes?', timeout: { hours: 1 } }),
      ctx.promise({ name: 'approval', timeout: { hours: 1 } }).then(({ promise }) => promise),
      ctx.signal('what'),
    ]);
  },
});

const principalOf = (id: string): string => `arn:aws:iam::123456789012:role/${id}`;
const access: AccessConfig = {
  claims: {
    tenant: 'custom:tenant',
    everyTenant: '*',
    roles: 'groups',
    roleOf: { callers: 'call', readers: 'read', operators: 'operate', admins: 'admin' },
  },
  principals: Object.fromEntries(Object.values(callers).map(({ id, ...rules }) => [principalOf(id), rules])),
};
const groups = { call: 'callers', read: 'readers', operate: 'operators', admin: 'admins' } as const;

/** Sends a request, and returns status and text of the answer. */
type Send = (request: {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly column: Column;
}) => Promise<readonly [status: number, text: string]>;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const ofKey = (keys: ReadonlyMap<Column, string>, column: Column): Record<string, string> =>
  defined({ authorization: keys.has(column) ? `Bearer ${keys.get(column)!}` : undefined });

/** Sends events to the handler of the function; `authorizer` is what the gateway adds for a caller that it lets pass. */
function lambda(
  world: World,
  options: ApiOptions,
  keys: ReadonlyMap<Column, string>,
  authorizer: (caller: Caller) => object | undefined,
): Send {
  const handle = apiHandler(() => world.deps, options);
  return async ({ method, path, body, column }) => {
    const headers = { ...ofKey(keys, column), 'content-type': 'application/json' };
    const [rawPath = '', query = ''] = path.split('?');
    const event = anEvent({ method, path: rawPath, query, headers, body });
    const passed = column === 'anonymous' ? undefined : authorizer(callers[column]);
    const requestContext = { ...event.requestContext, ...defined({ authorizer: passed }) };
    const result = await handle({ ...event, requestContext });
    return [result.statusCode!, result.body ?? ''];
  };
}

const doors: Readonly<Record<string, (world: World, keys: ReadonlyMap<Column, string>) => Promise<Send>>> = {
  'the local server, with named keys': async (world, keys) => {
    const api = apiHandler(() => world.deps, { loopbackOnly: true, managementTokens: () => ['canary-m'.repeat(3)] });
    const server = createGateway(api, world.deps.log);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return async ({ method, path, body, column }) => {
      const headers = { ...ofKey(keys, column), 'content-type': 'application/json' };
      const response = await fetch(url + path, { method, headers, ...defined({ body }) });
      return [response.status, await response.text()];
    };
  },
  'the function, with named keys': async (world, keys) =>
    lambda(world, { managementTokens: () => ['canary-m'.repeat(3)] }, keys, () => undefined),
  'the function behind a JWT authorizer, with lists as an HTTP API sends them': async (world, keys) =>
    lambda(world, { byAuthorizer: true }, keys, ({ id, tenant, roles: [role] }) => ({
      jwt: { claims: { sub: id, 'custom:tenant': tenant ?? '*', groups: `[other ${groups[role!]}]` }, scopes: null },
    })),
  'the function behind a Lambda authorizer, with lists as Cognito sends them': async (world, keys) =>
    lambda(world, { byAuthorizer: true }, keys, ({ id, tenant, roles: [role] }) => ({
      lambda: { sub: id, 'custom:tenant': tenant ?? '*', groups: `other,${groups[role!]}` },
    })),
  'the function behind an IAM authorizer': async (world, keys) =>
    lambda(world, { byAuthorizer: true }, keys, ({ id }) => ({
      iam: { userArn: `arn:aws:sts::123456789012:assumed-role/${id}/session`, accountId: '123456789012' },
    })),
};

async function aWorldWithKeys() {
  const world = aWorld([subject]);
  const schedule = defineSchedule({ name: 'ticks', workflow: subject, every: { days: 1 } });
  Object.assign(world.deps, { app: { ...world.deps.app, access, schedules: [schedule] } });
  const keys = new Map<Column, string>();
  for (const [column, { id, tenant, roles }] of Object.entries(callers))
    keys.set(column as Column, (await addKey(world.deps, { name: id, roles, ...defined({ tenant }) })).key);
  return { world, keys };
}

async function aSubject(world: World): Promise<Subject> {
  const { deps } = world;
  const { runId } = await startRun({ ...deps, caller: callers.owner }, { workflow: 'subject' });
  await world.runTurns();
  return { runId, token: deps.tokens.settleToken({ runId, waitId: '3' }) };
}

function cellOf(route: RouteName, status: number, text: string, { runId }: Subject): string {
  const code = status < 400 ? '' : (JSON.parse(text) as { error: { code: string } }).error.code;
  if (status < 300) return lists.includes(route) && !text.includes(runId) ? 'e' : '+';
  if (status === 401) return 'a';
  if (status === 403) return 'f';
  if (code === 'RUN_NOT_FOUND' || code === 'INPUT_NOT_FOUND') return 'u';
  return code === 'TOKEN_INVALID' ? 't' : `${status} ${code}`;
}

describe.each(Object.entries(doors))('through %s', (_, door) => {
  it.each(Object.keys(routes) as RouteName[])(
    '%s is served to whom the table says, and refused without a change',
    async (route) => {
      const { world, keys } = await aWorldWithKeys();
      const send = await door(world, keys);
      // The day of use is noted with the first request.
      for (const column of columns) await send({ method: 'GET', path: '/servers', body: undefined, column });
      await addKey(world.deps, { name: 'spare', roles: ['read'] });
      const { method } = routes[route];
      const cells: Record<string, string> = {};
      for (const column of columns) {
        const given = await aSubject(world);
        const before = world.dump();
        const body = method === 'GET' ? undefined : JSON.stringify(bodies[route]?.(given, column) ?? {});
        const [status, text] = await send({ method, path: pathOf(route, given), body, column });
        cells[column] = cellOf(route, status, text, given);
        if (cells[column] !== '+') expect([column, world.dump() === before]).toEqual([column, true]);
        if (column !== 'stranger') continue;
        // What another tenant has looks like what nobody has.
        const unknown = { runId: 'f'.repeat(32), token: given.token };
        const [, same] = await send({ method, path: pathOf(route, unknown), body, column });
        if (cells[column] === 'u') expect(text).toBe(same);
      }
      const expected = table[route].split(/\s+/);
      expect(expected).toHaveLength(columns.length);
      expect(cells).toEqual(Object.fromEntries(columns.map((column, at) => [column, expected[at]])));
    },
  );
});
