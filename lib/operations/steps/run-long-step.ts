import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { longStepResendMs, longStepReserveMs, sweepIntervalMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { blockedRetryAtMs } from '../../decide/deadline.js';
import type { OpenLongStep, OpenWait } from '../../history/run-state.js';
import type { StepMessage } from '../../queue/queue.js';
import type { RunStep } from '../../replay/command.js';
import type { LongStepRecord, RunHead, Settlement, TokenRecord } from '../../history/records.js';
import { askedOfWorker, isPast } from '../../decide/worker-wait.js';
import { replayForWorker } from '../replay-run.js';
import type { Deps } from '../deps.js';
import { interruption } from '../../decide/step-interruption.js';
import { isStoreFailure, persistWithin, type Persist } from '../persist.js';
import { newSettlement, settle } from '../settle-in-time.js';
import { skipUnreadable } from '../skip-unreadable.js';
import { runStep, type StepEvent } from './run-step.js';
import type { TurnLimits } from '../turn-limits.js';
import { stepAt, wakeRunFor } from '../wake.js';
import type { SettleGuard } from '../../store/run-store.js';

/** Interval of a worker's beats, by which it also learns that its step is no longer waited for. */
const longStepBeatMs = 20_000;
/**
 * Lease of a worker without a beat: three beats may fail, and the sweep, which looks a minute ahead, skips a live
 * worker.
 */
export const longStepLeaseMs = 90_000;

export type LongStepResult =
  | 'settled'
  /** The attempt failed and another one is due. */
  | 'failed'
  /** Not begun now: the run is paused, blocked or about to end, or too little time was left. The sweep retries. */
  | 'put off'
  /** The message is for an earlier due instant of the item, or the step is no longer waited for. */
  | 'stale'
  /** The step was settled or closed during the attempt, or another worker took over; the result is dropped. */
  | 'lost'
  /**
   * The store did not take the result while there was time: the attempt is repeated, and does not count as a strike.
   */
  | 'given up';

/** Token of a long step that is open and due. */
type StepToken = TokenRecord & { readonly step: LongStepRecord; readonly dueAtMs: EpochMs };

/** Work that a worker has in hand. */
interface StepWork {
  readonly token: StepToken;
  readonly persist: Persist;
}

type StepEnd = Pick<Settlement, 'by' | 'outcome'>;

/**
 * Runs one attempt of a long step and settles its token, or records the failure and when the next attempt is due.
 *
 * L1  An attempt runs under a claim: one conditional write on the due instant that was read, which counts a strike. No
 *     attempt begins before the lease of the previous one has expired.
 * L2  While it runs, beats keep the claim, each conditional on the claim's writer id and on no settlement. A refused
 *     beat ends the attempt. Without beats the lease expires at the due instant, which is that of the next attempt.
 * L3  A recorded failure, made under the claim, resets the strikes. A strike that remains is a worker that died. A
 *     worker that cannot record the end of its attempt retries as long as it has time, keeping its claim by beats, and
 *     then says in a message that it is alive; the next claim does not count its strike.
 * L4  A success settles if there is no settlement, whichever worker has the claim: the work is done.
 * L5  Only the token is written, nothing else of the run: a run that cannot be replayed here just delays the attempt.
 */
export async function runLongStep(deps: Deps, message: StepMessage, limits: TurnLimits): Promise<LongStepResult> {
  const { runId, waitId, unharmed } = message;
  try {
    const result = await skipUnreadable(deps, 'long step', { runId, waitId }, async () => {
      const token = await readDue(deps, message);
      return token === undefined ? undefined : attend(deps, token, token.writerId === unharmed, limits);
    });
    return result ?? 'stale';
  } catch (error) {
    if (!isStoreFailure(error) || unharmed === undefined) throw error;
    // Redelivered, it would come long after the sweep's message, which does not say that the worker is alive.
    await deps.queues.sendStep(message, longStepResendMs);
    return 'put off';
  }
}

async function readDue(deps: Deps, message: StepMessage): Promise<StepToken | undefined> {
  const { runId, waitId, dueAtMs, unharmed } = message;
  const token = await deps.store.tokens.read(runId, waitId);
  if (token?.step === undefined) return undefined;
  if (token.settlement !== undefined) {
    // Consumed settlements have no marker. The wake for this one may have been lost.
    if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });
    return undefined;
  }
  if (token.dueAtMs === undefined) return undefined;
  // Its worker has given the attempt up, so the lease does not matter.
  if (unharmed !== undefined && token.writerId === unharmed)
    return { ...token, step: token.step, dueAtMs: token.dueAtMs };
  if (token.dueAtMs !== dueAtMs) return undefined;
  // Its worker is alive, and this message is early: clocks differ.
  const isLeased = token.step.strikes > 0 && dueAtMs > deps.clock.nowMs();
  return isLeased ? undefined : { ...token, step: token.step, dueAtMs };
}

