import { defined } from '../../base/defined.js';
import { isUnreadable, type StoredError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import {
  longStepBeatMs,
  longStepLeaseMs,
  longStepResendMs,
  longStepReserveMs,
  sweepIntervalMs,
} from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { blockedRetryAtMs } from '../../decide/deadline.js';
import type { OpenLongStep, OpenWait } from '../../history/run-state.js';
import type { StepMessage } from '../../queue/queue.js';
import type { RunStep } from '../../replay/command.js';
import type { LongStepRecord, Settlement, TokenRecord } from '../../history/records.js';
import { askedOfWorker, isPast, replayForWorker } from '../asked-of-worker.js';
import type { Deps } from '../deps.js';
import { interruption } from '../../decide/step-interruption.js';
import { isStoreTrouble, persistWithin, type Persist } from '../persist.js';
import { runStep, type StepEvent } from './run-step.js';
import type { TurnLimits } from '../turn-limits.js';
import { stepAt, wakeRunFor } from '../wake.js';

export type LongStepResult =
  | 'settled'
  /** The attempt failed and another one is due. */
  | 'failed'
  /** Not begun for now: the run is paused, blocked or about to end, or too little time was left. The sweep comes back to it. */
  | 'put off'
  /** The message was for a due instant that is no longer the item's, or nobody waits for the step any more. */
  | 'stale'
  /** During the attempt the step was settled or closed, or another worker took over; what the attempt gives is dropped. */
  | 'lost'
  /** The store did not take what the attempt gave, for as long as there was time: it is made again, and was no strike. */
  | 'given up';

/** A token of a long step that is open and due. */
type StepToken = TokenRecord & { readonly step: LongStepRecord; readonly dueAtMs: EpochMs };

/**
 * Runs one attempt of a long step and settles its token, or records the failure and when the next attempt is due.
 *
 * L1  An attempt runs under a claim: one conditional write on the due instant that was read, which counts a strike. None
 *     begins before the lease of the one before has run out.
 * L2  While it runs, the claim is kept by beats, each conditional on the claim's writer id and on no settlement. A beat
 *     that is refused ends the attempt. Without beats the lease runs out, and the due instant is that of the next attempt.
 * L3  A failure is recorded under the claim and takes the strikes back. A strike that stands is a worker that died: one
 *     that cannot record the end of its attempt tries as long as it has time, keeps its claim by beats meanwhile, and then
 *     says in a message that it lives; the next claim counts no strike in its place.
 * L4  A success settles if there is no settlement, whoever has the claim: the work is done.
 * L5  Nothing of the run is written but its token, so a run that cannot be replayed here only puts the attempt off.
 */
export async function runLongStep(deps: Deps, message: StepMessage, limits: TurnLimits): Promise<LongStepResult> {
  try {
    const token = await readDue(deps, message);
    const isUnharmed = token !== undefined && token.writerId === message.unharmed;
    return token === undefined ? 'stale' : await attend(deps, token, isUnharmed, limits);
  } catch (error) {
    if (isStoreTrouble(error) && message.unharmed !== undefined) {
      // Given back, it would come long after the sweep's, which does not say that nobody died.
      await deps.queues.sendStep(message, longStepResendMs);
      return 'put off';
    }
    if (!isUnreadable(error)) throw error;
    // Another delivery would not read it either; its marker stands.
    deps.log.warn('long step skipped: it cannot be read', {
      runId: message.runId,
      waitId: message.waitId,
      code: error.code,
      reason: error.message,
    });
    return 'stale';
  }
}

async function readDue(deps: Deps, message: StepMessage): Promise<StepToken | undefined> {
  const { runId, waitId, dueAtMs, unharmed } = message;
  const token = await deps.store.readToken(runId, waitId);
  if (token?.step === undefined) return undefined;
  if (token.settlement !== undefined) {
    // Consumed settlements have no marker. This one may have lost its wake.
    if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });
    return undefined;
  }
  if (token.dueAtMs === undefined) return undefined;
  // Its worker has given the attempt up, whatever lease it has.
  if (unharmed !== undefined && token.writerId === unharmed)
    return { ...token, step: token.step, dueAtMs: token.dueAtMs };
  if (token.dueAtMs !== dueAtMs) return undefined;
  // Its worker is alive, and this message early: clocks differ.
  const isLeased = token.step.strikes > 0 && dueAtMs > deps.clock.nowMs();
  return isLeased ? undefined : { ...token, step: token.step, dueAtMs };
}

async function attend(deps: Deps, token: StepToken, isUnharmed: boolean, limits: TurnLimits): Promise<LongStepResult> {
  const { runId, waitId } = token;
  const persist = persistWithin(deps, limits);
  const nowMs = deps.clock.nowMs();
  if (token.deadlineAtMs !== undefined && token.deadlineAtMs <= nowMs)
    return settle(deps, token, persist, 'timeout', { kind: 'timed_out' }, { onlyIfDeadlineIs: token.deadlineAtMs });

  const records = await deps.store.readRun(runId);
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
  // A scope that was cancelled, a lost race: the turn closes the token.
  if (command?.kind !== 'runStep') return 'stale';
  if (limits.remainingMs() < command.policy.timeoutMs + longStepReserveMs) return 'put off';

  // Not at most once: what such an attempt gave is lost, but it was made.
  const strikes = token.step.strikes - (isUnharmed && !command.policy.atMostOnce ? 1 : 0);
  const error = interruption(command, strikes);
  if (error !== undefined) return settle(deps, token, persist, 'step', failure(error), { onlyIfDueIs: token.dueAtMs });
  const begun = { ...token, step: { ...token.step, strikes } };
  return attempt(deps, begun, { ...asked, runEndsAtMs: records.head.deadlineAtMs }, command, persist);
}

