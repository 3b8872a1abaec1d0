import { defined } from '../../base/defined.js';
import { canonicalJson, type JsonValue } from '../../base/json.js';
import type { RunId } from '../../base/ids.js';
import type { TaskMessage, TaskOfRun } from '../../history/task-content.js';
import type { Deps } from '../deps.js';
import { newHead, sameStart } from '../requests/new-head.js';
import { createRun } from '../requests/start-run.js';
import { admitStart, refuseStart } from '../requests/tenant-admission.js';
import { wakeRun } from '../wake.js';

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
  readonly depth?: number;
  readonly timeoutMs?: number;
  readonly traceparent?: string;
}

/**
 * Starts a task: puts the head of its run, if absent. Starts of one caller with the same key are one task, for as long
 * as it is kept.
 * @throws EngineError `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`, `TENANT_LIMIT_REACHED`; `KEY_REUSED` for a key with other
 * content
 */
export async function startTask(deps: Deps, start: TaskStart): Promise<RunId> {
  const { workflow, input, message, contextId, metadata, key, depth, timeoutMs, traceparent } = start;
  const runId = key === undefined ? deps.random.hex(16) : keyedTaskId(deps, workflow, key);
  const sentDigest = key === undefined ? undefined : deps.tokens.sentDigest(`task\n${canonicalJson(start.sent)}`);
  const known = key === undefined ? undefined : await deps.store.heads.read(runId);
  if (known !== undefined) return sameStart(known, sentDigest).runId;
  const { messageId, parts, metadata: ofMessage } = message;
  const task: TaskOfRun = {
    contextId,
    message: { messageId, ...defined({ metadata: ofMessage, parts: start.isInputOnly ? undefined : parts }) },
    generation: 1,
    ...defined({ metadata, depth }),
  };
  const head = await newHead(deps, {
    ...{ runId, workflow },
    ...defined({ input, sentDigest, timeoutMs, traceparent }),
    ...defined({ concurrencyKey: start.isQueued ? contextLane(deps, contextId) : undefined }),
  });
  const admitted = await admitStart(deps, { ...head, task, taskHint: { state: 'submitted', atMs: head.createdAtMs } });
  const found = await createRun(deps, admitted.head, { liveMax: admitted.liveMax });
  if (found === 'full') return refuseStart(admitted);
  if (found !== undefined) return sameStart(found, sentDigest).runId;
  await wakeRun(deps, runId);
  return runId;
}

/** Returns the concurrency key of a context: equal ids of two callers are different contexts. */
function contextLane({ caller, digest }: Deps, contextId: string): string {
  return `context ${digest(`${caller?.id ?? ''}\n${contextId}`).slice(0, 32)}`;
}

/** Returns the id of a task with a key: equal keys of two callers are different tasks. */
function keyedTaskId({ tokens, caller }: Deps, workflow: string, key: string): RunId {
  return tokens.keyedRunId(workflow, `task\n${caller?.id ?? ''}\n${key}`, caller?.tenant);
}