async function attend(deps: Deps, token: StepToken, isUnharmed: boolean, limits: TurnLimits): Promise<LongStepResult> {
  const { runId, waitId } = token;
  const work: StepWork = { token, persist: persistWithin(deps, limits) };
  const nowMs = deps.clock.nowMs();
  if (token.deadlineAtMs !== undefined && token.deadlineAtMs <= nowMs)
    return settleStep(deps, work, timeout, { kind: 'deadlineIs', deadlineAtMs: token.deadlineAtMs });

  const records = await deps.store.runs.read(runId);
  const asked = records === undefined ? undefined : askedOfWorker(records, waitId, isLongStep, nowMs);
  if (records === undefined || asked === undefined) return 'stale';
  if (asked === 'ends') return 'put off';
  if (asked === 'paused') return putOff(deps, token, nowMs + sweepIntervalMs);

  const execution = await replayForWorker(deps, records);
  if (execution === undefined || execution.status.kind === 'blocked') {
    deps.log.warn('long step put off: its run cannot be replayed', { runId, waitId });
    return putOff(deps, token, blockedRetryAtMs(token.step.sinceMs, nowMs));
  }
  const command = execution.command(waitId);
  // The scope was cancelled or a race lost: the turn closes the token.
  if (command?.kind !== 'runStep') return 'stale';
  if (limits.remainingMs() < command.policy.timeoutMs + longStepReserveMs) return 'put off';

  // Not for at most once: the result of such an attempt is lost, but it was made.
  const strikes = token.step.strikes - (isUnharmed && !command.policy.atMostOnce ? 1 : 0);
  const error = interruption(command, strikes);
  if (error !== undefined) return settleStep(deps, work, failed(error), { kind: 'dueIs', dueAtMs: token.dueAtMs });
  const begun = { ...token, step: { ...token.step, strikes } };
  return attempt(deps, { ...work, token: begun }, { ...asked, run: records.head }, command);
}

function isLongStep(wait: OpenWait): wait is OpenLongStep {
  return wait.kind === 'longStep';
}

/** Puts off the attempt. Sends no message: the sweep does when it is due. */
async function putOff(deps: Deps, { runId, waitId, dueAtMs }: StepToken, untilMs: EpochMs): Promise<LongStepResult> {
  await deps.store.longSteps.move(runId, waitId, { seenDueAtMs: dueAtMs, dueAtMs: untilMs });
  return 'put off';
}

