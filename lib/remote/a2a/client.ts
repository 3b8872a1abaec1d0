import type { JsonObject } from '../../base/json.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { A2aAgentConfig } from '../../workflow/app.js';
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
import { messageIdOf } from './message-id.js';
import * as wire from './wire-1.0.js';

/** An agent that speaks A2A 1.0 over JSON-RPC. */
export class A2aTransport implements RemoteTaskTransport {
  readonly protocol = 'a2a';
  readonly dedupes: boolean;
  readonly #tenant: string | undefined;
  readonly #endpoint: RemoteEndpoint;

  constructor(server: string, config: A2aAgentConfig, deps: TransportDeps) {
    this.dedupes = config.dedupes ?? false;
    this.#tenant = config.tenant;
    this.#endpoint = new RemoteEndpoint(server, config, deps);
  }

  problemWith(request: RemoteRequest): string | undefined {
    switch (request.kind) {
      case 'tool':
        return `the server "${this.#endpoint.server}" speaks A2A, which takes a skill or a message, not a tool`;
      case 'skill':
        return request.skill === '' ? 'the name of the skill is empty' : undefined;
      case 'message':
        return problemWithParts(request.parts);
    }
  }

  async start({ request, idempotencyKey }: StartRequest): Promise<StartReply> {
    const call = wire.sendMessage({
      parts: partsOf(request),
      messageId: messageIdOf(idempotencyKey),
      idempotencyKey,
      tenant: this.#tenant,
    });
    return this.#endpoint.ask(call, { freshConnection: true }, (exchange) =>
      classifyStart(exchange, this.#endpoint.server),
    );
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    const problem = handleProblem(handle, this.protocol, wire.a2aWire);
    if (problem !== undefined) return { kind: 'unreadable', error: problem };
    return this.#endpoint.ask(wire.getTask(handle.taskId, this.#tenant), {}, (exchange) =>
      classifyPoll(exchange, handle),
    );
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    const problem = handleProblem(handle, this.protocol, wire.a2aWire);
    if (problem !== undefined) return { kind: 'retry', error: problem };
    return this.#endpoint.ask(wire.cancelTask(handle.taskId, this.#tenant), {}, classifyCancel);
  }
}

/** What came of `SendMessage`. Pure. */
export function classifyStart(exchange: Exchange, server: string): StartReply {
  return exchange.kind === 'result' ? wire.readSendResult(exchange.result, server) : startTrouble(exchange);
}

/** What came of `GetTask`. Pure. */
export function classifyPoll(exchange: Exchange, handle: RemoteTaskHandle): PollReply {
  return exchange.kind === 'result' ? wire.readTask(exchange.result, handle) : pollTrouble(exchange);
}

/** What came of `CancelTask`: a task that cannot be cancelled any more, or is gone, needs no cancel. Pure. */
export function classifyCancel(exchange: Exchange): CancelReply {
  return exchange.kind === 'result'
    ? { kind: 'done' }
    : cancelTrouble(exchange, [wire.taskNotFoundCode, wire.taskNotCancelableCode]);
}

function partsOf(request: RemoteRequest): readonly JsonObject[] {
  switch (request.kind) {
    case 'tool':
      throw new TypeError('an A2A agent takes no tool');
    case 'skill':
      return wire.skillParts(request.skill, request.arguments);
    case 'message':
      return request.parts;
  }
}

const contents = ['text', 'raw', 'url', 'data'] as const;

function problemWithParts(parts: readonly JsonObject[]): string | undefined {
  if (parts.length === 0) return 'a message needs at least one part';
  const bad = parts.findIndex((part) => contents.filter((content) => part[content] !== undefined).length !== 1);
  return bad === -1 ? undefined : `part ${bad} of the message must have exactly one of ${contents.join(', ')}`;
}
