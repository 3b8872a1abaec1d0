import type { APIGatewayProxyEvent } from 'aws-lambda';
import { EngineError } from '../base/errors.js';
import { defined } from '../base/defined.js';

/** Methods with which a Request can be made; no route accepts the others (TRACE, CONNECT). */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Converts an event of a REST API, payload format 1.0, to a request. Its path is as it was sent, without the stage; its
 * host is that of the header, which the gateway has checked.
 * @throws EngineError `INPUT_INVALID` for a header that HTTP does not allow, `METHOD_NOT_ALLOWED`
 */
export function toRequestOfRest(
  event: APIGatewayProxyEvent,
  { scheme, signal }: { readonly scheme: 'http' | 'https'; readonly signal: AbortSignal | undefined },
): Request {
  const method = event.httpMethod.toUpperCase();
  if (!methods.includes(method)) throw new EngineError('METHOD_NOT_ALLOWED', 'no route accepts this method');
  const host = event.multiValueHeaders['host']?.[0] ?? event.multiValueHeaders['Host']?.[0] ?? '';
  const base = `${scheme}://${host}`;
  const url = new URL(URL.canParse(base) ? new URL(base).origin : 'https://outwait.invalid');
  url.pathname = event.path;
  // Decoded by the gateway.
  for (const [name, values] of Object.entries(event.multiValueQueryStringParameters ?? {}))
    for (const value of values ?? []) url.searchParams.append(name, value);
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(event);
  const headers = toHeaders(event);
  if (body !== undefined) headers.set('content-length', String(body.length));
  return new Request(url, { method, headers, ...defined({ body, signal }) });
}

function bodyOf({ body, isBase64Encoded }: APIGatewayProxyEvent): Buffer | undefined {
  return body === null ? undefined : Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
}

function toHeaders({ multiValueHeaders }: APIGatewayProxyEvent): Headers {
  const headers = new Headers();
  try {
    // All values of each header: the single-value form has only the last one.
    for (const [name, values] of Object.entries(multiValueHeaders))
      for (const value of values ?? []) headers.append(name, value);
  } catch {
    // Names neither header nor value, which may be a credential.
    throw new EngineError('INPUT_INVALID', 'a header is not valid');
  }
  return headers;
}