async function attempt(
  deps: Deps,
  work: StepWork,
  { requestedAtMs, run }: OpenLongStep & { readonly run: RunHead },
  command: RunStep,
): Promise<LongStepResult> {
  const { token, persist } = work;
  const { runId, waitId, step } = token;
  const claim = deps.random.hex(16);
  const nowMs = deps.clock.nowMs();
  const claiming = {
    seenDueAtMs: token.dueAtMs,
    writerId: claim,
    strikes: step.strikes + 1,
    atMs: nowMs,
    leaseUntilMs: nowMs + longStepLeaseMs,
  };
  const needsMs = command.policy.timeoutMs + longStepReserveMs;
  const isClaimed = await persist(() => deps.store.longSteps.claim(runId, waitId, claiming), needsMs);
  if (!isClaimed) return 'stale';
  // The store may have been slow.
  if (isPast(run.deadlineAtMs, deps.clock.nowMs())) return 'put off';

  let reported: JsonValue | undefined;
  const lost = new AbortController();
  const done = new AbortController();
  const attempted = { run, step: command, soFar: { requestedAtMs, ...step }, abandon: lost.signal };
  const working = runStep(deps, attempted, (progress) => {
    reported = progress;
  });
  const beating = keepClaim(deps, { runId, waitId, claim }, () => reported, done.signal);
  const ended = await Promise.race([working, beating]);
  if (ended === 'lost') {
    lost.abort();
    return 'lost';
  }
  try {
    // Beats continue until the end is recorded, or the lease could expire first.
    return await record(deps, work, claim, ended);
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    deps.log.warn('long step given up: the store did not take its result', { runId, waitId, error });
    await deps.queues.sendStep({ runId, waitId, dueAtMs: claiming.leaseUntilMs, unharmed: claim }, 0);
    return 'given up';
  } finally {
    done.abort('done');
  }
}

/** Sends beats until the attempt is done. Resolves with `lost` if a beat is refused. */
async function keepClaim(
  deps: Deps,
  { runId, waitId, claim }: Pick<StepToken, 'runId' | 'waitId'> & { readonly claim: string },
  reported: () => JsonValue | undefined,
  done: AbortSignal,
): Promise<'lost'> {
  let saved: JsonValue | undefined;
  for (;;) {
    await deps.delay(longStepBeatMs, done);
    // The result is no longer used.
    if (done.aborted) return 'lost';
    const progress = reported();
    try {
      const stands = await deps.store.longSteps.beat(runId, waitId, {
        writerId: claim,
        leaseUntilMs: deps.clock.nowMs() + longStepLeaseMs,
        ...defined({ progress: progress === undefined || progress === saved ? undefined : progress }),
      });
      if (!stands) return 'lost';
      saved = progress;
    } catch (error) {
      // The lease outlasts a few failed beats.
      deps.log.warn('beat of a long step failed', { runId, waitId, error });
    }
  }
}

async function record(deps: Deps, work: StepWork, claim: string, event: StepEvent): Promise<LongStepResult> {
  switch (event.type) {
    case 'StepCompleted':
      return settleStep(deps, work, completed(event.result));
    case 'StepFailed':
      return settleStep(deps, work, failed(event.error), { kind: 'writerIs', writerId: claim });
    case 'StepAttemptFailed': {
      const { runId, waitId } = work.token;
      const failure = {
        claim,
        writerId: deps.random.hex(16),
        step: {
          failedAttempts: event.attempt,
          strikes: 0,
          sinceMs: event.atMs,
          lastError: event.error,
          ...defined({ progress: event.progress }),
        },
        dueAtMs: event.retryAtMs,
      };
      if (!(await work.persist(() => deps.store.longSteps.recordFailure(runId, waitId, failure)))) return 'lost';
      await stepAt(deps, { runId, waitId, dueAtMs: event.retryAtMs }, event.retryAtMs);
      return 'failed';
    }
  }
}

const timeout: StepEnd = { by: 'timeout', outcome: { kind: 'timed_out' } };

function failed(error: StoredError): StepEnd {
  return { by: 'step', outcome: { kind: 'failed', error } };
}

function completed(result: JsonValue | undefined): StepEnd {
  const isVoid = result === undefined ? true : undefined;
  return {
    by: 'step',
    outcome: { kind: 'completed', result: result ?? null, isError: false, ...defined({ isVoid }) },
  };
}

async function settleStep(
  deps: Deps,
  { token: { runId, waitId }, persist }: StepWork,
  end: StepEnd,
  guard?: SettleGuard,
): Promise<LongStepResult> {
  const settlement = newSettlement(deps, end);
  const { settled } = await persist(() => settle(deps, { runId, waitId }, settlement, guard));
  if (!settled) return 'lost';
  await wakeRunFor(deps, runId, { waitId });
  return 'settled';
}
