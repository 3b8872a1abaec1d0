import { EngineError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import { canonicalJson, toJson, utf8Bytes, type JsonValue } from '../base/json.js';
import { idempotencyKeyMaxBytes, payloadMaxBytes } from '../base/limits.js';
import type { RunHead } from '../store/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Deps } from './deps.js';
import { wakeRun } from './wake.js';

export interface StartRequest {
  readonly workflow: string;
  readonly input?: JsonValue;
  /** Two starts of one workflow with the same key are one run, for as long as the run is kept. */
  readonly key?: string;
}

export interface StartedRun {
  readonly runId: RunId;
  /** The key was known: this start changed nothing. */
  readonly deduplicated: boolean;
}

/**
 * Starts a run: one put of its head, if absent. With a key the run id is a function of workflow and key, so the same
 * put finds the earlier start; a known key is answered before the input is looked at.
 * @throws EngineError `WORKFLOW_NOT_FOUND`, `INPUT_INVALID` (details.issues), `PAYLOAD_TOO_LARGE`
 */
export async function startRun(deps: Deps, request: StartRequest): Promise<StartedRun> {
  const { workflow: name, key } = request;
  if (key !== undefined) checkKey(key);
  const runId = key === undefined ? deps.random.hex(16) : deps.tokens.keyedRunId(name, key);
  if (key !== undefined && (await deps.store.readHead(runId)) !== undefined) return { runId, deduplicated: true };

  const workflow = deps.app.workflows.get(name);
  if (workflow === undefined) {
    throw new EngineError(
      'WORKFLOW_NOT_FOUND',
      `no workflow is named "${name}"; there is ${[...deps.app.workflows.keys()].join(', ') || 'none'}`,
    );
  }
  const input = await validInput(workflow, request.input);
  const nowMs = deps.clock.nowMs();
  const head: RunHead = {
    runId,
    workflow: workflow.name,
    version: workflow.version,
    status: 'running',
    ...(input === undefined ? {} : { input }),
    seed: deps.random.hex(16),
    createdAtMs: nowMs,
    ...(key === undefined ? {} : { key }),
    inboxCount: 0,
    dueSeq: 0,
    // Guards the first wake.
    dueAtMs: nowMs,
  };
  const { created } = await deps.store.createRun(head, deps.random.hex(16));
  if (created) await wakeRun(deps, runId);
  return { runId, deduplicated: !created };
}

function checkKey(key: string): void {
  if (key === '' || utf8Bytes(key) > idempotencyKeyMaxBytes) {
    throw new EngineError(
      'INPUT_INVALID',
      `an idempotency key must be 1 to ${idempotencyKeyMaxBytes} bytes, got ${utf8Bytes(key)}`,
    );
  }
}

/** The input as the workflow will see it: what its schema made of it, as JSON. */
async function validInput(workflow: AnyWorkflow, given: JsonValue | undefined): Promise<JsonValue | undefined> {
  const input = workflow.input === undefined ? given : await parseInput(workflow, given);
  if (input === undefined) return undefined;
  const sizeBytes = utf8Bytes(canonicalJson(input));
  if (sizeBytes > payloadMaxBytes) {
    throw new EngineError(
      'PAYLOAD_TOO_LARGE',
      `the input is ${sizeBytes} bytes of JSON, the limit is ${payloadMaxBytes}`,
      {
        details: { sizeBytes, limitBytes: payloadMaxBytes },
      },
    );
  }
  return input;
}

async function parseInput(workflow: AnyWorkflow, given: JsonValue | undefined): Promise<JsonValue | undefined> {
  const parsed = await workflow.input?.['~standard'].validate(given);
  if (parsed?.issues !== undefined) {
    const issues = parsed.issues.map((issue) => ({
      path: (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.'),
      message: issue.message,
    }));
    const list = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
    throw new EngineError('INPUT_INVALID', `the input of workflow "${workflow.name}" is not valid: ${list}`, {
      details: { issues },
    });
  }
  try {
    return toJson(parsed?.value);
  } catch {
    throw new EngineError('INPUT_INVALID', `the schema of workflow "${workflow.name}" gives a value that is not JSON`);
  }
}
