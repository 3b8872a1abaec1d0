import { stepTimeoutMaxMs, turnReserveMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { interruption } from '../../decide/step-interruption.js';
import type { StepFailed, StepStarted } from '../../history/event.js';
import type { OpenStep } from '../../history/run-state.js';
import type { RunStep } from '../../replay/command.js';
import { runStep, stepDeadlinePassed } from '../steps/run-step.js';
import type { PassContext } from './pass-context.js';

export const stepsInParallel = 16;

/** Begins the next attempt of a step if it is due. Returns false if too little time was left. */
export function beginStep(pass: PassContext, wait: OpenStep, asked: RunStep): boolean {
  const { deps, run, effects, limits } = pass;
  const command = asked.policy.long ? inTurn(asked) : asked;
  if (run.isLater(wait, pass.nowMs()) || effects.count('step') >= stepsAtATime(pass)) return true;
  const { policy } = command;
  const atMs = pass.nowMs();
  const deadlineAtMs = policy.deadlineMs === undefined ? undefined : wait.requestedAtMs + policy.deadlineMs;
  if (deadlineAtMs !== undefined && deadlineAtMs <= atMs) {
    effects.results.push({ type: 'StepFailed', ...attemptOf(wait, atMs), error: stepDeadlinePassed(command) });
    return true;
  }
  const longestMs = Math.min(policy.timeoutMs, (deadlineAtMs ?? Infinity) - atMs);
  if (limits.remainingMs() < longestMs + turnReserveMs) return false;
  const first = effects.isAnnounced(wait) ? undefined : eventBefore(pass, wait, command, atMs);
  if (first !== undefined) {
    effects.results.push(first);
    return true;
  }
  effects.begun(wait, !policy.atMostOnce);
  pass.carryOut(
    wait,
    (abandon) => runStep(deps, { run: run.head, step: command, soFar: { ...wait, deadlineAtMs }, abandon }),
    'step',
  );
  return true;
}

/** Returns the event that must be in the log before the attempt: its start, or why it is not made. */
function eventBefore(
  pass: PassContext,
  wait: OpenStep,
  command: RunStep,
  atMs: EpochMs,
): StepFailed | StepStarted | undefined {
  const isUnharmed = isUnharmedStart(pass, wait);
  const error = interruption(command, wait.interrupted - (isUnharmed ? 1 : 0));
  if (error !== undefined) return { type: 'StepFailed', ...attemptOf(wait, atMs), error };
  if (!command.policy.atMostOnce && !isCareful(pass) && !isUnharmed) return undefined;
  const unharmed = isUnharmed ? { unharmed: true as const } : {};
  return { type: 'StepStarted', ...attemptOf(wait, atMs), ...unharmed };
}

function attemptOf(
  { waitId, failedAttempts }: OpenStep,
  atMs: EpochMs,
): Pick<StepStarted, 'atMs' | 'waitId' | 'attempt'> {
  return { atMs, waitId, attempt: failedAttempts + 1 };
}

/** Returns true if a turn that gave up has reported that no process died of the last start in the log. */
function isUnharmedStart({ options }: PassContext, { waitId, failedAttempts, begun }: OpenStep): boolean {
  return (options.unharmed ?? []).some(
    (start) => start.waitId === waitId && start.attempt === failedAttempts + 1 && start.begun === begun,
  );
}

/** Returns true if the message was delivered before: a process died with it, possibly because of a step. */
function isCareful({ limits }: PassContext): boolean {
  return (limits.deliveryCount ?? 1) > 1;
}

function stepsAtATime(pass: PassContext): number {
  return isCareful(pass) ? 1 : stepsInParallel;
}

/** Limits a step that was requested as a short one, and became a long one by a deployment, to the time of a turn. */
function inTurn(step: RunStep): RunStep {
  const timeoutMs = Math.min(step.policy.timeoutMs, stepTimeoutMaxMs);
  return { ...step, policy: { ...step.policy, timeoutMs } };
}