function isLongStep(wait: OpenWait): wait is OpenLongStep {
  return wait.kind === 'longStep';
}

/** No message: the sweep sends one when it is time. */
async function putOff(deps: Deps, { runId, waitId, dueAtMs }: StepToken, untilMs: EpochMs): Promise<LongStepResult> {
  await deps.store.moveStep(runId, waitId, { seenDueAtMs: dueAtMs, dueAtMs: untilMs });
  return 'put off';
}

async function attempt(
  deps: Deps,
  token: StepToken,
  { requestedAtMs, runEndsAtMs }: OpenLongStep & { readonly runEndsAtMs: EpochMs | undefined },
  command: RunStep,
  persist: Persist,
): Promise<LongStepResult> {
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
  const isClaimed = await persist(() => deps.store.claimStep(runId, waitId, claiming), needsMs);
  if (!isClaimed) return 'stale';
  // The store may have taken its time.
  if (isPast(runEndsAtMs, deps.clock.nowMs())) return 'put off';

  let reported: JsonValue | undefined;
  const lost = new AbortController();
  const done = new AbortController();
  const working = runStep(deps, runId, { requestedAtMs, ...step }, command, lost.signal, (progress) => {
    reported = progress;
  });
  const beating = keepClaim(deps, token, claim, () => reported, done.signal);
  const ended = await Promise.race([working, beating]);
  if (ended === 'lost') {
    lost.abort();
    return 'lost';
  }
  try {
    // The beats go on until it is recorded, or the lease could run out first.
    return await record(deps, token, claim, ended, persist);
  } catch (error) {
    if (!isStoreTrouble(error)) throw error;
    deps.log.warn('long step given up: the store does not take what it gave', { runId, waitId, error });
    await deps.queues.sendStep({ runId, waitId, dueAtMs: claiming.leaseUntilMs, unharmed: claim }, 0);
    return 'given up';
  } finally {
    done.abort('done');
  }
}

/** Beats until the attempt is done. Resolves with `lost` when a beat is refused. */
async function keepClaim(
  deps: Deps,
  { runId, waitId }: StepToken,
  claim: string,
  reported: () => JsonValue | undefined,
  done: AbortSignal,
): Promise<'lost'> {
  let saved: JsonValue | undefined;
  for (;;) {
    await deps.delay(longStepBeatMs, done);
    // Nobody waits for an answer any more.
    if (done.aborted) return 'lost';
    const progress = reported();
    try {
      const stands = await deps.store.beatStep(runId, waitId, {
        writerId: claim,
        leaseUntilMs: deps.clock.nowMs() + longStepLeaseMs,
        ...defined({ progress: progress === undefined || progress === saved ? undefined : progress }),
      });
      if (!stands) return 'lost';
      saved = progress;
    } catch (error) {
      // The lease outlasts some of these.
      deps.log.warn('beat of a long step failed', { runId, waitId, error });
    }
  }
}

async function record(
  deps: Deps,
  token: StepToken,
  claim: string,
  event: StepEvent,
  persist: Persist,
): Promise<LongStepResult> {
  switch (event.type) {
    case 'StepCompleted':
      return settle(deps, token, persist, 'step', {
        kind: 'completed',
        result: event.result ?? null,
        isError: false,
        ...defined({ isVoid: event.result === undefined ? true : undefined }),
      });
    case 'StepFailed':
      return settle(deps, token, persist, 'step', failure(event.error), { onlyIfWriterIs: claim });
    case 'StepAttemptFailed': {
      const { runId, waitId } = token;
      const failed = {
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
      if (!(await persist(() => deps.store.recordStepFailure(runId, waitId, failed)))) return 'lost';
      await stepAt(deps, { runId, waitId, dueAtMs: event.retryAtMs }, event.retryAtMs);
      return 'failed';
    }
  }
}

function failure(error: StoredError): Settlement['outcome'] {
  return { kind: 'failed', error };
}

async function settle(
  deps: Deps,
  { runId, waitId }: StepToken,
  persist: Persist,
  by: 'step' | 'timeout',
  outcome: Settlement['outcome'],
  options: {
    readonly onlyIfDeadlineIs?: EpochMs;
    readonly onlyIfWriterIs?: string;
    readonly onlyIfDueIs?: EpochMs;
  } = {},
): Promise<LongStepResult> {
  const settlement: Settlement = { writerId: deps.random.hex(16), atMs: deps.clock.nowMs(), by, outcome };
  const { settled } = await persist(() => deps.store.settle(runId, waitId, settlement, options));
  if (!settled) return 'lost';
  await wakeRunFor(deps, runId, { waitId });
  return 'settled';
}
