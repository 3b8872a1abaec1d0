import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Arrival } from '../http/door.js';
import { problemResponse } from '../http/problem.js';
import { createRoutes, type RouteOptions } from '../http/routes.js';
import type { Deps } from '../operations/deps.js';
import type { GetDeps } from './get-deps.js';
import { toRequest, toResult } from './http-event.js';
import { measured } from './measured.js';

export type ApiOptions = RouteOptions;

export type ApiHandler = (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

/**
 * Returns the handler of the HTTP API. It answers every request, even one that cannot be served, and throws only if it
 * has no dependencies.
 */
export function apiHandler(getDeps: GetDeps, options: ApiOptions = {}): ApiHandler {
  let served: Served | undefined;
  return async (event) => {
    const deps = await getDeps();
    if (served?.deps !== deps) served = { deps, routes: createRoutes(deps, options) };
    const current = served;
    return measured(deps, async () => {
      const response = await answer(current, event);
      if (response.status === 500) deps.metrics?.put('HandlerFailures', 1);
      return toResult(response);
    });
  };
}

interface Served {
  readonly deps: Deps;
  readonly routes: ReturnType<typeof createRoutes>;
}

async function answer({ deps, routes }: Served, event: APIGatewayProxyEventV2): Promise<Response> {
  try {
    return await routes.fetch(toRequest(event), arrivalOf(event));
  } catch (error) {
    return problemResponse(error, deps.log);
  }
}

/** Returns what the gateway adds to a request, which a client cannot forge. */
function arrivalOf({ requestContext }: APIGatewayProxyEventV2): Arrival {
  const { authorizer, http } = requestContext as typeof requestContext & Pick<Arrival, 'authorizer'>;
  return { authorizer, sourceIp: http.sourceIp };
}
