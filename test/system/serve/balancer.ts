import { request as send, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface Balancer {
  readonly url: string;
  /** Returns how many requests each target has been sent. */
  counts(): readonly number[];
  stop(): Promise<void>;
}

/** Passes each request on to the next target, in turn, whatever connection it came by. Streams pass as they are. */
export async function startBalancer(targets: readonly string[]): Promise<Balancer> {
  const counts = targets.map(() => 0);
  let next = 0;
  const server = createServer((request, response) => {
    const at = next++ % targets.length;
    counts[at]! += 1;
    pass(new URL(targets[at]!), request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts: () => [...counts],
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function pass({ hostname, port }: URL, request: IncomingMessage, response: ServerResponse): void {
  const { method, url: path, headers } = request;
  const passed = send({ hostname, port, method, path, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  passed.on('error', () => response.destroy());
  response.on('close', () => passed.destroy());
  request.pipe(passed);
}
