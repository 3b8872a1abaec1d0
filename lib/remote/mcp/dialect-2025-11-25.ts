import { defined } from '../../base/defined.js';
import { requestTimeoutMs, startPromptMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { Answered, RemoteEndpoint, Send, WireCall } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { remoteError } from '../rpc/remote-error.js';
import type { Reply } from '../endpoint/redact.js';
import type { AnswerReply, CancelReply, PollReply, StartReply } from '../transport.js';
import { beyondLimits, cancelReplyOf, isErrorOf, pollReplyOf, startReplyOf } from '../rpc/failed-exchange.js';
import {
  notSent,
  notStarted,
  outlasted,
  reasonOf,
  type CallTool,
  type JobStart,
  type McpDialect,
  type OtherRevision,
  type ToolStart,
  type Unready,
} from './dialect.js';
import type { LegacySessions, NoSession } from './legacy-sessions.js';
import { OneByOne } from './one-by-one.js';
import { ToolCache, type ListedTools } from './tool-cache.js';
import {
  legacyWire,
  readCallResult,
  readTask,
  readTaskResult,
  sessionLost,
  taskCall,
  tasksDieTogether,
  tasksOff,
  toolsCall,
  toolsList,
  type Session,
} from './wire-2025-11-25.js';
import {
  headerMismatchCode,
  invalidParamsCode,
  missingCapabilityCode,
  versionUnsupportedCode,
} from './wire-2026-07-28.js';

/**
 * MCP 2025-11-25 with its tasks: sessions, a `task` parameter for tools that allow it, results fetched separately.
 * Servers without tasks, and those of 2025-06-18 and 2025-03-26, get plain calls. Questions are never answered.
 */
export class LegacyDialect implements McpDialect {
  readonly #endpoint: RemoteEndpoint;
  readonly #sessions: LegacySessions;
  readonly #deps: Pick<TransportDeps, 'clock' | 'log'>;
  readonly #tools: ToolCache;
  readonly #startsOneByOne: OneByOne;

  constructor(
    endpoint: RemoteEndpoint,
    sessions: LegacySessions,
    deps: Pick<TransportDeps, 'clock' | 'log' | 'delay'>,
  ) {
    this.#endpoint = endpoint;
    this.#sessions = sessions;
    this.#deps = deps;
    this.#tools = new ToolCache(endpoint, deps);
    this.#startsOneByOne = new OneByOne(startPromptMs, deps.delay);
  }

  async answersAtOnce(tool: string, untilMs: EpochMs): Promise<boolean | undefined> {
    const session = await this.#sessions.current(untilMs);
    if (session.kind === 'unready') return undefined;
    const asTask = await this.#runsAsTask(tool, session, untilMs);
    return typeof asTask === 'boolean' ? asTask : undefined;
  }

  async start(call: ToolStart, untilMs: EpochMs): Promise<StartReply | OtherRevision> {
    const session = await this.#sessions.current(untilMs);
    if (session.kind === 'unready') return withoutSession(session);
    const refusal = call.job === undefined ? undefined : await this.#lackOfTools(call.job, session, untilMs);
    if (refusal !== undefined) return refusal;
    const asTask = call.job === undefined && (await this.#runsAsTask(call.tool, session, untilMs));
    if (typeof asTask !== 'boolean') return notStarted(asTask);
    if (!asTask || !tasksDieTogether(session)) return this.#startUnder(session, call, asTask, untilMs);
    return this.#startsOneByOne.run(async () => {
      const own = await this.#sessions.another(untilMs);
      return own.kind === 'unready' ? withoutSession(own) : this.#startUnder(own, call, asTask, untilMs);
    });
  }

  async #startUnder(
    session: Session,
    call: ToolStart,
    asTask: boolean,
    untilMs: EpochMs,
  ): Promise<StartReply | OtherRevision> {
    return this.#endpoint.converse<StartReply | OtherRevision>(
      'tools/call',
      async (send) => {
        const make = (under: Session): WireCall => toolsCall(call, asTask, under);
        const answered = await this.#sendUnder(session, make, startsOn(send, call), { untilMs, repeats: 'once' });
        if (answered.kind === 'unready') return withoutSession(answered);
        if (answered.kind === 'lost') return { kind: 'retry', error: answered.error };
        const { exchange, session: under } = answered;
        if (exchange.kind !== 'result' && sessionLost(answered, under) === 'perhaps') {
          // Does not send the call again: the tool may have run. If the session was lost, the next call opens another.
          this.#sessions.forget(under);
          return { kind: 'unknown', error: startReplyOf(exchange).error };
        }
        return this.#readStart(answered, call, asTask);
      },
      untilMs,
    );
  }

  /** Returns false if the tool is called plainly and answers only when its work is done. */
  async #runsAsTask(tool: string, session: Session, untilMs: EpochMs): Promise<boolean | Unready> {
    if (!session.tasks) return false;
    const listed = await this.#listed(session, untilMs);
    if (listed.kind === 'unready') return listed.permanent ? false : listed;
    const { taskSupport = 'forbidden' } = listed.byName.get(tool) ?? {};
    return taskSupport !== 'forbidden';
  }

  /**
   * Lists the tools, under a new session if this one was idle too long and has ended, which says nothing about the
   * tools.
   */
  async #listed(session: Session, untilMs: EpochMs): Promise<ListedTools | Unready> {
    const isLost = (answered: Answered): boolean => sessionLost(answered, session) !== 'no';
    const listed = await this.#tools.fresh((cursor) => toolsList(session, cursor), untilMs, isLost);
    if (listed.kind !== 'unready' || listed.isLost !== true) return listed;
    const renewed = await this.#sessions.renewed(session, untilMs);
    return renewed.kind === 'unready' ? renewed : this.#tools.fresh((cursor) => toolsList(renewed, cursor), untilMs);
  }

  async #lackOfTools(job: JobStart, session: Session, untilMs: EpochMs): Promise<StartReply | undefined> {
    return this.#tools.refusal(job, (cursor) => toolsList(session, cursor), untilMs);
  }

  #readStart({ exchange, session }: UnderSession, call: ToolStart, asTask: boolean): StartReply | OtherRevision {
    if (exchange.kind === 'result') {
      const none = asTask ? tasksOff(exchange.result) : undefined;
      if (none !== undefined) return { kind: 'retry', error: none };
      return readCallResult(exchange.result, this.#endpoint.server, session, call);
    }
    const beyond = beyondLimits(exchange);
    if (beyond !== undefined) return beyond;
    const reply = startReplyOf(exchange);
    if (isErrorOf(exchange, modernCodes)) return { kind: 'other_revision', error: reply.error };
    return asTask || call.job !== undefined ? reply : outlasted(reply);
  }

  async get(handle: RemoteTaskHandle, untilMs = this.#inTime()): Promise<PollReply> {
    return this.#endpoint.converse<PollReply>(
      { method: 'tasks/get', taskId: handle.taskId },
      (send) => this.#read(handle, send, untilMs),
      untilMs,
    );
  }

  async #read(handle: RemoteTaskHandle, send: Send, untilMs: EpochMs): Promise<PollReply> {
    const read = await this.#askFor(handle, 'tasks/get', send, untilMs);
    if (read.kind !== 'answered') return unreadTask(read);
    if (read.exchange.kind !== 'result') return pollReplyOf(read.exchange, [invalidParamsCode]);
    const state = readTask(read.exchange.result, handle);
    if (state.kind !== 'result_waits') return state;
    const fetched = await this.#askFor(handle, 'tasks/result', send, untilMs);
    return fetched.kind === 'answered' ? readTaskResult(fetched.exchange, state.task, handle) : unreadTask(fetched);
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    const untilMs = this.#inTime();
    return this.#endpoint.converse<CancelReply>(
      { method: 'tasks/cancel', taskId: handle.taskId },
      async (send) => {
        const answered = await this.#askFor(handle, 'tasks/cancel', send, untilMs);
        switch (answered.kind) {
          case 'lost':
            return { kind: 'gone', error: answered.error };
          case 'unready':
            return { kind: 'retry', ...reasonOf(answered) };
          case 'answered':
            // -32602: the task has ended, or is unknown.
            return answered.exchange.kind === 'result'
              ? { kind: 'done' }
              : cancelReplyOf(answered.exchange, [invalidParamsCode]);
        }
      },
      untilMs,
    );
  }

  async callTools<Kind extends Reply>(
    handle: RemoteTaskHandle,
    talk: (call: CallTool) => Promise<Kind>,
    untilMs = this.#inTime(),
  ): Promise<Kind> {
    return this.#endpoint.converse(
      { method: 'tools/call', taskId: handle.taskId },
      async (send) =>
        talk(async (tool, args) => {
          const session = await this.#sessions.of(handle, untilMs);
          if (session.kind === 'unready') return notSent(session);
          const make = (under: Session): WireCall => toolsCall({ tool, arguments: args }, false, under);
          const answered = await this.#sendUnder(session, make, send, { untilMs });
          return answered.kind === 'answered' ? answered.exchange : notSent(answered);
        }),
      untilMs,
    );
  }

  async answer(): Promise<AnswerReply> {
    const problem = `a task over MCP ${legacyWire} accepts no answers`;
    return { kind: 'refused', error: remoteError('CONFIG_INVALID', problem) };
  }

  async handleOf(taskId: string, untilMs: EpochMs): Promise<RemoteTaskHandle | Unready> {
    const session = await this.#sessions.current(untilMs);
    if (session.kind === 'unready') return session;
    const { id } = session;
    return {
      server: this.#endpoint.server,
      protocol: 'mcp',
      wire: legacyWire,
      taskId,
      ...defined({ session: id }),
    };
  }

  async #askFor(
    handle: RemoteTaskHandle,
    method: Parameters<typeof taskCall>[0],
    send: Send,
    untilMs: EpochMs,
  ): Promise<UnderSession | Lost | NoSession> {
    const session = await this.#sessions.of(handle, untilMs);
    if (session.kind === 'unready') return session;
    return this.#sendUnder(session, (under) => taskCall(method, handle.taskId, under), send, { untilMs });
  }

  /**
   * Sends under a session; if it is lost, once more under a new one. A lost session rejects before anything runs.
   * `once`: a call that may have been executed is not sent again.
   */
  async #sendUnder(
    first: Session,
    make: (session: Session) => WireCall,
    send: Send,
    { untilMs, repeats = 'freely' }: { readonly untilMs: EpochMs; readonly repeats?: 'once' | 'freely' },
  ): Promise<UnderSession | Lost | NoSession> {
    const isLost = (answered: Answered, session: Session): boolean => {
      const lost = sessionLost(answered, session);
      return lost === 'surely' || (lost === 'perhaps' && repeats === 'freely');
    };
    const answered = await send(make(first));
    if (!isLost(answered, first)) return { kind: 'answered', session: first, ...answered };
    const session = await this.#sessions.renewed(first, untilMs);
    if (session.kind === 'unready') return session;
    const again = await send(make(session));
    if (!isLost(again, session)) return { kind: 'answered', session, ...again };
    const problem = 'the server knows neither the session nor the one opened in its place';
    const details = 'status' in again.exchange ? { status: again.exchange.status } : {};
    return { kind: 'lost', error: remoteError('REMOTE_UNREACHABLE', problem, details) };
  }

  /** Returns the deadline of a read or a cancel that begins now, including a session that it may have to open. */
  #inTime(): EpochMs {
    return this.#deps.clock.nowMs() + requestTimeoutMs;
  }
}

/** Sends each start on its own connection: see HttpRequest.freshConnection. */
function startsOn(send: Send, { isPatient: patient = false }: ToolStart): Send {
  return async (call, options) => send(call, { ...options, freshConnection: true, patient });
}

type UnderSession = Answered & { readonly kind: 'answered'; readonly session: Session };
interface Lost {
  readonly kind: 'lost';
  readonly error: ReturnType<typeof remoteError>;
}

/** Errors of a server that does not speak this revision. -32601 is not among them: it concerns the call. */
const modernCodes: readonly number[] = [headerMismatchCode, missingCapabilityCode, versionUnsupportedCode];

function withoutSession(session: NoSession): StartReply | OtherRevision {
  return session.refused ? { kind: 'other_revision', error: session.error } : notStarted(session);
}

function unreadTask(failure: Lost | NoSession): PollReply {
  return failure.kind === 'lost'
    ? { kind: 'missing', error: failure.error }
    : { kind: 'unreadable', ...reasonOf(failure) };
}
