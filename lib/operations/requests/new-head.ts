import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { lazy } from '../../base/lazy.js';
import { cutUtf8, toJson, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { issuesMax, issueTextBytes, tagNameMaxChars, tagsMax, tagValueMaxChars } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { EpochMs } from '../../base/time.js';
import { validate, type Validated, textOfIssues } from '../../base/validate.js';
import type { RunCallback } from '../../history/push-config.js';
import type { RunHead } from '../../history/records.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import type { Deps } from '../deps.js';
import { inTime } from '../in-time.js';
import { limitKeyOf } from './limit-key.js';

/** Loads the check of callbacks, which few starts have. */
export const loadCheckCallback = lazy(() => import('./check-callback.js'));

/** Longest delay of a start. */
const startDelayMaxMs = 365 * 24 * 3_600_000;
/** Time limit of a schema; when it is over, the input is refused. */
const schemaTimeoutMs = 10_000;

export interface StartRequest {
  readonly workflow: string;
  readonly input?: JsonValue;
  /** Starts of one workflow with the same key are deduplicated, for as long as the run is kept. */
  readonly key?: string;
  /** The run starts after this delay; at most 365 days. */
  readonly delayMs?: number;
  /** The run fails with `RUN_TIMED_OUT` unless it ends within this time from its start. */
  readonly timeoutMs?: number;
  /**
   * Runs of one workflow with the same concurrency key are never under way at the same time. Refused for a workflow
   * that computes its own.
   */
  readonly concurrencyKey?: string;
  /** Shown in lists and filtered by: at most 10, names of at most 64 characters, values of at most 256. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Where the end of the run is told, or that of the last run it continues as. */
  readonly callback?: RunCallback;
  /** W3C trace context of the caller, to which the trace of the run belongs. */
  readonly traceparent?: string;
}

export interface StartedRun {
  readonly runId: RunId;
  /** The key was known: this start had no effect. */
  readonly deduplicated: boolean;
  /** The run has waited for the last of several starts, and has the input of this one now. */
  readonly debounced?: boolean;
}

/** @throws EngineError `KEY_REUSED` if the existing run was started with other content, as far as that is known */
export function sameStart(
  { runId, sentDigest: known }: Pick<RunHead, 'runId' | 'sentDigest'>,
  sentDigest: string | undefined,
): StartedRun {
  if (known !== undefined && sentDigest !== undefined && known !== sentDigest)
    throw new EngineError(
      'KEY_REUSED',
      'the key was used before to start with another input, tags, delay, timeout or callback',
      {
        details: { runId, usedDigest: known, sentDigest },
      },
    );
  return { runId, deduplicated: true };
}

/** Creates the head of a run that is about to be put. @throws EngineError like startRun */
export async function newHead(
  deps: Deps,
  request: StartRequest &
    Pick<RunHead, 'runId'> &
    Partial<
      Pick<RunHead, 'id' | 'parent' | 'previousRunId' | 'sentDigest' | 'afterRunId' | 'owner' | 'tenant' | 'calls'>
    >,
): Promise<RunHead> {
  const workflow = deps.app.workflows.get(request.workflow);
  if (workflow === undefined) {
    const known = [...deps.app.workflows.keys()].join(', ') || 'none';
    throw new EngineError(
      'WORKFLOW_NOT_FOUND',
      `no workflow is named "${request.workflow}"; known workflows: ${known}`,
    );
  }
  const input = await validInput(deps, workflow, request.input);
  const { id, key, parent, previousRunId, traceparent, tags, timeoutMs, sentDigest, afterRunId, calls } = request;
  const { callback } = request;
  const concurrencyKey = concurrencyKeyOf(workflow, input, request.concurrencyKey);
  if (tags !== undefined) checkTags(tags);
  if (callback !== undefined) await (await loadCheckCallback()).checkCallback(deps, workflow, callback);
  const nowMs = deps.clock.nowMs();
  const startAtMs = request.delayMs === undefined ? undefined : nowMs + checkDelay(request.delayMs);
  return {
    runId: request.runId,
    workflow: workflow.name,
    version: workflow.version,
    status: 'running',
    ...defined({ input }),
    seed: deps.random.hex(16),
    createdAtMs: nowMs,
    ...defined({
      id,
      key,
      sentDigest,
      afterRunId,
      calls,
      lane: concurrencyKey === undefined ? undefined : { key: concurrencyKey },
      startAtMs,
      deadlineAtMs: timeoutMs === undefined ? undefined : deadline(startAtMs ?? nowMs, timeoutMs),
      parent,
      previousRunId,
      traceparent,
      tags,
      callback,
      owner: request.owner ?? deps.caller?.id,
      tenant: request.tenant ?? deps.caller?.tenant,
    }),
    inboxCount: 0,
    dueSeq: 0,
    blocks: 0,
    ...defined({ publishedSeq: deps.bus === undefined ? undefined : 0 }),
    // Guards the first wake.
    dueAtMs: startAtMs ?? nowMs,
  };
}

/** @throws EngineError `INPUT_INVALID` */
function concurrencyKeyOf(
  { name, flowControl }: AnyWorkflow,
  input: JsonValue | undefined,
  given: string | undefined,
): string | undefined {
  const concurrency = flowControl?.concurrency;
  if (concurrency !== undefined && given !== undefined)
    throw new EngineError('INPUT_INVALID', `workflow "${name}" computes its concurrency keys: a start takes none`);
  return limitKeyOf(concurrency === undefined ? () => given : concurrency.key, input, 'a concurrency key');
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
  if (entries.length > tagsMax)
    throw new EngineError('INPUT_INVALID', `there are at most ${tagsMax} tags, got ${entries.length}`);
  for (const [name, value] of entries) {
    checkName(name, 'the name of a tag', { maxChars: tagNameMaxChars });
    if (value.length > tagValueMaxChars || !value.isWellFormed())
      throw new EngineError(
        'INPUT_INVALID',
        `the value of the tag "${name}" must be well-formed text of at most ${tagValueMaxChars} characters`,
      );
  }
}

/**
 * Returns the input as the workflow will see it: the output of its schema, as JSON.
 * @throws EngineError `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`
 */
export async function validInput(
  deps: Pick<Deps, 'delay'>,
  workflow: AnyWorkflow,
  given: JsonValue | undefined,
): Promise<JsonValue | undefined> {
  const input = workflow.input === undefined ? given : await parseInput(deps, workflow, workflow.input, given);
  if (input === undefined) return undefined;
  checkJsonBytes('the input is', jsonBytes(input));
  return input;
}

async function parseInput(
  deps: Pick<Deps, 'delay'>,
  workflow: AnyWorkflow,
  schema: NonNullable<AnyWorkflow['input']>,
  given: JsonValue | undefined,
): Promise<JsonValue | undefined> {
  const answer = validate(schema, given);
  const validated = answer instanceof Promise ? await inSchemaTime(deps, answer) : answer;
  if (!validated.isValid) {
    // Only the first few: a large input can be wrong in every part.
    const issues = validated.issues
      .slice(0, issuesMax)
      .map(({ path, message }) => ({ path, message: cutUtf8(message, issueTextBytes) }));
    const list = textOfIssues(issues);
    const more = validated.issues.length > issuesMax ? `; and ${validated.issues.length - issuesMax} more` : '';
    throw new EngineError('INPUT_INVALID', `the input of workflow "${workflow.name}" is not valid: ${list}${more}`, {
      details: { issues },
    });
  }
  try {
    return toJson(validated.value);
  } catch {
    throw new EngineError(
      'INPUT_INVALID',
      `the schema of workflow "${workflow.name}" returned a value that is not JSON`,
    );
  }
}

/** Limits the time of a schema that validates asynchronously; a turn must not wait forever. */
function inSchemaTime(deps: Pick<Deps, 'delay'>, validating: Promise<Validated>): Promise<Validated> {
  return inTime(deps, schemaTimeoutMs, validating, () => {
    const message = `the schema did not answer within ${schemaTimeoutMs / 1_000} s`;
    return { isValid: false, issues: [{ path: '', message }] };
  });
}
