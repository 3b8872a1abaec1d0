import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { problemResponse } from '../http/problem.js';
import { createRoutes, type RouteOptions } from '../http/routes.js';
import type { Deps } from '../operations/deps.js';
import { type GetDeps, once } from './get-deps.js';
import { toRequest, toResult } from './http-event.js';
import { measured } from './measured.js';

export interface ApiOptions extends RouteOptions {
  /**
   * Whether an authorizer of the gateway decides about management requests: those that have passed it are served,
   * others are refused. Default: false.
   */
  readonly byAuthorizer?: boolean;
}

export type ApiHandler = (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

/**
 * Returns the handler of the HTTP API. It answers every request, even one that cannot be served, and throws only if it
 * has no dependencies.
 */
export function apiHandler(getDeps: GetDeps, { byAuthorizer, ...options }: ApiOptions = {}): ApiHandler {
  let served: Served | undefined;
  return async (event) => {
    const deps = await getDeps();
    if (served?.deps !== deps) served = serve(deps, byAuthorizer === true ? refuseAll : options);
    const current = served;
    return measured(deps, async () => {
      const response = await answer(current, event, byAuthorizer === true && hasPassed(event));
      const { status } = response;
      if (status === 500) deps.metrics?.put('HandlerFailures', 1);
      if (isRefusal.has(status)) deps.metrics?.put('Refusals', 1, { status: String(status) });
      return toResult(response);
    });
  };
}

/** Statuses of requests that are refused for who sends them. */
const isRefusal: ReadonlySet<number> = new Set([401, 403, 429]);

async function answer(served: Served, event: APIGatewayProxyEventV2, isLetThrough: boolean): Promise<Response> {
  try {
    const routes = isLetThrough ? served.openRoutes() : served.routes;
    return await routes.fetch(toRequest(event));
  } catch (error) {
    return problemResponse(error, served.deps.log);
  }
}

interface Served {
  readonly deps: Deps;
  readonly routes: Routes;
  /** Routes for requests that an authorizer has passed. */
  readonly openRoutes: () => Routes;
}
type Routes = ReturnType<typeof createRoutes>;

/** Options for requests that came without the authorizer: every management route refuses them. */
const refuseAll: RouteOptions = { managementTokens: () => [] };

function serve(deps: Deps, options: RouteOptions): Served {
  return { deps, routes: createRoutes(deps, options), openRoutes: once(() => createRoutes(deps)) };
}

/** Whether the authorizer has passed the request: the gateway adds its result, which a client cannot forge. */
function hasPassed({ requestContext }: APIGatewayProxyEventV2): boolean {
  const { authorizer } = requestContext as { readonly authorizer?: unknown };
  return typeof authorizer === 'object' && authorizer !== null;
}
