// Jobs that a server offers as plain tools: the meaning of their replies. Pure.

import { defined } from '../../base/defined.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { CalledOver } from './dialect.js';
import type { EffectiveJob } from './effective-job.js';
import type { Exchange } from '../rpc/exchange.js';
import { isUsableId } from '../endpoint/handle.js';
import { finiteOrRefused } from '../endpoint/overflow.js';
import { amountsIn } from '../rpc/amounts.js';
import { remoteError, unknown, unreadable } from '../rpc/remote-error.js';
import type { CancelReply, PollReply, RemoteEnd, StartReply } from '../transport.js';
import { cancelReplyOf, pollReplyOf } from '../rpc/failed-exchange.js';
import { isToolResult, ToolReply } from './tool-reply.js';
import { readToolResult } from './tool-result.js';
import { dataOf, invalidParamsCode, methodUnknownCode } from './wire-2026-07-28.js';

/** Returns the wire of a job's handle: an outwait without jobs then rejects it as an unknown revision. */
export function jobWire(version: string): string {
  return `${jobPrefix}${version}`;
}

/** Returns the version of MCP in the wire of a handle, of a job or of a task. */
export function versionIn(wire: string): string {
  return wire.startsWith(jobPrefix) ? wire.slice(jobPrefix.length) : wire;
}

const jobPrefix = 'jobs-';

/** Returns the arguments with which the other tools are asked about a job. */
export function jobArguments({ argument }: EffectiveJob, { taskId, numericId }: RemoteTaskHandle): JsonObject {
  return { [argument]: numericId === true ? Number(taskId) : taskId };
}

/** Reads the reply of the tool that starts the job. An error is an outcome, as with every tool. */
export function readSubmitted(result: JsonObject, job: EffectiveJob, server: string, over: CalledOver): StartReply {
  if (result['isError'] === true) return readToolResult(result);
  const reply = new ToolReply(result);
  const id = reply.at(job.id);
  const state = stateIn(reply, job);
  if (id === undefined || id === null) {
    const end = endIn(reply, job, { state, server });
    if (end !== undefined) return { kind: 'ended', end };
    return unknown(`the reply of the tool "${job.tool}" has no job id at "${job.id}": ${reply.shown()}`);
  }
  const isNumber = typeof id === 'number' && Number.isSafeInteger(id);
  const taskId = isNumber ? String(id) : id;
  if (!isUsableId(taskId))
    return unknown(`the reply of the tool "${job.tool}" has no usable id at "${job.id}": it is ${JSON.stringify(id)}`);
  const handle: RemoteTaskHandle = {
    server,
    protocol: 'mcp',
    wire: jobWire(over.version),
    taskId,
    job: job.tool,
    ...defined({ numericId: isNumber ? true : undefined, session: over.session }),
  };
  const meaning = meaningOf(state, job);
  if (meaning === 'working' || meaning === undefined)
    return { kind: 'started', handle, ...defined({ state, pollAfterMs: job.pollAfterMs }) };
  // Requires the result itself to skip another read: servers also say "succeeded" of a start.
  const isWhole = job.result !== undefined && job.resultTool === undefined && (reply.at(job.result) ?? null) !== null;
  const end = isWhole && meaning === 'done' ? endIn(reply, job, { state, taskId, server }) : undefined;
  return end === undefined ? { kind: 'started', handle, pollAfterMs: 0 } : { kind: 'ended', end, handle };
}

/** Reads the reply of the status tool: the job's state, or that its result must be fetched with another tool. */
export function readStatus(
  exchange: Exchange,
  job: EffectiveJob,
  handle: RemoteTaskHandle,
): PollReply | { readonly kind: 'result_waits' } {
  const read = toolReply(exchange, job, job.status);
  if (!(read instanceof ToolReply)) return read;
  if (isForeign(read, job, handle)) return unreadable('the job is not the one requested');
  const state = stateIn(read, job);
  if (state === undefined)
    return unreadable(`the reply of the tool "${job.status}" has no state at "${job.state}": ${read.shown()}`);
  if (job.missing.some((one) => typeof one === 'string' && one.toLowerCase() === state.toLowerCase()))
    return { kind: 'missing', error: remoteError('REMOTE_TASK_LOST', `the job is "${state}"`) };
  const meaning = meaningOf(state, job);
  if (meaning === 'done' && job.resultTool !== undefined) return { kind: 'result_waits' };
  const end = endIn(read, job, { state, taskId: handle.taskId, server: handle.server });
  if (end !== undefined) return { kind: 'ended', end };
  if (meaning === 'done')
    return unreadable(
      `the job is done, but the reply of the tool "${job.status}" has no result at "${job.result ?? ''}"`,
    );
  const note = messageIn(read, job);
  return {
    kind: 'working',
    state,
    ...defined({ note, pollAfterMs: job.pollAfterMs }),
    ...amountsIn({ progress: read.at('progress') ?? null, total: read.at('total') ?? null }),
  };
}

