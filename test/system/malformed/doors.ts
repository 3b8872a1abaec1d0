import { connect } from 'node:net';
import { isUtf8 } from 'node:buffer';
import { anEvent } from '../../unit/http/event.js';
import type { apiHandler } from '../../../lib/aws/api-handler.js';
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
  const [head = '', text = ''] = Buffer.concat(pieces)
    .toString('utf8')
    .split(/\r\n\r\n([^]*)/);
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), body: text };
}
