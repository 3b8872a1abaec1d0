import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type Caller, mayDo } from '../base/caller.js';
import { defined } from '../base/defined.js';
import { EngineError, hasCode } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { streamsMaxDefault } from '../base/limits.js';
import { callerOf, depsOf, type Arrival, type DoorOptions } from '../http/door.js';
import { requireLoopback } from '../http/access.js';
import type { Refusals } from '../http/refusals.js';
import type { Deps } from '../operations/deps.js';
import { createPushConfigs } from '../operations/serve/push-configs.js';
import { createOpenStream } from '../operations/serve/stream-slots.js';
import { createTasks } from '../operations/serve/tasks.js';
import { createA2aRoutes } from '../serve/a2a/routes.js';
import { publicKeys } from '../serve/push-keys.js';
import type { Serving } from '../topology/env.js';
import type { ServeConfig } from '../workflow/serve.js';
import type { GetDeps } from './get-deps.js';
import { measured } from './measured.js';
import { toRequestOfRest } from './rest-event.js';

export interface ServeOptions extends DoorOptions, Serving {
  /** Whether to refuse requests that a web page of another origin could send. For local mode. Default false. */
  readonly loopbackOnly?: boolean;
  /** Origins whose pages may send requests in spite of `loopbackOnly`. Default none. */
  readonly allowedOrigins?: readonly string[];
}

/** A response that is sent as it is written. The status goes out with the first bytes. */
export interface ResponseStream {
  start(head: { readonly statusCode: number; readonly headers: Readonly<Record<string, string>> }): void;
  /** Resolves when more can be written. */
  write(bytes: Uint8Array | string): Promise<void>;
  end(): Promise<void>;
}

export type ServeHandler = (event: APIGatewayProxyEvent, stream: ResponseStream, signal?: AbortSignal) => Promise<void>;

/**
 * Returns the handler of the doors through which others call served workflows. It answers every request, as a stream.
 * @throws what `getDeps` throws
 */
export function serveHandler(getDeps: GetDeps, options: ServeOptions = {}): ServeHandler {
  let served: { readonly deps: Deps; readonly routes: ReturnType<typeof createRoutes> } | undefined;
  return async (event, stream, signal) => {
    const deps = await getDeps();
    if (served?.deps !== deps) served = { deps, routes: createRoutes(deps, options) };
    const { routes } = served;
    await measured(deps, async () => {
      const response = await routes(event, signal);
      if (response.status === 500) deps.metrics?.put('HandlerFailures', 1);
      await send(response, stream);
    });
  };
}

/** Paths of MCP, whose doors load with the first request. */
const mcpPaths = /^\/(mcp(\/|$)|\.well-known\/(mcp\/|ai-catalog|oauth-protected))/;

const loadProblem = lazy(() => import('../http/problem.js'));
const loadRefusals = lazy(() => import('../http/refusals.js'));

function createRoutes(deps: Deps, options: ServeOptions) {
  if (deps.app.serve === undefined) throw new EngineError('CONFIG_INVALID', 'the app serves no workflows');
  const serve = atUrl(deps.app.serve, options.serveUrl);
  const refusals = lazy(async () => new (await loadRefusals()).Refusals(deps));
  const shared = {
    ...{ serve, workflows: deps.app.workflows, clock: deps.clock, log: deps.log },
    ...defined({ streamMaxMs: options.streamMaxMs }),
    admit: async (request: Request, arrival: unknown) =>
      admit(deps, { serve, request, arrival: arrival as Arrival, refusals }, options),
  };
  const routes = createA2aRoutes({
    ...shared,
    pushes: deps.pushSender !== undefined,
    jwks: () => publicKeys(deps.tokens.signingSeeds()),
  });
  const mcp = lazy(async () => {
    const { createMcpRoutes } = await import('../serve/mcp/routes.js');
    const seal = (text: string): string => deps.tokens.sentDigest(text);
    return createMcpRoutes({ ...shared, seal, ...defined({ allowedOrigins: options.allowedOrigins }) });
  });
  return async (event: APIGatewayProxyEvent, signal?: AbortSignal): Promise<Response> => {
    const scheme = options.loopbackOnly === true ? 'http' : 'https';
    try {
      const request = toRequestOfRest(event, { scheme, signal });
      if (mcpPaths.test(event.path)) return await (await mcp())(request, arrivalOf(event));
      return await routes.fetch(request, arrivalOf(event));
    } catch (error) {
      return (await loadProblem()).problemResponse(error, deps.log);
    }
  };
}

/** Fills in the URL of the agent, unless the app has one. */
function atUrl(serve: ServeConfig, url: string | undefined): ServeConfig {
  return { ...serve, agent: { ...defined({ url }), ...serve.agent } };
}

/** Returns what the gateway adds to a request, which a client cannot forge. A REST API has principals of IAM elsewhere. */
function arrivalOf({ requestContext: { authorizer, identity } }: APIGatewayProxyEvent): Arrival {
  const { userArn, sourceIp } = identity;
  const iam = userArn === null ? undefined : { iam: { userArn } };
  return { authorizer: authorizer ?? iam, sourceIp };
}

interface Knock {
  readonly serve: ServeConfig;
  readonly request: Request;
  readonly arrival: Arrival;
  readonly refusals: () => Promise<Refusals>;
}

/** @throws EngineError `UNAUTHORIZED`, `FORBIDDEN` */
async function admit(deps: Deps, { serve, request, arrival, refusals }: Knock, options: ServeOptions) {
  let caller: Caller | undefined;
  try {
    if (options.loopbackOnly === true) requireLoopback(request, options.allowedOrigins);
    caller = await callerOf(deps, request, arrival, options);
    if (!mayDo(caller, 'call')) throw new EngineError('FORBIDDEN', 'the caller needs the role call');
    const own = depsOf(deps, caller);
    const openStream = createOpenStream(own, options.streamsMax ?? streamsMaxDefault);
    return {
      tasks: createTasks(own, serve, openStream),
      pushConfigs: deps.pushSender === undefined ? undefined : createPushConfigs(own),
      openStream,
    };
  } catch (error) {
    if (hasCode(error, 'UNAUTHORIZED')) deps.metrics?.put('ManagementAuthFailures', 1);
    (await refusals()).note(error, { caller, sourceIp: arrival.sourceIp });
    throw error;
  }
}

/** Sends a response. A stream that writes nothing would lose its status, so a body that is empty is a newline. */
async function send(response: Response, stream: ResponseStream): Promise<void> {
  stream.start({ statusCode: response.status, headers: Object.fromEntries(response.headers) });
  let isEmpty = true;
  for await (const bytes of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    if (bytes.length === 0) continue;
    isEmpty = false;
    await stream.write(bytes);
  }
  if (isEmpty) await stream.write('\n');
  await stream.end();
}
