import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import { inputIdOf, type RunId, type WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import { waitDueAtMs } from '../../decide/deadline.js';
import { isWithWorker } from '../../decide/worker-start.js';
import type { TokenRecord } from '../../history/records.js';
import type { BadReads } from '../../history/remote-end.js';
import type { WaitTask } from './task-view.js';
import type { OpenWait, WaitKind } from '../../history/open-wait.js';

/** An open wait of a run, for display. */
export interface WaitView extends WaitTask {
  readonly waitId: WaitId;
  readonly kind: WaitKind;
  /** Step, tool or skill. */
  readonly name?: string;
  readonly server?: string;
  /** The remote task, once it is known. */
  readonly taskId?: string;
  readonly sinceMs: EpochMs;
  /** A question to a person, and the id to answer it with. */
  readonly question?: string;
  readonly inputId?: string;
  /** Unanswered questions of the server of a remote task. */
  readonly questions?: readonly string[];
  /** When something happens next: the timer, the next attempt, the next read of the remote task. */
  readonly nextAtMs?: EpochMs;
  /** The run that a child wait waits for. */
  readonly childRunId?: RunId;
  readonly deadlineAtMs?: EpochMs;
  readonly failedAttempts?: number;
  readonly lastError?: StoredError;
  /** Consecutive reads of the remote task that did not return its state. */
  readonly failedReads?: number;
  /** Replies of its server that end the wait after three in a row. */
  readonly sightings?: BadReads;
  /** When the current attempt of a long step began; missing if there is none. */
  readonly runningSinceMs?: EpochMs;
  /** Until when its worker counts as alive without another sign of life. */
  readonly leaseUntilMs?: EpochMs;
  /** Attempts of a long step whose worker died, since the last failed one. */
  readonly interrupted?: number;
  /** Progress that the step last reported. */
  readonly progress?: JsonValue;
}

function questionsOf(
  wait: OpenWait,
  token: TokenRecord | undefined,
): Pick<WaitView, 'question' | 'inputId' | 'questions'> {
  if (wait.kind === 'external' && wait.form !== undefined && token !== undefined)
    return { question: wait.form.message, inputId: inputIdOf(token.runId, token.waitId) };
  if (wait.kind !== 'remoteTask') return {};
  const open = [...wait.asked].filter(([id]) => !wait.answers.has(id));
  return open.length === 0 ? {} : { questions: open.map(([, { question }]) => question.message) };
}

/** Returns the view of a wait, including what its token adds. */
export function toWaitView(wait: OpenWait, token: TokenRecord | undefined, nowMs: EpochMs): WaitView {
  const { waitId, kind, name, requestedAtMs: sinceMs } = wait;
  const running = token === undefined ? undefined : (runningStep(token, nowMs) ?? runningStart(token, nowMs));
  const nextAtMs = running === undefined ? (token?.dueAtMs ?? waitDueAtMs(wait)) : undefined;
  const strikes = Math.max(0, (token?.step?.strikes ?? 0) - (running === undefined ? 0 : 1));
  const retried = 'failedAttempts' in wait ? wait : token?.step;
  // Why a worker holds the start back, if it does.
  const lastError = token?.workerStart?.held ?? retried?.lastError;
  const progress = wait.kind === 'step' ? wait.progress : token?.step?.progress;
  return {
    waitId,
    kind,
    name,
    ...defined({
      server: wait.kind === 'remoteTask' ? wait.server : undefined,
      childRunId: wait.kind === 'child' ? wait.childRunId : undefined,
    }),
    ...questionsOf(wait, token),
    ...defined({
      deadlineAtMs: 'deadlineAtMs' in wait ? wait.deadlineAtMs : undefined,
      taskId: token?.handle === undefined ? undefined : token.handle.taskId,
    }),
    sinceMs,
    ...defined({
      nextAtMs,
      failedAttempts: retried === undefined || retried.failedAttempts === 0 ? undefined : retried.failedAttempts,
      lastError,
    }),
    ...readsOf(token),
    ...running,
    ...defined({ interrupted: strikes === 0 ? undefined : strikes, progress }),
  };
}

function readsOf(token: TokenRecord | undefined): Pick<WaitView, 'failedReads' | 'sightings'> {
  if (token === undefined || token.pollErrors === 0) return {};
  const { pollErrors: failedReads, sightings } = token;
  return { failedReads, ...defined({ sightings }) };
}

/** Returns the lease of a worker that waits for the answer to a start. */
function runningStart(token: TokenRecord, nowMs: EpochMs): Pick<WaitView, 'leaseUntilMs'> | undefined {
  const { untilMs = 0, came } = token.workerStart ?? {};
  const isUnderWay = isWithWorker(token, token.attempt) && came === undefined && untilMs > nowMs;
  return isUnderWay ? { leaseUntilMs: untilMs } : undefined;
}

/**
 * Returns the current attempt: its marker is the end of the lease. After an expired lease the worker counts as dead.
 */
function runningStep(
  { step, dueAtMs, settlement }: TokenRecord,
  nowMs: EpochMs,
): Pick<WaitView, 'runningSinceMs' | 'leaseUntilMs'> | undefined {
  if (step === undefined || step.strikes === 0 || settlement !== undefined) return undefined;
  return dueAtMs === undefined || dueAtMs <= nowMs
    ? undefined
    : { runningSinceMs: step.sinceMs, leaseUntilMs: dueAtMs };
}
