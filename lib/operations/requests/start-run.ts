import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { lazy } from '../../base/lazy.js';
import { canonicalJson, cutUtf8, toJson, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import {
  idempotencyKeyMaxBytes,
  issuesMax,
  issueTextBytes,
  tagNameMaxChars,
  tagsMax,
  tagValueMaxChars,
} from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { EpochMs } from '../../base/time.js';
import { validate, type Validated, textOfIssues } from '../../base/validate.js';
import type { InboxRecord, RunHead } from '../../history/records.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import type { Deps } from '../deps.js';
import { deliver } from './inbox.js';
import { signalRecord, type SignalRequest } from './signal-run.js';
import { admitSignal, admitStart, refuseStart } from './tenant-admission.js';
import { wakeRun } from '../wake.js';

/** Loads what starts in lanes need: most workflows have none. */
export const loadLanes = lazy(() => import('./start-in-lane.js'));

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
}

export interface StartedRun {
  readonly runId: RunId;
  /** The key was known: this start had no effect. */
  readonly deduplicated: boolean;
}

/**
 * Starts a run: one put of its head, if absent. With a key the run id is a function of workflow and key, so the same
 * put finds the earlier start. A known key is answered before the schema is applied: what counts is what was sent.
 * @throws EngineError `WORKFLOW_NOT_FOUND`, `INPUT_INVALID` (details.issues), `PAYLOAD_TOO_LARGE`; `KEY_REUSED` if the
 * key was used before with another input, other tags, another delay or timeout (details: digests of both)
 */
export async function startRun(deps: Deps, request: StartRequest): Promise<StartedRun> {
  const { key } = request;
  if (key === undefined) return startOnce(deps, request, deps.random.hex(16));
  checkKey(key);
  return startOnce(deps, request, keyedRunId(deps, request.workflow, key), startDigest(deps, request));
}

/** Starts a run under a key of the engine's own. The key identifies the start, so its content is not compared. */
export async function startUnderOwnKey(
  deps: Deps,
  request: StartRequest & { readonly key: string },
): Promise<StartedRun> {
  return startOnce(deps, request, keyedRunId(deps, request.workflow, request.key));
}

async function startOnce(deps: Deps, request: StartRequest, runId: RunId, sentDigest?: string): Promise<StartedRun> {
  const known = request.key === undefined ? undefined : await deps.store.heads.read(runId);
  if (known !== undefined) return sameStart(known, sentDigest);
  const start = await admitStart(deps, await newHead(deps, { ...request, runId, ...defined({ sentDigest }) }));
  const { head, liveMax } = start;
  const found = await createRun(deps, head, { liveMax });
  if (found === 'full') return refuseStart(start);
  if (found !== undefined) return sameStart(found, sentDigest);
  await wakeRun(deps, runId);
  return { runId, deduplicated: false };
}

/**
 * Puts the head of a run, in its lane if it has one, and with it a first signal. Returns the head that exists if it was
 * put before; `full`: more runs of the tenant are live than `liveMax` allows.
 */
export async function createRun(
  deps: Deps,
  head: RunHead,
  more: { readonly signal?: InboxRecord; readonly liveMax?: number | undefined } = {},
): Promise<RunHead | 'full' | undefined> {
  if (head.lane !== undefined) return (await loadLanes()).createInLane(deps, head, more);
  const writerId = deps.random.hex(16);
  const isAlone = more.signal === undefined && more.liveMax === undefined;
  const { created, head: found } = isAlone
    ? await deps.store.heads.create(head, writerId)
    : await deps.store.heads.createWith(head, writerId, more);
  if (created) return undefined;
  return found ?? (more.liveMax === undefined ? undefined : 'full');
}

/**
 * Starts the run with this key, or finds it, and sends it a signal, in one atomic write: either way the signal is there
 * before the run can end. A run that continues as another one passes it on.
 * @throws EngineError like startRun, and like a signal; `RUN_ENDED` if the run with this key has ended
 */
