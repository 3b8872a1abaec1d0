import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Longer request bodies are refused with 413. */
const bodyMaxBytes = 1024 * 1024;

export interface WebServer {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  close(): Promise<void>;
}

/** Serves a fetch-style handler on 127.0.0.1. The answer `drop` closes the connection without a reply. */
export async function openWebServer(
  port: number,
  answer: (request: Request) => Promise<Response | 'drop'>,
): Promise<WebServer> {
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing, answer).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function handle(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request) => Promise<Response | 'drop'>,
): Promise<void> {
  const body = await readBody(incoming);
  if (body === undefined) {
    outgoing.writeHead(413, { connection: 'close' }).end();
    return;
  }
  const method = incoming.method ?? 'GET';
  const response = await answer(
    new Request(new URL(incoming.url ?? '/', `http://${incoming.headers.host ?? '127.0.0.1'}`), {
      method,
      headers: Object.entries(incoming.headersDistinct).flatMap(([name, values]) =>
        (values ?? []).map((value): [string, string] => [name, value]),
      ),
      ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
    }),
  );
  if (response === 'drop') {
    incoming.socket.destroy();
    return;
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}

/** Reads the whole body; returns undefined if it is too long. */
async function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyMaxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
