import { callChainExtension, idempotentSendExtension, sequenceExtension } from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import { remoteReplyMaxBytes } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { A2aAgentConfig } from '../../workflow/app.js';
import { RemoteEndpoint, type CallOptions, type HttpCall, type Send, type WireCall } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import type { Exchange } from '../rpc/exchange.js';
import { rpcRequest } from '../rpc/json-rpc.js';
import { isUsableId, unusableId } from '../endpoint/handle.js';
import type {
  AdoptedTask,
  AnswerReply,
  CancelReply,
  FindReply,
  PollReply,
  RemoteAnswer,
  RemoteQuestion,
  RemoteRequest,
  RemoteTaskTransport,
  ServerTraits,
  StartReply,
  StartRequest,
  WatchEvent,
} from '../transport.js';
import { pollReplyOf } from '../rpc/failed-exchange.js';
import type { AgentCard } from './agent-card.js';
import { homeOf, interfacesOf, type AgentInterfaces, type FoundInterface } from './agent-interfaces.js';
import { callFor, canBeNamed } from './call.js';
import {
  classifyAdoption,
  classifyCancel,
  classifyPoll,
  classifyStart,
  isOutdated,
  streamsNothing,
  unnameable,
} from './classify.js';
import { contextNotListed, findByMessage, hasNoLists, type TaskList } from './find-task.js';
import { nowhere, originOf, type TaskOrigin } from './interface.js';
import { contextIdOf, messageIdOf } from './message-id.js';
import type { A2aOperation, OutgoingMessage } from './operation.js';
import { deliverAnswer } from './deliver-answer.js';
import { answerParts } from './question.js';
import { forgetPushTimeoutMs, PushRegistrar, secretsIn } from './push.js';
import { partsOf, problemWithParts } from './request-parts.js';
import { isEmptyEnd, lacksArtifacts, readTaskList, type SendReply } from './read-reply.js';
import { TaskStream } from './task-stream.js';
import { taskListMs } from './limits.js';

/** Limit of one stream: nothing waits for what is watched, so a stream may simply end. */
const watchMaxMs = 900_000;
/** Limit of silence on a stream: servers send a sign of life about every 15 s. */
const watchQuietMs = 60_000;

/** Client of an agent that speaks A2A 1.0 over JSON-RPC or HTTP+JSON, or 0.3 over JSON-RPC. */
export class A2aTransport implements RemoteTaskTransport {
  readonly protocol = 'a2a';
  readonly dedupes: boolean;
  readonly #config: A2aAgentConfig;
  readonly #deps: TransportDeps;
  readonly #endpoint: RemoteEndpoint;
  readonly #interfaces: AgentInterfaces;
  readonly #registrar: PushRegistrar;

  constructor(server: string, config: A2aAgentConfig, deps: TransportDeps) {
    this.dedupes = config.dedupes ?? false;
    this.#config = config;
    this.#deps = deps;
    this.#endpoint = new RemoteEndpoint(server, { ...config, url: homeOf(config) }, deps);
    this.#interfaces = interfacesOf(config, deps.clock);
    this.#registrar = new PushRegistrar(config, deps.clock);
  }

