import { cutUtf8, isJsonObject } from '../../base/json.js';
import { requestTimeoutMs, startRoundsMax } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { RemoteEndpoint, Send } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import type { Exchange } from '../rpc/exchange.js';
import { remoteError } from '../rpc/remote-error.js';
import type { Reply } from '../endpoint/redact.js';
import type { AnswerReply, CancelReply, PollReply, RemoteAnswer, StartReply } from '../transport.js';
import { beyondLimits, cancelReplyOf, isErrorOf, pollReplyOf, startReplyOf } from '../rpc/failed-exchange.js';
import { notSent, notStarted, type CallTool, type McpDialect, type OtherRevision, type ToolStart } from './dialect.js';
import { isOlder, supportedIn } from './discovery.js';
import { readInputRequests } from './elicitation.js';
import { paramHeaders } from './param-headers.js';
import { ToolCache } from './tool-cache.js';
import {
  headerMismatchCode,
  invalidParamsCode,
  mcpWire,
  methodUnknownCode,
  missingCapabilityCode,
  readCallResult,
  readTask,
  tasksCancel,
  tasksGet,
  tasksUpdate,
  toolsCall,
  toolsList,
  type ToolsCall,
  versionUnsupportedCode,
} from './wire-2026-07-28.js';

/** MCP 2026-07-28 with the tasks extension. No handshake: every request is self-contained. */
export class ModernDialect implements McpDialect {
  readonly #endpoint: RemoteEndpoint;
  readonly #deps: Pick<TransportDeps, 'clock' | 'log'>;
  readonly #tools: ToolCache;

  constructor(endpoint: RemoteEndpoint, deps: Pick<TransportDeps, 'clock' | 'log'>) {
    this.#endpoint = endpoint;
    this.#deps = deps;
    this.#tools = new ToolCache(endpoint, deps);
  }

  /** Returns undefined: the server decides with each call whether it becomes a task. */
  async answersAtOnce(): Promise<undefined> {
    return undefined;
  }

  async start(call: ToolStart, untilMs: EpochMs): Promise<StartReply | OtherRevision> {
    const refusal = call.job === undefined ? undefined : await this.#tools.refusal(call.job, toolsList, untilMs);
    if (refusal !== undefined) return refusal;
    return this.#endpoint.converse('tools/call', (send) => this.#startInRounds(send, call, untilMs), untilMs);
  }

