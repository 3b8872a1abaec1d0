import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Fetch = (request: Request) => Response | Promise<Response>;

/** Serves a function from Request to Response over HTTP on loopback, streams included. Returns its URL and its stop. */
export async function serveOnLoopback(
  fetchOf: (url: string) => Fetch,
): Promise<{ url: string; stop: () => Promise<void> }> {
  let answer: Fetch = () => new Response(null, { status: 503 });
  const server = createServer((request, response) => {
    void relay(answer, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  answer = fetchOf(url);
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url, stop };
}

async function relay(answer: Fetch, came: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of came as AsyncIterable<Buffer>) pieces.push(piece);
  const left = new AbortController();
  response.on('close', () => {
    left.abort();
  });
  const headers = Object.entries(came.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const body = pieces.length === 0 ? {} : { body: Buffer.concat(pieces) };
  const url = `http://${came.headers.host ?? ''}${came.url ?? '/'}`;
  const method = came.method ?? 'GET';
  const answered = await answer(new Request(url, { method, headers, signal: left.signal, ...body }));
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  for await (const piece of (answered.body ?? []) as AsyncIterable<Uint8Array>) response.write(piece);
  response.end();
}
