import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

// An A2A 1.0 agent whose tasks end at the instant that their text names; it keeps nothing but what it has told.

export interface TimedAgent {
  readonly origin: string;
  /** Reads of tasks so far. */
  reads(): number;
  /** When each task was first told to have ended, by its id, which is the text of its message. */
  readonly toldAtMs: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** Returns the text of the message, and id, of a task that ends at an instant. */
export const taskText = (number: number, endsAtMs: number): string => `${number}-${endsAtMs}`;
export const endOf = (task: string): number => Number(task.slice(task.indexOf('-') + 1));

interface Rpc {
  readonly id: string;
  readonly method: string;
  readonly params: {
    readonly id?: string;
    readonly message?: { readonly parts: readonly { readonly text: string }[] };
  };
}

export async function startTimedAgent(): Promise<TimedAgent> {
  const toldAtMs = new Map<string, number>();
  let reads = 0;
  const taskOf = (id: string): object => {
    const nowMs = Date.now();
    if (nowMs < endOf(id)) return { id, contextId: id, status: { state: 'TASK_STATE_WORKING' } };
    if (!toldAtMs.has(id)) toldAtMs.set(id, nowMs);
    const artifacts = [{ artifactId: 'a', parts: [{ text: id }] }];
    return { id, contextId: id, status: { state: 'TASK_STATE_COMPLETED' }, artifacts };
  };
  const answer = ({ method, params }: Rpc): object => {
    if (method === 'SendMessage') return { task: taskOf(params.message?.parts[0]?.text ?? '') };
    reads++;
    return taskOf(params.id ?? '');
  };
  const server = createServer((request, response) => {
    void readAll(request).then((text) => {
      response.setHeader('content-type', 'application/json');
      if (request.method === 'GET') return response.end(JSON.stringify(cardOf(origin)));
      const rpc = JSON.parse(text) as Rpc;
      return response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: answer(rpc) }));
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    reads: () => reads,
    toldAtMs,
    close: () => {
      server.closeAllConnections();
      return new Promise((closed) => {
        server.close(() => {
          closed();
        });
      });
    },
  };
}

function cardOf(origin: string): object {
  const supportedInterfaces = [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  return { name: 'agent', supportedInterfaces, capabilities: {} };
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8') as AsyncIterable<string>) text += piece;
  return text;
}
