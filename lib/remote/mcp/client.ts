import type { RemoteTaskHandle } from '../../history/event.js';
import type { McpServerConfig } from '../../workflow/app.js';
import { RemoteEndpoint, type TransportDeps } from '../endpoint.js';
import type { Exchange } from '../exchange.js';
import { handleProblem } from '../handle.js';
import type {
  CancelReply,
  PollReply,
  RemoteRequest,
  RemoteTaskTransport,
  StartReply,
  StartRequest,
} from '../transport.js';
import { cancelTrouble, pollTrouble, startTrouble } from '../trouble.js';
import {
  mcpWire,
  readCallResult,
  readTask,
  tasksCancel,
  tasksGet,
  taskUnknownCode,
  toolsCall,
} from './wire-2026-07-28.js';

/** A server that speaks MCP 2026-07-28 with the tasks extension. No handshake: every request stands for itself. */
export class McpTransport implements RemoteTaskTransport {
  readonly protocol = 'mcp';
  readonly dedupes: boolean;
  readonly #endpoint: RemoteEndpoint;

  constructor(server: string, config: McpServerConfig, deps: TransportDeps) {
    this.dedupes = config.dedupes ?? false;
    this.#endpoint = new RemoteEndpoint(server, config, deps);
  }

  problemWith(request: RemoteRequest): string | undefined {
    if (request.kind !== 'tool')
      return `the server "${this.#endpoint.server}" speaks MCP, which takes a tool, not a ${request.kind}`;
    return request.tool === '' ? 'the name of the tool is empty' : undefined;
  }

  async start({ request, idempotencyKey }: StartRequest): Promise<StartReply> {
    if (request.kind !== 'tool') throw new TypeError(`an MCP server takes no ${request.kind}`);
    const call = toolsCall(request.tool, request.arguments, idempotencyKey);
    return this.#endpoint.ask(call, { freshConnection: true }, (exchange) =>
      classifyStart(exchange, this.#endpoint.server),
    );
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    const problem = handleProblem(handle, this.protocol, mcpWire);
    if (problem !== undefined) return { kind: 'unreadable', error: problem };
    return this.#endpoint.ask(tasksGet(handle.taskId), {}, (exchange) => classifyPoll(exchange, handle));
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    const problem = handleProblem(handle, this.protocol, mcpWire);
    if (problem !== undefined) return { kind: 'retry', error: problem };
    return this.#endpoint.ask(tasksCancel(handle.taskId), {}, classifyCancel);
  }
}

/** What came of `tools/call`. Pure. */
export function classifyStart(exchange: Exchange, server: string): StartReply {
  return exchange.kind === 'result' ? readCallResult(exchange.result, server) : startTrouble(exchange);
}

/** What came of `tasks/get`. Pure. */
export function classifyPoll(exchange: Exchange, handle: RemoteTaskHandle): PollReply {
  return exchange.kind === 'result' ? readTask(exchange.result, handle.taskId, handle.server) : pollTrouble(exchange);
}

/** What came of `tasks/cancel`: any result is the acknowledgement, of an ended task too. Pure. */
export function classifyCancel(exchange: Exchange): CancelReply {
  return exchange.kind === 'result' ? { kind: 'done' } : cancelTrouble(exchange, [taskUnknownCode]);
}
