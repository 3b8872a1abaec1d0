import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { problemResponse } from '../http/problem.js';
import { createRoutes, type RouteOptions } from '../http/routes.js';
import type { Deps } from '../operations/deps.js';
import { type GetDeps, once } from './get-deps.js';
import { toRequest, toResult } from './http-event.js';

export interface ApiOptions extends RouteOptions {
  /**
   * An authorizer of the gateway decides about management requests: those that have passed it are served, others are
   * refused. Default false.
   */
  readonly byAuthorizer?: boolean;
}

export type ApiHandler = (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

/** Serves the HTTP API. Answers every request, also one that cannot be served; throws only when it has no dependencies. */
export function apiHandler(getDeps: GetDeps, { byAuthorizer, ...options }: ApiOptions = {}): ApiHandler {
  let served: Served | undefined;
  return async (event) => {
    const deps = await getDeps();
    if (served?.deps !== deps) served = serve(deps, byAuthorizer === true ? refuseAll : options);
    const response = await answer(served, event, byAuthorizer === true && hasPassed(event));
    if (response.status === 500) deps.metrics?.put('HandlerFailures', 1);
    return toResult(response);
  };
}

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
  /** For requests that have been let through already. */
  readonly openRoutes: () => Routes;
}
type Routes = ReturnType<typeof createRoutes>;

/** A route that the gateway leads here without its authorizer is none of the management's. */
const refuseAll: RouteOptions = { managementTokens: () => [] };

function serve(deps: Deps, options: RouteOptions): Served {
  return { deps, routes: createRoutes(deps, options), openRoutes: once(() => createRoutes(deps)) };
}

/** The gateway says what its authorizer has found out, and a client cannot. */
function hasPassed({ requestContext }: APIGatewayProxyEventV2): boolean {
  const { authorizer } = requestContext as { readonly authorizer?: unknown };
  return typeof authorizer === 'object' && authorizer !== null;
}
