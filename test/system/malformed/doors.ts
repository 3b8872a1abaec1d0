import { connect } from 'node:net';
import { isUtf8 } from 'node:buffer';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { anEvent } from '../../unit/http/event.js';
import type { apiHandler } from '../../../lib/aws/api-handler.js';
import type { ServeHandler } from '../../../lib/aws/serve-handler.js';
import type { SentRequest } from './changes.js';

export interface Received {
  readonly status: number;
  readonly body: string;
}

/** Sends a request as an event of API Gateway: header names in lower case, repeated headers joined by a comma. */
export async function throughGateway(
  handler: ReturnType<typeof apiHandler>,
  { method, path, query, headers, body }: SentRequest,
): Promise<Received> {
  const joined: Record<string, string> = {};
  for (const [name, value] of headers) joined[name] = joined[name] === undefined ? value : `${joined[name]},${value}`;
  const event = anEvent({ method, path: decoded(path), query, headers: joined });
  const asText = body === undefined || (isUtf8(body) && !joined['content-type']?.startsWith('application/json;'));
  const { statusCode = 0, body: answered = '' } = await handler({
    ...event,
    ...(body === undefined ? {} : { body: body.toString(asText ? 'utf8' : 'base64') }),
    isBase64Encoded: !asText,
  });
  return { status: statusCode, body: answered };
}

/** Sends a request as an event of a REST API to a function that streams, and returns the response once it has ended. */
export async function throughRestApi(
  serve: ServeHandler,
  { method, path, query, headers, body }: SentRequest,
): Promise<Received> {
  const all: Record<string, string[]> = {};
  for (const [name, value] of headers) (all[name] ??= []).push(value);
  const parameters: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(query)) (parameters[name] ??= []).push(value);
  const asText = body === undefined || isUtf8(body);
  let status = 0;
  const pieces: Buffer[] = [];
  const event = {
    ...{ httpMethod: method, path, multiValueHeaders: { host: ['flows.example.com'], ...all } },
    ...{ multiValueQueryStringParameters: parameters, isBase64Encoded: !asText },
    body: body?.toString(asText ? 'utf8' : 'base64') ?? null,
    requestContext: { authorizer: null, identity: { userArn: null, sourceIp: '192.0.2.1' } },
  } as unknown as APIGatewayProxyEvent;
  await serve(event, {
    start: ({ statusCode }) => void (status = statusCode),
    write: async (bytes) => void pieces.push(Buffer.from(bytes)),
    end: async () => undefined,
  });
  return { status, body: Buffer.concat(pieces).toString('utf8') };
}

/** Decodes a path as API Gateway does for `rawPath`, where it can. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Sends the bytes of a request to a server on this machine. Status 0: it closed the connection without a response. */
export async function throughSocket(port: number, request: SentRequest): Promise<Received> {
  const { method, path, query, headers, body = Buffer.alloc(0) } = request;
  const lines = [
    `${method} ${path}${query === '' ? '' : `?${query}`} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    'connection: close',
  ];
  const socket = connect(port, '127.0.0.1');
  // Not ended: the server closes a connection whose client has closed its half, also while it works on the response.
  socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]));
  const pieces: Buffer[] = [];
  try {
    for await (const piece of socket as AsyncIterable<Buffer>) pieces.push(piece);
  } catch (error) {
    // A server that refuses a large body may close before it has read all of it.
    if (!['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  const bytes = Buffer.concat(pieces);
  const end = bytes.indexOf('\r\n\r\n');
  const head = bytes.subarray(0, Math.max(end, 0)).toString('latin1');
  const sent = bytes.subarray(end + 4);
  const text = /^transfer-encoding: chunked$/im.test(head) ? joinedChunks(sent) : sent;
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), body: text.toString('utf8') };
}

/** Joins the chunks of a response that is sent as it is written. */
function joinedChunks(bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf('\r\n', at);
    const size = end < 0 ? 0 : Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    if (!(size > 0)) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
