import type { AgentCard, Message, Part, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  A2A_PROTOCOL_VERSION,
  A2A_VERSION_HEADER,
  AGENT_CARD_PATH,
  AgentCard as card,
  Role,
  TaskState,
} from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, PushNotificationSender, RequestContext } from '@a2a-js/sdk/server';
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
  validateVersion,
} from '@a2a-js/sdk/server';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { RemoteServer, RemoteServerOptions, RemoteStats } from './remote-server.js';
import { runAsProgram, workOf } from './remote-server.js';
import { openWebServer } from './web-server.js';

// An A2A 1.0 agent with one skill, on the server parts of the official SDK. Like that SDK it ignores keys: two
// messages, even with one id, are two tasks.

const quoteRequest = z.object({
  skill: z.literal('quote'),
  arguments: z.object({ article: z.string(), quantity: z.int() }),
});

const envelope = z.object({
  id: z.union([z.string(), z.number()]).nullable().catch(null),
  method: z.string().catch(''),
});

/** Starts the agent on 127.0.0.1. Its skill `quote` takes `{ article, quantity }`; a quantity below 1 is rejected. */
export async function startA2aAgent(options: RemoteServerOptions = {}): Promise<RemoteServer> {
  const { port = 0, pushes = false, beforeReply = () => 'ok' } = options;
  const executor = new QuoteExecutor(workOf(options));
  const startCalls: { readonly key?: string }[] = [];
  let reads = 0;
  let cancels = 0;
  const pushedAtMs: number[] = [];
  const stats = (): RemoteStats => ({
    ...{ startCalls: [...startCalls], tasks: executor.tasks, reads, cancels },
    ...(pushes ? { pushedAtMs: [...pushedAtMs] } : {}),
  });

  function count(method: string, request: Request): void {
    switch (method) {
      case 'SendMessage': {
        const key = request.headers.get('idempotency-key');
        startCalls.push(key === null ? {} : { key });
        return;
      }
      case 'GetTask':
        reads += 1;
        return;
      case 'CancelTask':
        cancels += 1;
        return;
    }
  }

  const web = await openWebServer(port, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/stats') return Response.json(stats());
    if (pathname.endsWith(`/${AGENT_CARD_PATH}`)) return Response.json(card.toJSON(agentCard));
    if (pathname !== '/a2a') return new Response(null, { status: 404 });
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });

    const body = await request.text();
    const { id, method } = envelopeOf(body);
    count(method, request);
    const response = await answer(request, body, id);
    return beforeReply(method) === 'drop' ? 'drop' : response;
  });

  const agentCard = cardFor(`${web.origin}/a2a`, pushes);
  const configs = new InMemoryPushNotificationStore();
  const sender = new DefaultPushNotificationSender(configs);
  const countedSender: PushNotificationSender = {
    send: async (...given) => {
      pushedAtMs.push(Date.now());
      await sender.send(...given);
    },
  };
  const handler = new DefaultRequestHandler(
    ...([agentCard, new InMemoryTaskStore(), executor, undefined, configs, countedSender] as const),
  );
  const rpc = new JsonRpcTransportHandler(handler);

  async function answer(request: Request, body: string, id: string | number | null): Promise<Response> {
    // A missing header means 0.3, which this agent does not speak.
    const requestedVersion = request.headers.get(A2A_VERSION_HEADER) ?? '0.3';
    try {
      validateVersion(requestedVersion, agentCard, 'JSONRPC');
    } catch (error) {
      return Response.json({ jsonrpc: '2.0', id, error: JsonRpcTransportHandler.mapToJSONRPCError(error) });
    }
    return Response.json(await rpc.handle(body, new ServerCallContext({ requestedVersion })));
  }

  return {
    url: `${web.origin}/a2a`,
    stats,
    close: async () => {
      executor.stopAll();
      await web.close();
    },
  };
}

/** Publishes a task at once, works, then publishes the quote. */
class QuoteExecutor implements AgentExecutor {
  tasks = 0;
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #running = new Map<string, AbortController>();

  constructor(work: (signal: AbortSignal) => Promise<void>) {
    this.#work = work;
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const { taskId, contextId, userMessage } = context;
    this.tasks += 1;
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() },
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    const to = (state: TaskState, text?: string): void => {
      bus.publish(AgentEvent.statusUpdate(statusUpdate(taskId, contextId, state, text)));
    };

    const asked = quoteRequest.safeParse(dataOf(userMessage));
    if (!asked.success) {
      to(TaskState.TASK_STATE_REJECTED, 'send one data part { skill: "quote", arguments: { article, quantity } }');
      return;
    }
    const { article, quantity } = asked.data.arguments;
    if (quantity < 1) {
      to(TaskState.TASK_STATE_REJECTED, 'we quote for one piece or more');
      return;
    }

    to(TaskState.TASK_STATE_WORKING);
    const stop = new AbortController();
    this.#running.set(taskId, stop);
    try {
      await this.#work(stop.signal);
    } catch {
      to(TaskState.TASK_STATE_CANCELED);
      return;
    } finally {
      this.#running.delete(taskId);
    }
    bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: {
          artifactId: 'quote',
          name: 'Quote',
          description: '',
          parts: [part({ $case: 'data', value: quoteFor(article, quantity) })],
          metadata: undefined,
          extensions: [],
        },
        append: false,
        lastChunk: true,
        metadata: undefined,
      }),
    );
    to(TaskState.TASK_STATE_COMPLETED);
  };

  cancelTask = async (taskId: string): Promise<void> => {
    this.#running.get(taskId)?.abort();
  };

  stopAll(): void {
    for (const stop of this.#running.values()) stop.abort();
  }
}

/** A piece costs 2.50 €; from 100 pieces on there is a discount of 10 %. Amounts are in cents. */
function quoteFor(article: string, quantity: number): Readonly<Record<string, unknown>> {
  const listCents = quantity * 250;
  const totalCents = quantity >= 100 ? Math.round(listCents * 0.9) : listCents;
  return { article, quantity, totalCents, currency: 'EUR' };
}

function cardFor(url: string, pushNotifications: boolean): AgentCard {
  return card.fromJSON({
    name: 'supplier',
    description: 'Quotes prices for articles.',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: A2A_PROTOCOL_VERSION }],
    capabilities: { streaming: false, pushNotifications },
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['application/json'],
    skills: [{ id: 'quote', name: 'Quote', description: 'Price for a quantity of an article.', tags: ['prices'] }],
  });
}

function statusUpdate(taskId: string, contextId: string, state: TaskState, text?: string): TaskStatusUpdateEvent {
  const message: Message | undefined =
    text === undefined
      ? undefined
      : {
          messageId: randomUUID(),
          contextId,
          taskId,
          role: Role.ROLE_AGENT,
          parts: [part({ $case: 'text', value: text })],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        };
  return { taskId, contextId, status: { state, message, timestamp: new Date().toISOString() }, metadata: undefined };
}

function part(content: NonNullable<Part['content']>): Part {
  const mediaType = content.$case === 'data' ? 'application/json' : 'text/plain';
  return { content, metadata: undefined, filename: '', mediaType };
}

/** Returns the data part of a message that has exactly one part. */
function dataOf(message: Message): unknown {
  const [only, ...others] = message.parts;
  return others.length === 0 && only?.content?.$case === 'data' ? only.content.value : undefined;
}

/** Reads id and method of a request; null and '' if they cannot be read. The SDK answers other errors. */
function envelopeOf(body: string): z.infer<typeof envelope> {
  try {
    return envelope.parse(JSON.parse(body));
  } catch {
    return { id: null, method: '' };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runAsProgram('a2a-agent', startA2aAgent);