/** Reads the reply of the result tool for a job that is done. An error is the outcome of the job. */
export function readResult(exchange: Exchange, job: EffectiveJob, { taskId, server }: RemoteTaskHandle): PollReply {
  const { resultTool = '' } = job;
  if (exchange.kind !== 'result') return noStatusOf(exchange, job);
  const { result } = exchange;
  if (!isToolResult(result)) return unreadable(`the reply of the tool "${resultTool}" is not the result of a tool`);
  if (result['isError'] === true) {
    const said = new ToolReply(result);
    if (saysMissing(said, job)) return { kind: 'missing', error: errorSaid(said, resultTool) };
    return { kind: 'ended', end: { kind: 'completed', result, isError: true, taskId } };
  }
  const end = completed(new ToolReply(result), job, { taskId, server });
  return end === undefined
    ? unreadable(`the reply of the tool "${resultTool}" has no result at "${job.result ?? ''}"`)
    : { kind: 'ended', end };
}

/**
 * Reads the reply of the tool that stops a job. `unsure`: only the job itself can tell; the reply is the error if it
 * goes on.
 */
export function readStopped(
  exchange: Exchange,
  tool: string,
): CancelReply | { readonly kind: 'unsure'; readonly error: ReturnType<typeof remoteError> } {
  // Gives up on a tool that does not exist or does not accept the argument: it will not do so later.
  if (exchange.kind !== 'result') return cancelReplyOf(exchange, [], [methodUnknownCode, invalidParamsCode]);
  const { result } = exchange;
  if (!isToolResult(result))
    return { kind: 'retry', error: unreadable(`the reply of the tool "${tool}" is not the result of a tool`).error };
  return result['isError'] === true
    ? { kind: 'unsure', error: errorSaid(new ToolReply(result), tool) }
    : { kind: 'done' };
}

/** Returns the refusal of a start whose configuration names tools that the server does not have. */
export function withoutTools(
  job: EffectiveJob,
  server: string,
  missing: readonly string[],
  has: readonly string[],
): StartReply {
  const names = has.slice(0, toolsShown).join(', ');
  const more = has.length > toolsShown ? ` and ${has.length - toolsShown} more` : '';
  const message = `jobs.${job.tool} of the entry of "${server}" names ${missing.map((name) => `"${name}"`).join(' and ')}, which the server does not have; its tools are ${names === '' ? 'none' : names}${more}`;
  return { kind: 'refused', error: remoteError('REMOTE_START_REFUSED', message) };
}

const toolsShown = 30;

/** Returns the names of the tools that a job needs. */
export function toolsOf({ tool, status, cancel, resultTool }: EffectiveJob): readonly string[] {
  return [tool, status, cancel, resultTool].filter((name) => name !== undefined);
}

/** Returns the error if the configuration does not, or no longer, list the tool that started the job. */
export function unknownJob({ taskId, job = '', server }: RemoteTaskHandle): ReturnType<typeof remoteError> {
  return remoteError(
    'CONFIG_INVALID',
    `the job "${taskId}" was started with the tool "${job}", which the entry of "${server}" does not list; add jobs: { ${job}: { status: …, id: … } }`,
  );
}

function toolReply(exchange: Exchange, job: EffectiveJob, tool: string): ToolReply | NoStatus {
  if (exchange.kind !== 'result') return noStatusOf(exchange, job);
  if (!isToolResult(exchange.result)) return unreadable(`the reply of the tool "${tool}" is not the result of a tool`);
  const reply = new ToolReply(exchange.result);
  if (exchange.result['isError'] !== true) return reply;
  return { kind: saysMissing(reply, job) ? 'missing' : 'unreadable', error: errorSaid(reply, tool) };
}

type NoStatus = Extract<PollReply, { kind: 'missing' | 'unreadable' }>;