  async traits(): Promise<ServerTraits> {
    // Whether an agent lists its tasks is in no card: it shows only when tried.
    const mayFind = this.#config.probeByContext === true ? true : 'perhaps';
    const { traits } = await this.#endpoint.converse('GetAgentCard', async (send) => {
      const found = await this.#interfaces.forStart(send);
      if (found.kind === 'none') return { kind: 'unread', traits: { dedupes: this.dedupes, finds: mayFind } as const };
      const { to, card } = found;
      const isOld = to.wire === '0.3';
      const helps = helpFor(isOld, card.startsOverStream);
      const traits = { dedupes: this.dedupes || card.dedupes, finds: isOld ? false : mayFind, helps } as const;
      return { kind: 'read', traits };
    });
    return traits;
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

  /** Returns undefined: many agents answer only when their work is done, and no card says so. */
  async answersAtOnce(): Promise<undefined> {
    return undefined;
  }

  async start({ request, idempotencyKey, traceparent, calls, untilMs, push }: StartRequest): Promise<StartReply> {
    const contextId = this.#config.probeByContext === true ? contextIdOf(idempotencyKey) : undefined;
    const message: OutgoingMessage = {
      messageId: messageIdOf(idempotencyKey),
      ...defined({ contextId, metadata: calls === undefined ? undefined : { [callChainExtension]: calls } }),
      parts: partsOf(request),
    };
    const operation = { kind: 'send', message, idempotencyKey, ...defined({ traceparent }) } as const;
    const options = { freshConnection: true, patient: untilMs !== undefined, secrets: secretsIn(push) };
    return this.#endpoint.converse(
      'SendMessage',
      async (send) => {
        const found = await this.#interfaces.forStart(send);
        const { exchange, origin } = await this.#registrar.start(push, found, (registered) =>
          this.#start(send, found, { ...operation, ...defined({ push: registered }) }, options),
        );
        return this.#settled(send, classifyStart(exchange, origin, contextId));
      },
      untilMs,
    );
  }

  /** Starts over a stream if the agent has one: its first event names the task, however long the work takes. */
  async #start(send: Send, found: FoundInterface, operation: Extract<A2aOperation, { kind: 'send' }>, options: object) {
    if (found.kind === 'none' || !found.card.startsOverStream) return this.#perform(send, found, operation, options);
    const streamed = await this.#call(send, found, { ...operation, overStream: true }, options);
    if (!streamsNothing(streamed.exchange)) return streamed;
    return this.#perform(send, found, operation, options);
  }

  /** Returns the reply to a start, after a read of the task if the answer leaves open how it stands. */
  async #settled(send: Send, { mayRun, ...reply }: SendReply): Promise<StartReply> {
    if (reply.kind !== 'ended') return reply;
    // Has the task read, which fetches its history: the answer may be there.
    if (mayRun === undefined)
      return reply.handle !== undefined && isEmptyEnd(reply.end)
        ? { kind: 'started', handle: reply.handle, pollAfterMs: 0 }
        : reply;
    const task = await this.#read(send, mayRun);
    switch (task.kind) {
      case 'working': {
        const { questions } = task;
        return { kind: 'started', handle: mayRun, ...defined({ questions }) };
      }
      case 'ended':
        return { kind: 'ended', end: task.end, handle: mayRun };
      case 'missing':
        return reply;
      case 'unreadable':
        return { kind: 'unknown', error: task.error };
    }
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    return this.#endpoint.converse({ method: 'GetTask', taskId: handle.taskId }, (send) => this.#read(send, handle));
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    return this.#endpoint.converse({ method: 'CancelTask', taskId: handle.taskId }, async (send) => {
      const found = await this.#interfaces.forTask(handle, send);
      const { exchange } = await this.#perform(send, found, { kind: 'cancel', taskId: handle.taskId });
      const reply = classifyCancel(exchange);
      if (reply.kind === 'done') await this.#forgetPush(send, found, handle);
      if (reply.kind !== 'refused') return reply;
      // Reports the task as stopped if it has ended meanwhile.
      const task = await this.#read(send, handle);
      return task.kind === 'ended' || task.kind === 'missing' ? { kind: 'done' } : reply;
    });
  }

  async forgetPush(handle: RemoteTaskHandle): Promise<void> {
    const subject = { method: 'DeleteTaskPushNotificationConfig', taskId: handle.taskId };
    await this.#endpoint.converse(subject, async (send) => {
      await this.#forgetPush(send, await this.#interfaces.forTask(handle, send), handle);
      return { kind: 'done' };
    });
  }

  async #forgetPush(send: Send, found: FoundInterface, { taskId, pushConfigId }: RemoteTaskHandle): Promise<void> {
    if (pushConfigId === undefined) return;
    const forget = { kind: 'forget_push', taskId, configId: pushConfigId } as const;
    await this.#perform(send, found, forget, { timeoutMs: forgetPushTimeoutMs });
  }

  async answer(
    handle: RemoteTaskHandle,
    question: RemoteQuestion,
    answer: RemoteAnswer,
    idempotencyKey: string,
  ): Promise<AnswerReply> {
    const { taskId, contextId } = handle;
    const message: OutgoingMessage = {
      messageId: messageIdOf(idempotencyKey),
      taskId,
      ...defined({ contextId }),
      parts: answerParts(answer),
    };
    return this.#endpoint.converse({ method: 'SendMessage', taskId }, (send) =>
      deliverAnswer(question, {
        handle,
        read: (currentGeneration) => this.#read(send, handle, currentGeneration),
        send: async (ifGenerationMatch) => {
          const found = await this.#interfaces.forTask(handle, send);
          const operation = { kind: 'send', message, idempotencyKey, ...defined({ ifGenerationMatch }) } as const;
          return (await this.#perform(send, found, operation)).exchange;
        },
      }),
    );
  }

  async find({ idempotencyKey }: StartRequest): Promise<FindReply> {
    const messageId = messageIdOf(idempotencyKey);
    const { clock } = this.#deps;
    const untilMs = clock.nowMs() + taskListMs;
    return this.#endpoint.converse('ListTasks', async (send) => {
      const found = await this.#interfaces.forStart(send);
      if (found.kind === 'none') return { kind: 'unknown', error: pollReplyOf(found.failure).error };
      const { to } = found;
      if (to.wire === '0.3') return hasNoLists;
      const origin = originOf(this.#endpoint.server, to);
      const ask = async (list: TaskList) => (await this.#perform(send, found, list)).exchange;
      if (this.#config.probeByContext !== true)
        return findByMessage(ask, { messageId, to, origin }, () => clock.nowMs() < untilMs);
      const contextId = contextIdOf(idempotencyKey);
      const exchange = await ask({ kind: 'list', contextId });
      if (exchange.kind !== 'result') return contextNotListed(exchange, to);
      return readTaskList(exchange.result, { contextId, messageId }, origin);
    });
  }

  async adopt(task: AdoptedTask): Promise<StartReply> {
    const { taskId, contextId } = task;
    if (!isUsableId(taskId) || !(contextId === undefined || isUsableId(contextId))) return unusableId;
    return this.#endpoint.converse({ method: 'GetTask', taskId }, async (send) => {
      const found = await this.#interfaces.forStart(send);
      const { exchange, origin } = await this.#perform(send, found, { kind: 'get', taskId: task.taskId });
      return classifyAdoption(exchange, origin, task);
    });
  }

  async watch(handle: RemoteTaskHandle, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    const found = await this.#interfaceToWatch(handle);
    if (found === undefined || signal.aborted || !canBeNamed({ kind: 'subscribe', taskId: handle.taskId }, found.to))
      return;
    const { to, extensions } = found;
    const call = callFor(to, { kind: 'subscribe', taskId: handle.taskId }, extensions);
    const rpcId = 'url' in call ? undefined : this.#deps.random.hex(16);
    const limits = { headersMs: watchQuietMs, replyMaxBytes: remoteReplyMaxBytes };
    await this.#endpoint.follow((redact) => {
      const { push } = new TaskStream(handle, rpcId, (event) => {
        onEvent('note' in event ? { ...event, note: redact(event.note) } : event);
      });
      const plain = 'url' in call ? call : asHttpCall(call, to.url, rpcId ?? '');
      return { ...plain, enough: push, signal, limits };
    }, watchMaxMs);
  }

  async #interfaceToWatch(handle: RemoteTaskHandle) {
    const subject = { method: 'SubscribeToTask', taskId: handle.taskId };
    const { found } = await this.#endpoint.converse(subject, async (send) => ({
      kind: 'looked_up',
      found: await this.#interfaces.forTask(handle, send),
    }));
    // Asks no agent for a stream that does not stream.
    if (found.kind === 'none' || !found.card.streams) return undefined;
    return { to: found.to, extensions: this.#extensionsFor(found.card) };
  }

  async #read(send: Send, handle: RemoteTaskHandle, currentGeneration?: number): Promise<PollReply> {
    const found = await this.#interfaces.forTask(handle, send);
    const get = { kind: 'get', taskId: handle.taskId, ...defined({ currentGeneration }) } as const;
    const { exchange } = await this.#perform(send, found, get);
    const reply = classifyPoll(exchange, handle);
    // Reads the history too: a status message may be the answer, or only the server's remark beside one in the history.
    if (reply.kind !== 'ended' || !lacksArtifacts(reply.end)) return reply;
    const withHistory = { kind: 'get', taskId: handle.taskId, withHistory: true } as const;
    const { exchange: again } = await this.#perform(send, found, withHistory);
    const full = classifyPoll(again, handle);
    return full.kind === 'ended' || isEmptyEnd(reply.end) ? full : reply;
  }

  /**
   * Makes one call, and repeats it on another interface if the agent no longer speaks this one, in which case nothing
   * was executed.
   */
  async #perform(
    send: Send,
    found: FoundInterface,
    operation: A2aOperation,
    options: CallOptions = {},
  ): Promise<{ readonly exchange: Exchange; readonly origin: TaskOrigin }> {
    const first = await this.#call(send, found, operation, options);
    const isBasic = operation.kind === 'send' || operation.kind === 'get' || operation.kind === 'cancel';
    if (found.kind === 'none' || !isBasic || !isOutdated(first.exchange)) return first;
    const other = await this.#interfaces.insteadOf(found.to, send);
    return other.kind === 'none' ? first : this.#call(send, other, operation, options);
  }

  async #call(send: Send, found: FoundInterface, operation: A2aOperation, options: object) {
    if (found.kind === 'none') return { exchange: found.failure, origin: originOf(this.#endpoint.server, nowhere) };
    const { to, card } = found;
    if (operation.kind !== 'send' && !canBeNamed(operation, to))
      return { exchange: unnameable, origin: originOf(this.#endpoint.server, to) };
    const call = callFor(to, operation, this.#extensionsFor(card));
    const { exchange } = await send(call, { ...options, url: to.url });
    return { exchange, origin: originOf(this.#endpoint.server, to) };
  }

  #extensionsFor({ dedupes, sequences }: AgentCard): readonly string[] {
    const ours = [...(dedupes ? [idempotentSendExtension] : []), ...(sequences ? [sequenceExtension] : [])];
    return [...new Set([...(this.#config.extensions ?? []), ...ours])];
  }
}

/** Returns what would have kept a start of unknown outcome from being ambiguous and the agent lacks. */
function helpFor(isOld: boolean, streams: boolean): string {
  const lists = isOld ? 'an interface of A2A 1.0 that lists tasks' : 'an agent that lists its tasks';
  return `dedupes: true if the agent recognises the key, ${lists}${streams ? '' : ', an agent that streams'}`;
}

function asHttpCall({ method, params, headers }: WireCall, url: string, id: string): HttpCall {
  return { httpMethod: 'POST', url, headers, body: rpcRequest(id, method, params), toExchange: ignored };
}

function ignored(): Exchange {
  return { kind: 'result', result: null };
}
