import { defined } from '../base/defined.js';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { EngineError } from '../base/errors.js';

/** Methods with which a Request can be made; no route accepts the others (TRACE, CONNECT). */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Converts an event of an HTTP API, payload format 2.0, to a request. Its URL has a made-up host: the real one is in
 * the header.
 * @throws EngineError `INPUT_INVALID` for a header that HTTP does not allow, `METHOD_NOT_ALLOWED`, `ROUTE_NOT_FOUND`
 * for a path of another route than the gateway's
 */
export function toRequest(event: APIGatewayProxyEventV2): Request {
  const method = event.requestContext.http.method.toUpperCase();
  if (!methods.includes(method)) throw new EngineError('METHOD_NOT_ALLOWED', 'no route accepts this method');
  const url = new URL('https://outwait.invalid');
  // Assigns the path instead of joining texts: a "?" or "#" in a decoded path must stay in the path.
  url.pathname = event.rawPath;
  if (!isOfRoute(url.pathname, event.routeKey)) throw new EngineError('ROUTE_NOT_FOUND', 'there is no such route');
  url.search = event.rawQueryString;
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(event);
  const headers = toHeaders(event);
  if (body !== undefined) headers.set('content-length', String(body.length));
  return new Request(url, { method, headers, ...defined({ body }) });
}

/**
 * Whether the path belongs to the route that the gateway found, on which it decided about access: in a decoded path an
 * encoded slash is a slash, and dots lead up. `routeKey`: `ANY /runs/{runId}`, or `$default`, which says nothing.
 */
function isOfRoute(pathname: string, routeKey: string | undefined): boolean {
  const route = routeKey?.split(' ')[1]?.split('/');
  if (route === undefined) return true;
  const parts = pathname.split('/');
  return parts.length === route.length && route.every((part, at) => part.startsWith('{') || part === parts[at]);
}

function toHeaders(event: APIGatewayProxyEventV2): Headers {
  const headers = new Headers();
  try {
    for (const [name, value] of Object.entries(event.headers)) if (value !== undefined) headers.append(name, value);
    if (event.cookies !== undefined) headers.set('cookie', event.cookies.join('; '));
  } catch {
    // Names neither header nor value, which may be a credential.
    throw new EngineError('INPUT_INVALID', 'a header is not valid');
  }
  return headers;
}

function bodyOf(event: APIGatewayProxyEventV2): Buffer | undefined {
  // Some senders of such events have null.
  if (typeof event.body !== 'string') return undefined;
  return Buffer.from(event.body, event.isBase64Encoded ? 'base64' : 'utf8');
}

/** Converts a response to payload format 2.0. Bodies of this API are text. */
export async function toResult(response: Response): Promise<APIGatewayProxyStructuredResultV2> {
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
    isBase64Encoded: false,
  };
}