export async function startOrSignal(
  deps: Deps,
  request: StartRequest & { readonly key: string; readonly signal: SignalRequest },
): Promise<StartedRun> {
  checkKey(request.key);
  const runId = keyedRunId(deps, request.workflow, request.key);
  const sentDigest = startDigest(deps, request);
  const signal = signalRecord(deps, runId, request.signal);
  let known = await deps.store.heads.read(runId);
  if (known === undefined) {
    const start = await admitStart(deps, await newHead(deps, { ...request, runId, sentDigest }));
    const { head, liveMax } = start;
    const found = await createRun(deps, head, { signal, liveMax });
    if (found === 'full') return refuseStart(start);
    if (found === undefined) {
      await wakeRun(deps, runId);
      return { runId, deduplicated: false };
    }
    known = found;
  }
  await admitSignal(deps, request.signal.payload);
  sameStart(known, sentDigest);
  if ((await deliver(deps, signal)).accepted) return { runId, deduplicated: true };
  throw new EngineError('RUN_ENDED', 'the run with this key has ended and takes no signal');
}

/** Returns the run id of a start with a key: equal keys of two tenants are different runs. */
function keyedRunId({ tokens, caller }: Deps, workflow: string, key: string): RunId {
  return tokens.keyedRunId(workflow, key, caller?.tenant);
}

/** Computes a digest of what was sent, before a schema is applied: a deployment between two sends must not matter. */
function startDigest(deps: Deps, request: StartRequest): string {
  const { workflow, input, tags, delayMs, timeoutMs, concurrencyKey } = request;
  const sent = {
    ...{ input: input ?? null, tags: tags ?? {}, delay: delayMs ?? null, timeout: timeoutMs ?? null },
    // Left out if undefined, so that the digests of earlier versions stay.
    ...defined({ concurrencyKey }),
  };
  return deps.tokens.sentDigest(`start ${workflow}\n${canonicalJson(sent)}`);
}

/** @throws EngineError `KEY_REUSED` if the existing run was started with other content, as far as that is known */
function sameStart({ runId, sentDigest: known }: RunHead, sentDigest: string | undefined): StartedRun {
  if (known !== undefined && sentDigest !== undefined && known !== sentDigest)
    throw new EngineError('KEY_REUSED', 'the key was used before to start with another input, tags, delay or timeout', {
      details: { runId, usedDigest: known, sentDigest },
    });
  return { runId, deduplicated: true };
}

/** Creates the head of a run that is about to be put. @throws EngineError like startRun */
export async function newHead(
  deps: Deps,
  request: StartRequest &
    Pick<RunHead, 'runId'> &
    Partial<Pick<RunHead, 'id' | 'parent' | 'previousRunId' | 'sentDigest' | 'afterRunId' | 'owner' | 'tenant'>>,
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
  const { id, key, parent, previousRunId, tags, timeoutMs, sentDigest, afterRunId } = request;
  const concurrencyKey = concurrencyKeyOf(workflow, input, request.concurrencyKey);
  if (tags !== undefined) checkTags(tags);
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
      lane: concurrencyKey === undefined ? undefined : { key: concurrencyKey },
      startAtMs,
      deadlineAtMs: timeoutMs === undefined ? undefined : deadline(startAtMs ?? nowMs, timeoutMs),
      parent,
      previousRunId,
      tags,
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
  { name, concurrency }: AnyWorkflow,
  input: JsonValue | undefined,
  given: string | undefined,
): string | undefined {
  if (concurrency !== undefined && given !== undefined)
    throw new EngineError('INPUT_INVALID', `workflow "${name}" computes its concurrency keys: a start takes none`);
  const key = concurrency === undefined ? given : concurrency.key(input);
  if (key !== undefined) checkName(key, 'a concurrency key', { maxBytes: idempotencyKeyMaxBytes });
  return key;
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

function checkKey(key: string): void {
  checkName(key, 'an idempotency key', { maxBytes: idempotencyKeyMaxBytes });
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
  const validated = answer instanceof Promise ? await inTime(deps, answer) : answer;
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
async function inTime({ delay }: Pick<Deps, 'delay'>, validating: Promise<Validated>): Promise<Validated> {
  const done = new AbortController();
  const late = delay(schemaTimeoutMs, done.signal).then((): Validated => {
    const message = `the schema did not answer within ${schemaTimeoutMs / 1_000} s`;
    return { isValid: false, issues: [{ path: '', message }] };
  });
  try {
    return await Promise.race([validating, late]);
  } finally {
    // An explicit reason: without one an error with a stack is built, which is never used.
    done.abort('done');
  }
}
