import { defined } from '../../base/defined.js';
import { requestTimeoutMs, serverTraitsTimeoutMs } from '../../base/limits.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { McpRevision, McpServerConfig } from '../../workflow/app.js';
import type { ServerJobs } from '../../workflow/server-jobs.js';
import { effectiveJob, type EffectiveJob } from './effective-job.js';
import { RemoteEndpoint } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { isUsableId, unusableId } from '../endpoint/handle.js';
import { remoteError } from '../rpc/remote-error.js';
import type {
  AdoptedTask,
  AnswerReply,
  CancelReply,
  PollReply,
  RemoteAnswer,
  RemoteQuestion,
  RemoteRequest,
  RemoteTaskTransport,
  ServerTraits,
  StartReply,
  StartRequest,
} from '../transport.js';
import {
  notStarted,
  outlasted,
  type CallTool,
  type McpDialect,
  type OtherRevision,
  type ToolStart,
} from './dialect.js';
import { LegacyDialect } from './dialect-2025-11-25.js';
import { ModernDialect } from './dialect-2026-07-28.js';
import {
  jobArguments,
  readResult,
  readStatus,
  readStopped,
  readSubmitted,
  toolsOf,
  unknownJob,
  versionIn,
  withoutTools,
} from './jobs.js';
import { LegacySessions } from './legacy-sessions.js';
import { RevisionFinder, type Found } from './revision.js';
import { earlierVersions, legacyWire } from './wire-2025-11-25.js';

/** Advice that would keep a start of unknown outcome from being ambiguous. */
const helps = 'dedupes: true if the server recognises the key, a tool that runs as a task';

/**
 * Client of a server that speaks MCP. New calls use the revision that the server speaks, or that the configuration
 * names; a task stays with the revision over which it was started, which its handle names.
 */
export class McpTransport implements RemoteTaskTransport {
  readonly protocol = 'mcp';
  readonly dedupes: boolean;
  readonly #server: string;
  readonly #jobs: ServerJobs | undefined;
  readonly #clock: Clock;
  readonly #dialects: Readonly<Record<McpRevision, McpDialect>>;
  readonly #revision: RevisionFinder;