function noStatusOf(failure: Exclude<Exchange, { kind: 'result' }>, { missing }: EffectiveJob): NoStatus {
  const codes = missing.filter((one) => typeof one === 'number');
  if (failure.kind !== 'rpc_error') return pollReplyOf(failure);
  const isSaid = holdsOne(failure.message, missing);
  return pollReplyOf(failure, isSaid ? [...codes, failure.code] : codes);
}

function saysMissing(reply: ToolReply, { missing }: EffectiveJob): boolean {
  const { structuredContent } = reply.result;
  return holdsOne(
    `${reply.texts}\n${structuredContent === undefined ? '' : JSON.stringify(structuredContent)}`,
    missing,
  );
}

function holdsOne(text: string, words: EffectiveJob['missing']): boolean {
  const said = text.toLowerCase();
  return words.some((word) => typeof word === 'string' && said.includes(word.toLowerCase()));
}

/** Returns the error for a status tool that failed, which says nothing about the job. */
function errorSaid(reply: ToolReply, tool: string): ReturnType<typeof remoteError> {
  return remoteError('REMOTE_PROTOCOL_VIOLATION', `the tool "${tool}" answered with an error: ${reply.shown()}`);
}

/** Whether the reply names another job than ours. A reply that names none is believed. */
function isForeign(reply: ToolReply, { id, argument }: EffectiveJob, { taskId }: RemoteTaskHandle): boolean {
  const named = reply.at(id) ?? reply.at(argument) ?? taskId;
  return typeof named === 'object' || String(named) !== taskId;
}

/** Returns the state as the server writes it, or undefined if there is none. */
function stateIn(reply: ToolReply, { state }: EffectiveJob): string | undefined {
  const value = reply.at(state);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

function meaningOf(
  state: string | undefined,
  { done, failed, cancelled }: EffectiveJob,
): 'done' | 'failed' | 'cancelled' | 'working' | undefined {
  if (state === undefined) return undefined;
  const word = state.trim().toLowerCase();
  if (done.includes(word)) return 'done';
  if (failed.includes(word)) return 'failed';
  return cancelled.includes(word) ? 'cancelled' : 'working';
}

/** Subject of a reply, beside the job as configured. */
interface AskedJob {
  readonly server: string;
  /** Missing for a start whose reply has no id. */
  readonly taskId?: string;
  /** State as the server writes it. */
  readonly state?: string | undefined;
}

/** Returns the end in a reply, or undefined if the job goes on, or is done and its result is not in the reply. */
function endIn(reply: ToolReply, job: EffectiveJob, asked: AskedJob): RemoteEnd | undefined {
  const meaning = meaningOf(asked.state, job);
  switch (meaning) {
    case 'done':
      return completed(reply, job, asked);
    case 'failed':
    case 'cancelled':
      return broken(meaning, reply, job, asked);
    case 'working':
    case undefined:
      return undefined;
  }
}

function completed(
  reply: ToolReply,
  { result: path }: EffectiveJob,
  { taskId, server }: AskedJob,
): RemoteEnd | undefined {
  const task = defined({ taskId });
  if (path === undefined) return { kind: 'completed', result: reply.result, isError: false, ...task };
  const found = reply.find(path);
  if (found === undefined) return undefined;
  const { value, overflow } = found;
  const end: RemoteEnd = { kind: 'completed', result: asToolResult(value), isError: false, ...task };
  return finiteOrRefused({ end }, overflow, server).end;
}

/** Returns a value in the form of a tool's result, so that all results are read alike. */
function asToolResult(value: JsonValue): JsonObject {
  return typeof value === 'string'
    ? { content: [{ type: 'text', text: value }] }
    : { content: [], structuredContent: value };
}

function broken(
  meaning: 'failed' | 'cancelled',
  reply: ToolReply,
  job: EffectiveJob,
  { state, server }: AskedJob,
): RemoteEnd {
  const code = meaning === 'failed' ? 'REMOTE_TASK_FAILED' : 'REMOTE_TASK_CANCELLED';
  const text = `remote task ${meaning}: ${messageIn(reply, job) ?? 'no reason was given'}`;
  const details = { server, state: state?.trim() ?? meaning, ...dataOf(reply.result['structuredContent']) };
  return { kind: 'failed', error: remoteError(code, text, details) };
}

function messageIn(reply: ToolReply, { messages }: EffectiveJob): string | undefined {
  for (const path of messages) {
    const value = reply.at(path);
    if (typeof value === 'number') return String(value);
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}
