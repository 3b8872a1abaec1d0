import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { problemResponse } from '../http/problem.js';
import { createRoutes, type RouteOptions } from '../http/routes.js';
import type { Deps } from '../operations/deps.js';
import type { GetDeps } from './get-deps.js';
import { toRequest, toResult } from './http-event.js';

export type ApiHandler = (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

/** Serves the HTTP API. Answers every request, also one that cannot be served; throws only when it has no dependencies. */
export function apiHandler(getDeps: GetDeps, options: RouteOptions = {}): ApiHandler {
  let served: { readonly deps: Deps; readonly routes: ReturnType<typeof createRoutes> } | undefined;
  return async (event) => {
    const deps = await getDeps();
    if (served?.deps !== deps) served = { deps, routes: createRoutes(deps, options) };
    try {
      return await toResult(await served.routes.fetch(toRequest(event)));
    } catch (error) {
      return toResult(problemResponse(error, deps.log));
    }
  };
}
