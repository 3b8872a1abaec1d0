import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

// An A2A 1.0 agent whose tasks go on until their last push is sent.

export interface PushTarget {
  readonly taskId: string;
  readonly url: string;
  readonly secret: string;
}

export interface PushingAgent {
  readonly origin: string;
  /** Where each task is pushed to, in the order of the starts. */
  readonly targets: PushTarget[];
  /** Tasks that have been read. */
  tasksRead(): number;
  /** Reads of tasks that have ended. */
  readsOfEnded(): number;
  end(taskId: string): void;
  close(): Promise<void>;
}

interface Rpc {
  readonly id: string;
  readonly method: string;
  readonly params: {
    readonly id?: string;
    readonly message?: { readonly parts: readonly { readonly text: string }[] };
    readonly configuration?: { readonly taskPushNotificationConfig?: { readonly url: string; readonly token: string } };
  };
}

export async function startPushingAgent(): Promise<PushingAgent> {
  const ended = new Set<string>();
  const targets: PushTarget[] = [];
  const read = new Set<string>();
  let reads = 0;
  const taskOf = (id: string): object =>
    ended.has(id)
      ? { id, contextId: id, ...endedState, artifacts: [{ artifactId: 'a', parts: [{ text: id }] }] }
      : { id, contextId: id, status: { state: 'TASK_STATE_WORKING' } };
  const answer = ({ method, params }: Rpc): object => {
    if (method !== 'SendMessage') {
      read.add(params.id ?? '');
      if (method === 'GetTask' && ended.has(params.id ?? '')) reads++;
      return taskOf(params.id ?? '');
    }
    const taskId = params.message?.parts[0]?.text ?? '';
    const { url = '', token = '' } = params.configuration?.taskPushNotificationConfig ?? {};
    targets.push({ taskId, url, secret: token });
    return { task: taskOf(taskId) };
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
    targets,
    tasksRead: () => read.size,
    readsOfEnded: () => reads,
    end: (taskId) => void ended.add(taskId),
    close: () => close(server),
  };
}

const endedState = { status: { state: 'TASK_STATE_COMPLETED' } };

function cardOf(origin: string): object {
  return {
    name: 'agent',
    supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { pushNotifications: true },
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8') as AsyncIterable<string>) text += piece;
  return text;
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((closed) =>
    server.close(() => {
      closed();
    }),
  );
}
