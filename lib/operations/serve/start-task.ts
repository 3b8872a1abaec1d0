import { defined } from '../../base/defined.js';
import { EngineError, hasCode } from '../../base/errors.js';
import { canonicalJson, type JsonObject, type JsonValue } from '../../base/json.js';
import type { RunId } from '../../base/ids.js';
import type { RunHead } from '../../history/records.js';
import type { TaskMessage, TaskOfRun } from '../../history/task-content.js';
import { TaskFold } from '../../serve/task/fold-task.js';
import type { ServedTask } from '../../serve/task/served-task.js';
import type { ServeConfig } from '../../workflow/serve.js';
import type { Deps } from '../deps.js';
import { laneOf } from '../lane.js';
import { newHead, sameStart } from '../requests/new-head.js';
import { createRun } from '../requests/start-run.js';
import { admitStart, refuseStart } from '../requests/tenant-admission.js';
import { wakeRun } from '../wake.js';
import { callsOf } from './call-chain.js';
import { admitMessage, capsOf, countersOf } from './caps.js';
import { loadTextHooks } from './load-text-hooks.js';

export interface TaskStart {
  readonly workflow: string;
  readonly input?: JsonValue;
  readonly message: TaskMessage;
  /** Whether the parts of the message are only the input. */
  readonly isInputOnly: boolean;
  readonly contextId: string;
  /** What was sent, as far as starts with the same key must be the same. */
  readonly sent: JsonValue;
  /** Whether the task waits for those before it in its context. */
  readonly isQueued: boolean;
  readonly metadata?: TaskOfRun['metadata'];
  readonly key?: string;
  readonly traceparent?: string;
}

/** A start that was accepted, now or before. */
export interface Started {
  readonly taskId: RunId;
  /** The task as it was put; undefined if it was there already. */
  readonly task?: ServedTask;
}

/** When a start is worth another try whose concurrency key is busy. */
const busyRetryMs = 30_000;

/**
 * Starts a task: puts the head of its run, if absent, and counts it in the same transaction if there are caps. Starts of
 * one caller with the same key are one task, for as long as it is kept.
 * @throws EngineError `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`; `KEY_REUSED` for a key with other content;
 * `TENANT_LIMIT_REACHED`, `TOO_MANY_REQUESTS` (details: limit, max, retryAfterMs)
 */
export async function startTask(deps: Deps, serve: ServeConfig, start: TaskStart): Promise<Started> {
  const { workflow, key } = start;
  if (key === undefined) return startOnce(deps, serve, start, { runId: deps.random.hex(16) });
  const runId = keyedTaskId(deps, workflow, key);
  const sentDigest = deps.tokens.sentDigest(`task\n${canonicalJson(start.sent)}`);
  const known = await deps.store.heads.read(runId);
  if (known !== undefined) return { taskId: sameStart(known, sentDigest).runId };
  try {
    return await startOnce(deps, serve, start, { runId, sentDigest });
  } catch (error) {
    if (!hasCode(error, 'TOO_MANY_REQUESTS') && !hasCode(error, 'TENANT_LIMIT_REACHED')) throw error;
    // The same start may have been accepted meanwhile: then it is that task, whatever has refused this one.
    const accepted = await deps.store.heads.read(runId);
    if (accepted === undefined) throw error;
    return { taskId: sameStart(accepted, sentDigest).runId };
  }
}

async function startOnce(
  deps: Deps,
  serve: ServeConfig,
  sent: TaskStart,
  { runId, sentDigest }: Pick<RunHead, 'runId' | 'sentDigest'>,
): Promise<Started> {
  const start = await heardStart(deps, sent, runId);
  const { workflow, input, message, contextId, metadata, traceparent } = start;
  const { messageId, parts, metadata: ofMessage } = message;
  const task: TaskOfRun = {
    contextId,
    message: { messageId, ...defined({ metadata: ofMessage, parts: start.isInputOnly ? undefined : parts }) },
    generation: 1,
    ...defined({ metadata }),
  };
  const concurrencyKey = start.isQueued ? contextLane(deps, contextId) : undefined;
  const lane = concurrencyKey === undefined ? undefined : laneOf(deps, workflow, concurrencyKey, deps.caller?.tenant);
  const calls = await callsOf(deps, serve, message, { lane, taskId: runId });
  const head = await newHead(deps, {
    ...{ runId, workflow, calls },
    ...defined({ input, sentDigest, traceparent, concurrencyKey }),
  });
  await admitMessage(deps, serve);
  const caps = capsOf(deps, serve, { workflow, contextId });
  const admitted = await admitStart(deps, {
    ...{ ...head, task, taskHint: { state: 'submitted', atMs: head.createdAtMs } },
    ...defined({ counters: countersOf(caps) }),
  });
  const found = await createRun(deps, admitted.head, { liveMax: admitted.liveMax, caps }).catch(rethrowBusy);
  if (found === 'full') return refuseStart(admitted);
  if (found !== undefined) return { taskId: sameStart(found, sentDigest).runId };
  await wakeRun(deps, runId);
  return { taskId: runId, task: new TaskFold({ ...admitted.head, task }).task };
}

/** Says of a concurrency key only that it is busy: the run that holds it may be another caller's. */
function rethrowBusy(error: unknown): never {
  if (!hasCode(error, 'CONCURRENCY_KEY_BUSY')) throw error;
  throw new EngineError('TOO_MANY_REQUESTS', 'a run with this concurrency key is under way', {
    details: { retryAfterMs: busyRetryMs },
  });
}

/** Returns a start as its workflow hears it. @throws EngineError `INPUT_INVALID` if the app refuses its text */
async function heardStart(deps: Deps, start: TaskStart, taskId: RunId): Promise<TaskStart> {
  if (deps.app.serve?.text?.incoming === undefined) return start;
  const { workflow, message, contextId, input } = start;
  const { heardArguments, heardMessage } = await loadTextHooks();
  const info = { workflow, taskId, contextId, ...defined({ callerId: deps.caller?.id }) };
  if (start.isInputOnly)
    return input === undefined
      ? start
      : { ...start, input: await heardArguments(deps, input, { ...info, of: 'arguments' }) };
  const heard = await heardMessage(deps, message, { ...info, of: 'message' });
  const parts = heard.parts as unknown as JsonValue;
  return { ...start, message: heard, input: { ...(input as JsonObject), parts } };
}

/** Returns the concurrency key of a context: equal ids of two callers are different contexts. */
function contextLane({ caller, digest }: Deps, contextId: string): string {
  return `context ${digest(`${caller?.id ?? ''}\n${contextId}`).slice(0, 32)}`;
}

/** Returns the id of a task with a key: equal keys of two callers are different tasks. */
function keyedTaskId({ tokens, caller }: Deps, workflow: string, key: string): RunId {
  return tokens.keyedRunId(workflow, `task\n${caller?.id ?? ''}\n${key}`, caller?.tenant);
}
