import { type Context, Hono } from 'hono';
import { EngineError } from '../base/errors.js';
import type { Deps } from '../operations/deps.js';
import { counted, isPreflight, preflightAnswer, readableFor, requireBearer, requireLoopback } from './access.js';
import type * as operatorRoutes from './operator-routes.js';
import { json, problemResponse } from './problem.js';
import * as relays from './relay-routes.js';
import * as runs from './run-routes.js';

export interface RouteOptions {
  /**
   * Gives the bearer tokens of which the management routes ask for one, read for each request; with none to give they
   * refuse every request. Leave the option out to have them open, for a server that only this machine can reach.
   */
  readonly managementTokens?: () => readonly string[] | Promise<readonly string[]>;
  /** Refuse requests that a web page from elsewhere could send. For local mode. Default false. */
  readonly loopbackOnly?: boolean;
  /** Origins whose pages are let in all the same. Default none. */
  readonly allowedOrigins?: readonly string[];
}

interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** `capability`: the token in the path is the credential. */
  readonly access: 'open' | 'management' | 'capability';
  readonly handle: Handler;
}
type Handler = (deps: Deps, context: Context) => Promise<Response> | Response;

/** A handler that is loaded at the first request for one of its kind, since most invocations serve none. */
function late(pick: (routes: typeof operatorRoutes) => Handler): Handler {
  return async (deps, context) => pick(await import('./operator-routes.js'))(deps, context);
}

/** Every route, as a table: what is not in it does not exist. */
const routes: readonly Route[] = [
  { method: 'GET', path: '/healthz', access: 'open', handle: () => json(200, { status: 'ok' }) },
  { method: 'POST', path: '/runs', access: 'management', handle: runs.start },
  { method: 'GET', path: '/runs', access: 'management', handle: runs.list },
  { method: 'GET', path: '/runs/:runId', access: 'management', handle: runs.show },
  { method: 'GET', path: '/runs/:runId/why', access: 'management', handle: runs.why },
  { method: 'GET', path: '/runs/:runId/history', access: 'management', handle: runs.history },
  { method: 'GET', path: '/runs/:runId/result', access: 'management', handle: runs.result },
  { method: 'GET', path: '/runs/:runId/events', access: 'management', handle: runs.events },
  { method: 'POST', path: '/runs/:runId/cancel', access: 'management', handle: runs.stop('cancel') },
  { method: 'POST', path: '/runs/:runId/terminate', access: 'management', handle: runs.stop('terminate') },
  { method: 'POST', path: '/runs/:runId/pause', access: 'management', handle: runs.control('pause') },
  { method: 'POST', path: '/runs/:runId/resume', access: 'management', handle: runs.control('resume') },
  { method: 'POST', path: '/runs/:runId/retry-now', access: 'management', handle: runs.control('retryNow') },
  { method: 'POST', path: '/runs/:runId/signals/:name', access: 'management', handle: runs.signal },
  { method: 'POST', path: '/runs/:runId/queries/:name', access: 'management', handle: runs.query },
  { method: 'POST', path: '/runs/:runId/waits/:waitId/settle', access: 'management', handle: relays.settle },
  {
    method: 'POST',
    path: '/runs/:runId/waits/:waitId/poll',
    access: 'management',
    handle: late(({ remoteTasks }) => remoteTasks.poll),
  },
  {
    method: 'POST',
    path: '/runs/:runId/waits/:waitId/cancel-remote',
    access: 'management',
    handle: late(({ remoteTasks }) => remoteTasks.cancel),
  },
  { method: 'GET', path: '/remote-tasks', access: 'management', handle: late(({ remoteTasks }) => remoteTasks.list) },
  { method: 'GET', path: '/inputs', access: 'management', handle: late(({ inputs }) => inputs.list) },
  { method: 'GET', path: '/inputs/:inputId', access: 'management', handle: late(({ inputs }) => inputs.show) },
  { method: 'POST', path: '/inputs/:inputId', access: 'management', handle: late(({ inputs }) => inputs.answer) },
  { method: 'GET', path: '/servers', access: 'management', handle: late(({ servers }) => servers.list) },
  { method: 'GET', path: '/schedules', access: 'management', handle: late(({ schedules }) => schedules.list) },
  {
    method: 'POST',
    path: '/schedules/:name/pause',
    access: 'management',
    handle: late(({ schedules }) => schedules.control('pause')),
  },
  {
    method: 'POST',
    path: '/schedules/:name/resume',
    access: 'management',
    handle: late(({ schedules }) => schedules.control('resume')),
  },
  { method: 'GET', path: '/activities/external', access: 'management', handle: relays.externalWaits },
  { method: 'POST', path: '/activities/external/:token/complete', access: 'capability', handle: relays.complete },
  { method: 'POST', path: '/activities/external/:token/fail', access: 'capability', handle: relays.fail },
  { method: 'POST', path: '/activities/external/:token/heartbeat', access: 'capability', handle: relays.heartbeat },
];

/**
 * The management API and the routes of relays, as a function from Request to Response. Checks go from cheap to dear:
 * route, access, token, length, media type, JSON, schema; only then is the store touched.
 */
export function createRoutes(deps: Deps, options: RouteOptions = {}): Hono {
  const app = new Hono();
  app.notFound(() => problemResponse(new EngineError('ROUTE_NOT_FOUND', 'there is no such route'), deps.log));
  app.onError((error) => problemResponse(error, deps.log));
  app.use(async (context, next) => {
    const request = context.req.raw;
    const origin = options.loopbackOnly === true ? requireLoopback(request, options.allowedOrigins) : undefined;
    if (origin !== undefined && isPreflight(request)) return preflightAnswer(origin);
    await next();
    if (origin !== undefined) readableFor(origin, context.res);
    return undefined;
  });
  for (const route of routes) {
    app.on(route.method, route.path, async (context) => {
      if (route.access === 'management' && options.managementTokens !== undefined) {
        const tokens = await options.managementTokens();
        counted(deps.metrics, 'ManagementAuthFailures', () => {
          requireBearer(context.req.raw, tokens);
        });
      }
      return route.handle(deps, context);
    });
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allowed = routes.filter((route) => route.path === path).map(({ method }) => method);
    app.all(path, () => methodNotAllowed(deps, allowed));
  }
  return app;
}

function methodNotAllowed(deps: Deps, allowed: readonly string[]): Response {
  const methods = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
  const response = problemResponse(new EngineError('METHOD_NOT_ALLOWED', `the route takes ${methods}`), deps.log);
  response.headers.set('allow', methods);
  return response;
}
