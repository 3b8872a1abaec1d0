import { type Context, Hono } from 'hono';
import { EngineError, hasCode } from '../base/errors.js';
import type { Deps } from '../operations/deps.js';
import { type Route, type RouteName, routes } from '../topology/routes.js';
import { isPreflight, preflightAnswer, readableFor, requireLoopback } from './access.js';
import { type Arrival, callerOf, depsOf, type DoorOptions, requireOwn, requireRole } from './door.js';
import type * as operatorRoutes from './operator-routes.js';
import { json, problemResponse } from './problem.js';
import { Refusals, type Refused } from './refusals.js';
import * as relays from './relay-routes.js';
import * as runs from './run-routes.js';

export interface RouteOptions extends DoorOptions {
  /** Whether to refuse requests that a web page of another origin could send. For local mode. Default false. */
  readonly loopbackOnly?: boolean;
  /** Origins whose pages may send requests in spite of `loopbackOnly`. Default none. */
  readonly allowedOrigins?: readonly string[];
  /** URL of a tunnel whose senders may use the routes of hooks and pushes in spite of `loopbackOnly`. Default none. */
  readonly publicUrl?: string;
}

type Handler = (deps: Deps, context: Context) => Promise<Response> | Response;

/** Loads a handler at the first request for one of its kind, since most invocations serve none. */
function rarely(pick: (routes: typeof operatorRoutes) => Handler): Handler {
  return async (deps, context) => pick(await import('./operator-routes.js'))(deps, context);
}

const handlers = {
  checkHealth: () => json(200, { status: 'ok' }),
  startRun: runs.start,
  listRuns: runs.list,
  showRun: runs.show,
  explainRun: runs.why,
  readHistory: runs.history,
  awaitResult: runs.result,
  followRun: runs.events,
  cancelRun: runs.stop('cancel'),
  terminateRun: runs.stop('terminate'),
  pauseRun: runs.control('pause'),
  resumeRun: runs.control('resume'),
  retryNow: runs.control('retryNow'),
  signalRun: runs.signal,
  queryRun: runs.query,
  settleWait: relays.settle,
  pollRemoteTask: rarely(({ remoteTasks }) => remoteTasks.poll),
  cancelRemoteTask: rarely(({ remoteTasks }) => remoteTasks.cancel),
  listRemoteTasks: rarely(({ remoteTasks }) => remoteTasks.list),
  readRemoteTask: rarely(({ remoteTasks }) => remoteTasks.read),
  listInputs: rarely(({ inputs }) => inputs.list),
  showInput: rarely(({ inputs }) => inputs.show),
  answerInput: rarely(({ inputs }) => inputs.answer),
  listServers: rarely(({ servers }) => servers.list),
  listSchedules: rarely(({ schedules }) => schedules.list),
  pauseSchedule: rarely(({ schedules }) => schedules.control('pause')),
  resumeSchedule: rarely(({ schedules }) => schedules.control('resume')),
  addKey: rarely(({ keys }) => keys.add),
  listKeys: rarely(({ keys }) => keys.list),
  rotateKey: rarely(({ keys }) => keys.rotate),
  revokeKey: rarely(({ keys }) => keys.revoke),
  listExternalWaits: relays.externalWaits,
  completeToken: relays.complete,
  failToken: relays.fail,
  heartbeatToken: relays.heartbeat,
  receiveHook: async (deps, context) => (await import('./hook-routes.js')).receive(deps, context),
  receiveA2aPush: async (deps, context) => (await import('./push-routes.js')).receiveA2a(deps, context),
  completeBearer: relays.complete,
  failBearer: relays.fail,
  heartbeatBearer: relays.heartbeat,
  settleBatch: rarely(({ batches }) => batches.settle),
} satisfies Readonly<Record<RouteName, Handler>>;

/**
 * Creates the management API and the routes of relays, as a function from Request to Response. Cheap checks come first:
 * route, access, token, length, media type, JSON, schema; the store is used only after them.
 */
export function createRoutes(deps: Deps, options: RouteOptions = {}): Hono<Kept> {
  const app = new Hono<Kept>();
  const refusals = new Refusals(deps);
  app.notFound(() => problemResponse(new EngineError('ROUTE_NOT_FOUND', 'there is no such route'), deps.log));
  app.onError((error, context) => {
    const { route, caller } = context.var;
    refusals.note(error, { route, caller, sourceIp: arrivalOf(context).sourceIp });
    return problemResponse(error, deps.log);
  });
  app.use(async (context, next) => {
    const request = context.req.raw;
    const isLocal = options.loopbackOnly === true && !cameThroughTunnel(request, options.publicUrl);
    const origin = isLocal ? requireLoopback(request, options.allowedOrigins) : undefined;
    if (origin !== undefined && isPreflight(request)) return preflightAnswer(origin);
    await next();
    if (origin !== undefined) readableFor(origin, context.res);
    return undefined;
  });
  const methodsByPath = new Map<string, string[]>();
  for (const [name, handle] of Object.entries(handlers)) {
    const route: Route = routes[name as RouteName];
    const { method, path } = route;
    const honoPath = path.replaceAll(/\{(\w+)\}/g, ':$1');
    methodsByPath.set(honoPath, [...(methodsByPath.get(honoPath) ?? []), method]);
    app.on(method, honoPath, async (context) => {
      context.set('route', name as RouteName);
      return handle(route.access === 'management' ? await letIn(deps, context, route, options) : deps, context);
    });
  }
  for (const [path, methods] of methodsByPath) app.all(path, () => methodNotAllowed(deps, methods));
  return app;
}

/** Whether the sender of a hook or push used the public URL. It must prove itself, so nothing is lost by letting it in. */
function cameThroughTunnel(request: Request, publicUrl: string | undefined): boolean {
  if (publicUrl === undefined || request.headers.get('host') !== new URL(publicUrl).host) return false;
  return request.headers.get('origin') === null && /^\/(hooks|push)\//.test(new URL(request.url).pathname);
}

/** Returns the dependencies for a request to a management route. @throws EngineError if its caller is refused */
async function letIn(deps: Deps, context: Context<Kept>, route: Route, options: DoorOptions): Promise<Deps> {
  let caller;
  try {
    caller = await callerOf(deps, context.req.raw, arrivalOf(context), options);
  } catch (error) {
    if (hasCode(error, 'UNAUTHORIZED')) deps.metrics?.put('ManagementAuthFailures', 1);
    throw error;
  }
  context.set('caller', caller);
  requireRole(caller, route);
  const served = depsOf(deps, caller);
  await requireOwn(served, context.req.param());
  return served;
}

/** What is kept of a request: how it came, and what its log event names. */
interface Kept {
  readonly Bindings: Arrival;
  readonly Variables: { route?: Refused['route']; caller?: Refused['caller'] };
}

function arrivalOf(context: Context<Kept>): Arrival {
  // Missing where a request comes without a gateway.
  const { env } = context as { readonly env: Arrival | undefined };
  return env ?? {};
}

function methodNotAllowed(deps: Deps, allowed: readonly string[]): Response {
  const methods = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
  const response = problemResponse(new EngineError('METHOD_NOT_ALLOWED', `the route takes ${methods}`), deps.log);
  response.headers.set('allow', methods);
  return response;
}
