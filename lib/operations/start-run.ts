import { EngineError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import { cutUtf8, toJson, utf8Bytes, type JsonValue } from '../base/json.js';
import { checkJsonBytes, jsonBytes } from '../base/json-limit.js';
import { idempotencyKeyMaxBytes, issuesMax, issueTextBytes, startDelayMaxMs, tagsMax } from '../base/limits.js';
import { issuePath } from '../base/schema-issue.js';
import type { EpochMs } from '../base/time.js';
import type { RunHead } from '../store/records.js';
import type { AnyWorkflow } from '../workflow/define-workflow.js';
import type { Deps } from './deps.js';
import { signalRecord, type SignalRequest } from './send-to-inbox.js';
import { wakeRun } from './wake.js';

export interface StartRequest {
  readonly workflow: string;
  readonly input?: JsonValue;
  /** Two starts of one workflow with the same key are one run, for as long as the run is kept. */
  readonly key?: string;
  /** Nothing of the run happens before this long has passed; at most 365 days. */
  readonly delayMs?: number;
  /** The run fails with `RUN_TIMED_OUT` if it has not ended this long after its start. */
  readonly timeoutMs?: number;
  /** For lists: at most 10, names of at most 64 characters, values of at most 256. */
  readonly tags?: Readonly<Record<string, string>>;
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
  const { key } = request;
  if (key !== undefined) checkKey(key);
  const runId = key === undefined ? deps.random.hex(16) : deps.tokens.keyedRunId(request.workflow, key);
  if (key !== undefined && (await deps.store.readHead(runId)) !== undefined) return { runId, deduplicated: true };
  const head = await newHead(deps, { ...request, runId });
  const { created } = await deps.store.createRun(head, deps.random.hex(16));
  if (created) await wakeRun(deps, runId);
  return { runId, deduplicated: !created };
}

/**
 * Starts the run of this key, or finds it, and gives it a signal, in one atomic write: whichever way, the signal is there
 * before the run can end.
 * @throws EngineError like startRun; `RUN_ENDED` when the run of this key has ended
 */
export async function startOrSignal(
  deps: Deps,
  request: StartRequest & { readonly key: string; readonly signal: SignalRequest },
): Promise<StartedRun> {
  checkKey(request.key);
  const runId = deps.tokens.keyedRunId(request.workflow, request.key);
  const signal = signalRecord(deps, runId, request.signal);
  if ((await deps.store.readHead(runId)) === undefined) {
    const head = await newHead(deps, { ...request, runId });
    if (await deps.store.createRunWithSignal(head, deps.random.hex(16), signal)) {
      await wakeRun(deps, runId);
      return { runId, deduplicated: false };
    }
  }
  const answer = await deps.store.putInbox(signal);
  if (answer === 'run_ended' || answer === 'run_not_found') {
    throw new EngineError('RUN_ENDED', 'the run of this key has ended, and takes no signal');
  }
  await wakeRun(deps, runId);
  return { runId, deduplicated: true };
}

/** The head of a run that is about to be put. @throws EngineError like startRun */
export async function newHead(
  deps: Deps,
  request: StartRequest & Pick<RunHead, 'runId'> & Partial<Pick<RunHead, 'parent' | 'previousRunId'>>,
): Promise<RunHead> {
  const workflow = deps.app.workflows.get(request.workflow);
  if (workflow === undefined) {
    const known = [...deps.app.workflows.keys()].join(', ') || 'none';
    throw new EngineError('WORKFLOW_NOT_FOUND', `no workflow is named "${request.workflow}"; there is ${known}`);
  }
  const input = await validInput(workflow, request.input);
  const { key, parent, previousRunId, tags, timeoutMs } = request;
  if (tags !== undefined) checkTags(tags);
  const nowMs = deps.clock.nowMs();
  const startAtMs = request.delayMs === undefined ? undefined : nowMs + checkDelay(request.delayMs);
  return {
    runId: request.runId,
    workflow: workflow.name,
    version: workflow.version,
    status: 'running',
    ...(input === undefined ? {} : { input }),
    seed: deps.random.hex(16),
    createdAtMs: nowMs,
    ...(key === undefined ? {} : { key }),
    ...(startAtMs === undefined ? {} : { startAtMs }),
    ...(timeoutMs === undefined ? {} : { deadlineAtMs: deadline(startAtMs ?? nowMs, timeoutMs) }),
    ...(parent === undefined ? {} : { parent }),
    ...(previousRunId === undefined ? {} : { previousRunId }),
    ...(tags === undefined ? {} : { tags }),
    inboxCount: 0,
    dueSeq: 0,
    blocks: 0,
    ...(deps.bus === undefined ? {} : { publishedSeq: 0 }),
    // Guards the first wake.
    dueAtMs: startAtMs ?? nowMs,
  };
}

function deadline(startAtMs: EpochMs, timeoutMs: number): EpochMs {
  if (Number.isFinite(timeoutMs) && timeoutMs > 0) return startAtMs + timeoutMs;
  throw new EngineError('INPUT_INVALID', `the timeout of a run must be more than 0 ms, got ${timeoutMs}`);
}

function checkDelay(delayMs: number): number {
  if (Number.isFinite(delayMs) && delayMs >= 0 && delayMs <= startDelayMaxMs) return delayMs;
  throw new EngineError(
    'INPUT_INVALID',
    `the delay of a start must be from 0 to ${startDelayMaxMs} ms, got ${delayMs}`,
  );
}

function checkTags(tags: Readonly<Record<string, string>>): void {
  const entries = Object.entries(tags);
  const fits =
    entries.length <= tagsMax &&
    entries.every(([name, value]) => name !== '' && name.length <= 64 && value.length <= 256);
  if (!fits)
    throw new EngineError(
      'INPUT_INVALID',
      `tags must be at most ${tagsMax}, with names of 1 to 64 characters and values of at most 256`,
    );
}

function checkKey(key: string): void {
  if (key === '' || !key.isWellFormed() || utf8Bytes(key) > idempotencyKeyMaxBytes) {
    throw new EngineError(
      'INPUT_INVALID',
      `an idempotency key must be well-formed text of 1 to ${idempotencyKeyMaxBytes} bytes, got ${utf8Bytes(key)}`,
    );
  }
}

/** The input as the workflow will see it: what its schema made of it, as JSON. @throws EngineError `INPUT_INVALID`, `PAYLOAD_TOO_LARGE` */
export async function validInput(workflow: AnyWorkflow, given: JsonValue | undefined): Promise<JsonValue | undefined> {
  const input = workflow.input === undefined ? given : await parseInput(workflow, given);
  if (input === undefined) return undefined;
  checkJsonBytes('the input is', jsonBytes(input));
  return input;
}

async function parseInput(workflow: AnyWorkflow, given: JsonValue | undefined): Promise<JsonValue | undefined> {
  const parsed = await workflow.input?.['~standard'].validate(given);
  if (parsed?.issues !== undefined) {
    // The first ones: a large input can be wrong in every part.
    const issues = parsed.issues.slice(0, issuesMax).map((issue) => ({
      path: issuePath(issue),
      message: cutUtf8(issue.message, issueTextBytes),
    }));
    const list = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
    const more = parsed.issues.length > issuesMax ? `; and ${parsed.issues.length - issuesMax} more` : '';
    throw new EngineError('INPUT_INVALID', `the input of workflow "${workflow.name}" is not valid: ${list}${more}`, {
      details: { issues },
    });
  }
  try {
    return toJson(parsed?.value);
  } catch {
    throw new EngineError('INPUT_INVALID', `the schema of workflow "${workflow.name}" gives a value that is not JSON`);
  }
}
