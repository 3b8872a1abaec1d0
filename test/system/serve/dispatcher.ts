import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Put {
  readonly queue: 'turn' | 'work';
  readonly message: { readonly runId: string };
  readonly delayMs: number;
}

/** A process that may be invoked. */
export interface Target {
  readonly url: string;
  readonly isAlive: () => boolean;
}

/**
 * The queues of the replicas, and what invokes them with the messages: one turn of a run at a time, as a FIFO queue does.
 * A message of which a replica dies is delivered to the next one.
 */
export interface Dispatcher {
  readonly url: string;
  /** Finds what is due and has no message, as a schedule does each minute. */
  sweep(): Promise<void>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a dispatcher; `targets` returns whom it invokes, the one that is preferred first. */
export async function startDispatcher(targets: () => readonly Target[]): Promise<Dispatcher> {
  const lastOf = new Map<string, Promise<void>>();
  const underWay = new Set<Promise<void>>();
  const timers = new Set<NodeJS.Timeout>();
  const invoke = async (queue: string, message: object): Promise<void> => {
    for (const { url, isAlive } of targets()) {
      if (!isAlive()) continue;
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify(message);
      const response = await fetch(`${url}/invoke/${queue}`, { method: 'POST', headers, body }).catch(() => undefined);
      if (response?.ok === true) return;
    }
  };
  const dispatch = ({ queue, message }: Put): void => {
    const { runId } = message;
    const before = queue === 'turn' ? lastOf.get(runId) : undefined;
    const turn = (before ?? Promise.resolve()).then(() => invoke(queue, message));
    if (queue === 'turn') lastOf.set(runId, turn);
    underWay.add(turn);
    void turn.then(() => underWay.delete(turn));
  };
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const put = JSON.parse(text) as Put;
      if (put.delayMs === 0) dispatch(put);
      else timers.add(setTimeout(dispatch, put.delayMs, put));
      response.writeHead(204).end();
    });
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sweep: () => invoke('sweep', {}),
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    stop: async () => {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8') as AsyncIterable<string>) text += piece;
  return text;
}
