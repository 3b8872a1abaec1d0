import { type Context, Hono } from 'hono';
import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { inboundCompleteMaxBytes, inboundMaxBytes } from '../base/limits.js';
import type { Deps } from '../operations/deps.js';
import { listExternalWaits, listRuns, readHistory, showRun } from '../operations/read-runs.js';
import { requestStop } from '../operations/send-to-inbox.js';
import { settleToken } from '../operations/settle-token.js';
import { startRun } from '../operations/start-run.js';
import { requireBearer, requireLoopback } from './access.js';
import { parseAs, parseQuery } from './parse.js';
import { json, problemResponse } from './problem.js';
import { readJsonBody } from './read-body.js';
import {
  completeBody,
  externalQuery,
  failBody,
  keyHeader,
  listQuery,
  noQuery,
  runIdFrom,
  startBody,
  stopBody,
} from './requests.js';

export interface RouteOptions {
  /**
   * Gives the bearer token that the management routes ask for, read for each request; with none to give they refuse
   * every request. Leave the option out to have them open, for a server that only this machine can reach.
   */
  readonly managementToken?: () => string | undefined;
  /** Refuse requests that a web page of another site could send. For local mode. Default false. */
  readonly loopbackOnly?: boolean;
}

interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** `capability`: the token in the path is the credential. */
  readonly access: 'open' | 'management' | 'capability';
  readonly handle: (deps: Deps, context: Context) => Promise<Response> | Response;
}

/** Every route, as a table: what is not in it does not exist. */
const routes: readonly Route[] = [
  { method: 'GET', path: '/healthz', access: 'open', handle: () => json(200, { status: 'ok' }) },
  { method: 'POST', path: '/runs', access: 'management', handle: start },
  { method: 'GET', path: '/runs', access: 'management', handle: list },
  { method: 'GET', path: '/runs/:runId', access: 'management', handle: show },
  { method: 'GET', path: '/runs/:runId/history', access: 'management', handle: history },
  { method: 'POST', path: '/runs/:runId/cancel', access: 'management', handle: stop('cancel') },
  { method: 'POST', path: '/runs/:runId/terminate', access: 'management', handle: stop('terminate') },
  { method: 'GET', path: '/activities/external', access: 'management', handle: externalWaits },
  { method: 'POST', path: '/activities/external/:token/complete', access: 'capability', handle: complete },
  { method: 'POST', path: '/activities/external/:token/fail', access: 'capability', handle: fail },
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
    if (options.loopbackOnly === true) requireLoopback(context.req.raw);
    await next();
  });
  for (const route of routes) {
    app.on(route.method, route.path, async (context) => {
      if (route.access === 'management' && options.managementToken !== undefined) {
        requireBearer(context.req.raw, options.managementToken());
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

async function start(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const body = parseAs(startBody, await readJsonBody(context.req.raw, { maxBytes: inboundMaxBytes }), 'the body');
  const key = keyOf(context.req.header('idempotency-key'), body.key);
  const { runId, deduplicated } = await startRun(deps, {
    workflow: body.workflow,
    ...(body.input === undefined ? {} : { input: body.input }),
    ...(key === undefined ? {} : { key }),
  });
  return deduplicated ? json(200, { runId, deduplicated }) : json(201, { runId }, { location: `/runs/${runId}` });
}

function keyOf(header: string | undefined, inBody: string | undefined): string | undefined {
  const inHeader = header === undefined ? undefined : parseAs(keyHeader, header, 'the header Idempotency-Key');
  if (inHeader !== undefined && inBody !== undefined && inHeader !== inBody) {
    throw new EngineError('INPUT_INVALID', 'key and the header Idempotency-Key differ');
  }
  return inHeader ?? inBody;
}

async function list(deps: Deps, context: Context): Promise<Response> {
  const { status, workflow, limit, cursor } = parseQuery(listQuery, new URL(context.req.url).searchParams);
  const page = await listRuns(deps, {
    limit,
    ...(status === undefined ? {} : { status }),
    ...(workflow === undefined ? {} : { workflow }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  return json(200, page);
}

async function show(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, await showRun(deps, runIdIn(context)));
}

async function history(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, await readHistory(deps, runIdIn(context)));
}

function stop(kind: 'cancel' | 'terminate'): Route['handle'] {
  return async (deps, context) => {
    noQueryIn(context);
    const runId = runIdIn(context);
    const body = parseAs(
      stopBody,
      await readJsonBody(context.req.raw, { maxBytes: inboundMaxBytes, emptyAllowed: true }),
      'the body',
    );
    const { accepted } = await requestStop(deps, {
      runId,
      kind,
      ...(body.requestId === undefined ? {} : { requestId: body.requestId }),
      ...(body.reason === undefined ? {} : { reason: body.reason }),
    });
    return json(202, { accepted });
  };
}

async function externalWaits(deps: Deps, context: Context): Promise<Response> {
  const { run } = parseQuery(externalQuery, new URL(context.req.url).searchParams);
  return json(200, { waits: await listExternalWaits(deps, runIdFrom(run)) });
}

async function complete(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const token = tokenIn(deps, context);
  const { output } = parseAs(
    completeBody,
    await readJsonBody(context.req.raw, { maxBytes: inboundCompleteMaxBytes }),
    'the body',
  );
  if (output.isError !== undefined && output.is_error !== undefined && output.isError !== output.is_error) {
    throw new EngineError('INPUT_INVALID', 'output.isError and output.is_error differ');
  }
  const result: JsonValue = output.result;
  return json(
    200,
    await settleToken(deps, {
      token,
      outcome: { kind: 'completed', result, isError: output.isError ?? output.is_error ?? false },
    }),
  );
}

async function fail(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const token = tokenIn(deps, context);
  const { error, retryable } = parseAs(
    failBody,
    await readJsonBody(context.req.raw, { maxBytes: inboundMaxBytes }),
    'the body',
  );
  return json(
    200,
    await settleToken(deps, {
      token,
      outcome: { kind: 'failed', message: error, ...(retryable === undefined ? {} : { retryable }) },
    }),
  );
}

function noQueryIn(context: Context): void {
  parseQuery(noQuery, new URL(context.req.url).searchParams);
}

function runIdIn(context: Context): string {
  return runIdFrom(context.req.param('runId') ?? '');
}

/** The token of the path, checked before a byte of the body is read. @throws EngineError `TOKEN_INVALID` */
function tokenIn(deps: Deps, context: Context): string {
  const token = context.req.param('token') ?? '';
  deps.tokens.parseSettleToken(token);
  return token;
}
