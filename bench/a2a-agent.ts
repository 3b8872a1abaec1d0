import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request to an agent, as far as the agents of benchmarks read it. */
export interface Rpc {
  readonly id: unknown;
  readonly method: string;
  readonly params: {
    readonly id?: string;
    readonly message?: { readonly parts: readonly { readonly text: string }[] };
    readonly configuration?: { readonly taskPushNotificationConfig?: { readonly url: string; readonly token: string } };
  };
}

export interface A2aAgent {
  readonly origin: string;
  close(): Promise<void>;
}

/** Starts an A2A 1.0 agent on this machine: its card says what it is capable of, and `answer` gives each result. */
export async function startA2aAgent(answer: (rpc: Rpc) => object, capabilities: object): Promise<A2aAgent> {
  const server = createServer((request, response) => {
    void readAll(request).then((text) => {
      response.setHeader('content-type', 'application/json');
      if (request.method === 'GET') return response.end(JSON.stringify(cardOf(origin, capabilities)));
      const rpc = JSON.parse(text) as Rpc;
      return response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: answer(rpc) }));
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    close: () => {
      server.closeAllConnections();
      return new Promise((closed) =>
        server.close(() => {
          closed();
        }),
      );
    },
  };
}

function cardOf(origin: string, capabilities: object): object {
  const supportedInterfaces = [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  return { name: 'agent', supportedInterfaces, capabilities };
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8') as AsyncIterable<string>) text += piece;
  return text;
}