  /** Repeats the start while the server only returns state and asks nothing (MRTR, `requestState` alone). */
  async #startInRounds(send: Send, call: ToolStart, untilMs: EpochMs): Promise<StartReply | OtherRevision> {
    let current = call;
    for (let round = 1; round <= startRoundsMax; round++) {
      const reply = await this.#startOnce(send, current, untilMs);
      if (reply.kind !== 'asked' || reply.state === undefined || reply.questions.length > 0) return reply;
      current = { ...call, continuation: { state: reply.state, answers: {} } };
    }
    const problem = `the server requested the same start again ${startRoundsMax} times without beginning it`;
    return { kind: 'refused', error: remoteError('REMOTE_START_REFUSED', problem) };
  }

  async #startOnce(send: Send, call: ToolStart, untilMs: EpochMs): Promise<StartReply | OtherRevision> {
    const patient = call.isPatient ?? false;
    const fresh: Send = async (made, options) => send(made, { ...options, freshConnection: true, patient });
    const exchange = await this.#exchange(fresh, call, untilMs);
    if (isNoExchange(exchange)) return exchange;
    this.#warnOfUnanswerable(exchange);
    if (isOlder(exchange)) return { kind: 'other_revision', error: startReplyOf(exchange).error };
    return classifyStart(exchange, this.#endpoint.server, call);
  }

  /** Makes one call of a tool with the headers that it asks for, or returns why it was not made. */
  async #exchange(send: Send, call: ToolsCall, untilMs: EpochMs): Promise<Exchange | NoExchange> {
    const known = this.#headersOf(call);
    if (known.kind === 'refused') return known;
    let exchange = await this.#call(send, call, known.headers);

    // Repeats the start after these two errors, with any server: both come before anything runs.
    if (isErrorOf(exchange, [headerMismatchCode])) {
      const listed = await this.#tools.read(toolsList, untilMs);
      if (listed.kind === 'unready') return notStarted(listed);
      const read = this.#headersOf(call);
      if (read.kind === 'refused') return read;
      if (Object.keys(read.headers).length > 0) exchange = await this.#call(send, call, read.headers);
    }
    if (isErrorOf(exchange, [versionUnsupportedCode])) {
      if (!(supportedIn(exchange.data)?.includes(mcpWire) ?? false))
        return { kind: 'other_revision', error: startErrorOf(exchange) };
      exchange = await this.#call(send, call, this.#headersOf(call).headers);
    }
    return exchange;
  }

  async #call(send: Send, call: ToolsCall, headers: Readonly<Record<string, string>>): Promise<Exchange> {
    return (await send(toolsCall({ ...call, paramHeaders: headers }))).exchange;
  }

  /**
   * Returns no headers for a tool never listed: most tools ask for none, and the server rejects the call of others
   * before running it.
   */
  #headersOf({ tool, arguments: args }: ToolsCall): ParamHeaders {
    const { headers } = this.#tools.find(tool) ?? {};
    if (headers === undefined) return { kind: 'headers', headers: {} };
    if (headers.kind === 'usable') return { kind: 'headers', headers: paramHeaders(headers.params, args) };
    const problem = `the definition of the tool breaks the protocol: ${headers.problem}`;
    return { kind: 'refused', error: remoteError('REMOTE_START_REFUSED', problem), headers: {} };
  }

  async get(handle: RemoteTaskHandle, untilMs?: EpochMs): Promise<PollReply> {
    return this.#endpoint.converse<PollReply>(
      { method: 'tasks/get', taskId: handle.taskId },
      async (send) => {
        const { exchange } = await send(tasksGet(handle));
        this.#warnOfUnanswerable(exchange);
        return classifyPoll(exchange, handle);
      },
      untilMs,
    );
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    const subject = { method: 'tasks/cancel', taskId: handle.taskId };
    return this.#endpoint.converse(subject, async (send) => classifyCancel((await send(tasksCancel(handle))).exchange));
  }

  async callTools<Kind extends Reply>(
    handle: RemoteTaskHandle,
    talk: (call: CallTool) => Promise<Kind>,
    untilMs = this.#deps.clock.nowMs() + requestTimeoutMs,
  ): Promise<Kind> {
    return this.#endpoint.converse(
      { method: 'tools/call', taskId: handle.taskId },
      async (send) =>
        talk(async (tool, args) => {
          const exchange = await this.#exchange(send, { tool, arguments: args }, untilMs);
          return isNoExchange(exchange) ? notSent(exchange) : exchange;
        }),
      untilMs,
    );
  }

  async answer(
    handle: RemoteTaskHandle,
    key: string,
    answer: RemoteAnswer,
    idempotencyKey: string,
  ): Promise<AnswerReply> {
    return this.#endpoint.converse<AnswerReply>({ method: 'tasks/update', taskId: handle.taskId }, async (send) => {
      const { exchange } = await send(tasksUpdate(handle.taskId, key, answer, idempotencyKey));
      if (!isErrorOf(exchange, [invalidParamsCode])) return classifyAnswer(exchange);
      // Reads the task: either it is gone, or the answer was rejected.
      const read = await send(tasksGet({ ...handle, answersQuestions: true }));
      const task = classifyPoll(read.exchange, handle);
      switch (task.kind) {
        // Retries, since replicas may lag. If the task is gone, reads find that out, and the end of the call ends this
        // too.
        case 'missing':
          return { kind: 'retry', error: task.error };
        case 'ended':
          return { kind: 'done' };
        case 'working':
          return task.questions?.some((question) => question.key === key) === true
            ? { kind: 'refused', error: startErrorOf(exchange) }
            : { kind: 'done' };
        case 'unreadable':
          return { ...task, kind: 'retry' };
      }
    });
  }

  async handleOf(taskId: string): Promise<RemoteTaskHandle> {
    return { server: this.#endpoint.server, protocol: 'mcp', wire: mcpWire, taskId };
  }

  #warnOfUnanswerable(exchange: Exchange): void {
    if (exchange.kind !== 'result' || !isJsonObject(exchange.result)) return;
    const { unanswerable } = readInputRequests(exchange.result['inputRequests']);
    if (unanswerable.length > 0)
      this.#deps.log.warn('remote question left unanswered', {
        server: this.#endpoint.server,
        asked: cutUtf8(unanswerable.join(', '), 256),
      });
  }
}

type ParamHeaders = { readonly headers: Readonly<Record<string, string>> } & (
  { readonly kind: 'headers' } | Extract<StartReply, { kind: 'refused' }>
);

/** Reason why a call was not made: a prerequisite failed, or the server speaks another revision. */
type NoExchange = Extract<StartReply, { kind: 'refused' | 'retry' }> | OtherRevision;

function isNoExchange(came: Exchange | NoExchange): came is NoExchange {
  return came.kind === 'refused' || came.kind === 'retry' || came.kind === 'other_revision';
}

type RpcError = Extract<Exchange, { kind: 'rpc_error' }>;

function startErrorOf(exchange: RpcError) {
  return startReplyOf(exchange).error;
}

/** Classifies the outcome of `tools/call`. Pure. */
export function classifyStart(
  exchange: Exchange,
  server: string,
  call: Pick<ToolsCall, 'answersQuestions' | 'job'> & { readonly tool?: string } = {},
): StartReply {
  return exchange.kind === 'result'
    ? readCallResult(exchange.result, server, call)
    : (beyondLimits(exchange) ?? startReplyOf(exchange));
}

/** Classifies the outcome of `tasks/get`. Pure. */
export function classifyPoll(exchange: Exchange, handle: RemoteTaskHandle): PollReply {
  return exchange.kind === 'result'
    ? readTask(exchange.result, handle.taskId, handle.server)
    : pollReplyOf(exchange, [invalidParamsCode]);
}

/** Classifies the outcome of `tasks/cancel`: any result is an acknowledgement, for an ended task too. Pure. */
export function classifyCancel(exchange: Exchange): CancelReply {
  return exchange.kind === 'result' ? { kind: 'done' } : cancelReplyOf(exchange, [invalidParamsCode]);
}

/** Classifies the outcome of `tasks/update`: servers ignore keys that are not open, so any result will do. Pure. */
export function classifyAnswer(exchange: Exchange): AnswerReply {
  if (exchange.kind === 'result') return { kind: 'done' };
  if (isErrorOf(exchange, [methodUnknownCode, missingCapabilityCode]))
    return { kind: 'refused', error: startErrorOf(exchange) };
  const { error, ...wait } = pollReplyOf(exchange);
  return { ...wait, kind: 'retry', error };
}