  constructor(server: string, config: McpServerConfig, deps: TransportDeps) {
    this.dedupes = config.dedupes ?? false;
    this.#server = server;
    this.#jobs = config.jobs;
    this.#clock = deps.clock;
    const endpoint = new RemoteEndpoint(server, config, deps);
    const sessions = new LegacySessions(endpoint);
    this.#dialects = {
      '2026-07-28': new ModernDialect(endpoint, deps),
      '2025-11-25': new LegacyDialect(endpoint, sessions, deps),
    };
    this.#revision = new RevisionFinder(endpoint, sessions, deps, config);
  }

  async traits(): Promise<ServerTraits> {
    if (this.dedupes) return { dedupes: true, finds: false };
    const found = await this.#revision.findFresh();
    return { dedupes: found.kind === 'found' && found.dedupes, finds: false, helps };
  }

  problemWith(request: RemoteRequest): string | undefined {
    if (request.kind !== 'tool')
      return `the server "${this.#server}" speaks MCP, which takes a tool, not a ${request.kind}`;
    return request.tool === '' ? 'the name of the tool is empty' : undefined;
  }

  async answersAtOnce(request: RemoteRequest): Promise<boolean | undefined> {
    if (request.kind !== 'tool') return undefined;
    const untilMs = this.#clock.nowMs() + serverTraitsTimeoutMs;
    const found = await this.#revision.find(untilMs);
    if (found.kind === 'unready') return undefined;
    return found.tasks === false ? false : this.#dialects[found.revision].answersAtOnce(request.tool, untilMs);
  }

  async start({ request, untilMs: patientUntilMs, ...rest }: StartRequest): Promise<StartReply> {
    if (request.kind !== 'tool') throw new TypeError(`an MCP server takes no ${request.kind}`);
    const isPatient = patientUntilMs !== undefined;
    const job = this.#jobStartOf(request.tool);
    const call = { tool: request.tool, arguments: request.arguments, isPatient, ...rest, ...job };
    const untilMs = patientUntilMs ?? this.#clock.nowMs() + requestTimeoutMs;
    const found = await this.#revision.find(untilMs);
    if (found.kind === 'unready') return notStarted(found);
    const reply = await this.#startOver(found, call, untilMs);
    if (reply.kind !== 'other_revision') return reply;
    if (this.#revision.isPinned) return refused(reply);
    // Asks anew for the revision: the server was replaced since, and has not processed the call.
    this.#revision.forget();
    const now = await this.#revision.find(untilMs);
    if (now.kind === 'unready') return notStarted(now);
    if (now.revision === found.revision) return refused(reply);
    const again = await this.#startOver(now, call, untilMs);
    return again.kind === 'other_revision' ? refused(again) : again;
  }

  async #startOver(found: Found, call: ToolStart, untilMs: EpochMs): Promise<StartReply | OtherRevision> {
    const reply = await this.#dialects[found.revision].start(call, untilMs);
    return found.tasks === false && reply.kind === 'unknown' && call.job === undefined ? outlasted(reply) : reply;
  }

  #jobStartOf(tool: string): Pick<ToolStart, 'job'> {
    const job = effectiveJob(this.#jobs, tool);
    if (job === undefined) return {};
    const server = this.#server;
    return {
      job: {
        tools: toolsOf(job),
        read: (result, over) => readSubmitted(result, job, server, over),
        refuse: (missing, has) => withoutTools(job, server, missing, has),
      },
    };
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    const dialect = this.#dialectOf(handle);
    if (dialect === undefined) return { kind: 'unreadable', error: handleError(handle) };
    if (handle.job === undefined) return dialect.get(handle);
    const job = effectiveJob(this.#jobs, handle.job);
    if (job === undefined) return { kind: 'unreadable', error: unknownJob(handle) };
    return dialect.callTools<PollReply>(handle, async (call) => readJob(job, handle, call));
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    const dialect = this.#dialectOf(handle);
    if (dialect === undefined) return { kind: 'retry', error: handleError(handle) };
    if (handle.job === undefined) return dialect.cancel(handle);
    const job = effectiveJob(this.#jobs, handle.job);
    if (job === undefined) return { kind: 'retry', error: unknownJob(handle) };
    return dialect.callTools<CancelReply>(handle, async (call) => stopJob(job, handle, call));
  }

  async answer(
    handle: RemoteTaskHandle,
    question: RemoteQuestion,
    answer: RemoteAnswer,
    idempotencyKey: string,
  ): Promise<AnswerReply> {
    const dialect = this.#dialectOf(handle);
    if (dialect === undefined) return { kind: 'retry', error: handleError(handle) };
    if (handle.job !== undefined)
      return { kind: 'refused', error: remoteError('CONFIG_INVALID', 'a job made of plain tools accepts no answers') };
    return dialect.answer(handle, question.key, answer, idempotencyKey);
  }

  async adopt({ taskId, answersQuestions = false }: AdoptedTask): Promise<StartReply> {
    if (!isUsableId(taskId)) return unusableId;
    const untilMs = this.#clock.nowMs() + requestTimeoutMs;
    const found = await this.#revision.find(untilMs);
    if (found.kind === 'unready') return notStarted(found);
    const dialect = this.#dialects[found.revision];
    const handle = await dialect.handleOf(taskId, untilMs);
    if ('kind' in handle) return notStarted(handle);
    const asking = answersQuestions ? { ...handle, answersQuestions } : handle;
    return adopted(await dialect.get(asking, untilMs), asking);
  }

  #dialectOf({ protocol, wire, job }: RemoteTaskHandle): McpDialect | undefined {
    if (protocol !== 'mcp') return undefined;
    // Accepts older versions for a job, which needs no tasks.
    const version = job === undefined ? wire : versionIn(wire);
    if (job !== undefined && earlierVersions.includes(version)) return this.#dialects[legacyWire];
    return isRevision(version, this.#dialects) ? this.#dialects[version] : undefined;
  }
}

async function readJob(job: EffectiveJob, handle: RemoteTaskHandle, call: CallTool): Promise<PollReply> {
  const args = jobArguments(job, handle);
  const read = readStatus(await call(job.status, args), job, handle);
  if (read.kind !== 'result_waits') return read;
  return readResult(await call(job.resultTool ?? '', args), job, handle);
}

async function stopJob(job: EffectiveJob, handle: RemoteTaskHandle, call: CallTool): Promise<CancelReply> {
  if (job.cancel === undefined) {
    const problem = `jobs.${job.tool} of the entry of "${handle.server}" names no tool that stops the job`;
    return { kind: 'refused', error: remoteError('CONFIG_INVALID', problem) };
  }
  const stopped = readStopped(await call(job.cancel, jobArguments(job, handle)), job.cancel);
  if (stopped.kind !== 'unsure') return stopped;
  // Reads the job: one that has just ended cannot be stopped either, and needs no stopping.
  const read = readStatus(await call(job.status, jobArguments(job, handle)), job, handle);
  switch (read.kind) {
    case 'ended':
    case 'result_waits':
      return { kind: 'done' };
    case 'missing':
      return { kind: 'gone', error: read.error };
    case 'working':
    case 'unreadable':
      return { kind: 'retry', error: stopped.error };
  }
}

function isRevision<Revision extends string>(
  wire: string,
  dialects: Readonly<Record<Revision, unknown>>,
): wire is Revision {
  return Object.hasOwn(dialects, wire);
}

/** Returns the error for a task over a protocol or revision that the current configuration or outwait does not have. */
function handleError({ protocol, wire }: RemoteTaskHandle) {
  return remoteError(
    'CONFIG_INVALID',
    `the task was started over ${protocol} ${wire}, but the server is now called over MCP, and this version of outwait does not know that revision`,
  );
}

function refused({ error }: OtherRevision): StartReply {
  return { kind: 'refused', error };
}

/** Returns what a read of a task means for taking it over. A read can always be repeated. */
function adopted(task: PollReply, handle: RemoteTaskHandle): StartReply {
  switch (task.kind) {
    case 'working': {
      const { state, note, progress, total, pollAfterMs, questions } = task;
      return {
        kind: 'started',
        handle,
        state,
        ...defined({ note, progress, total, pollAfterMs, questions }),
      };
    }
    case 'ended':
      return { kind: 'ended', end: task.end, handle };
    case 'missing':
      return { kind: 'refused', error: task.error };
    case 'unreadable':
      return { ...task, kind: 'retry' };
  }
}
