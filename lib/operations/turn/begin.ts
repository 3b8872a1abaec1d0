import { defined } from '../../base/defined.js';
import { answerReserveMs, startReserveMs } from '../../base/limits.js';
import { carriedBy } from '../../base/trace-context.js';
import type {
  OpenChild,
  OpenExternal,
  OpenLongStep,
  OpenRemoteAnswer,
  OpenRemoteTask,
  OpenWait,
} from '../../history/run-state.js';
import type { Command, StartChild, StartRemoteTask } from '../../replay/command.js';
import type { Execution } from '../../replay/execution.js';
import { beginRemoteStart } from '../remote-task/begin-remote-start.js';
import { newSettlement, settle } from '../settle-in-time.js';
import { beginStep } from './begin-step.js';
import { answerRemote } from '../remote-task/answer-remote.js';
import { hastenLongStep, requestLongStep } from '../steps/request-long-step.js';
import { loadRareParts } from './load-rare-parts.js';
import type { PassContext } from './pass-context.js';
import type { MovableWait } from './run-in-hand.js';

/** Concurrent remote starts, child starts and token hand-outs of one turn, so that a remote server is not flooded. */
export const outsideInParallel = 16;

/** Begins whatever the log requests that is not under way. Returns false if too little time was left for some of it. */
export function beginAll(pass: PassContext, execution: Execution): boolean {
  let hasTime = true;
  for (const wait of pass.run.state.open.values()) {
    if (pass.effects.has(wait.waitId)) continue;
    const command = execution.command(wait.waitId);
    if (pass.givenUp.has(wait.waitId)) hasTime = false;
    else if (command === undefined) letGo(pass, wait);
    else hasTime = begin(pass, wait, command) && hasTime;
  }
  return hasTime;
}

/** Has a case for each kind of wait. Returns false if too little time was left. */
function begin(pass: PassContext, wait: OpenWait, command: Command): boolean {
  switch (wait.kind) {
    case 'step':
      return command.kind !== 'runStep' || beginStep(pass, wait, command);
    case 'longStep':
      return beginLongStep(pass, wait);
    case 'remoteTask':
      return command.kind !== 'startRemoteTask' || beginRemote(pass, wait, command);
    case 'remoteAnswer':
      return beginAnswer(pass, wait);
    case 'external':
      return beginExternal(pass, wait);
    case 'child':
      return command.kind !== 'startChild' || beginChild(pass, wait, command);
    case 'timer':
    case 'signal':
      // Ended by time or by the inbox.
      return true;
  }
}

/** Asks a worker for the step, and for its next attempt if that is requested now. */
function beginLongStep(pass: PassContext, wait: OpenLongStep): true {
  const { deps, run, persist, hastened } = pass;
  const { waitId, retryNowAtMs } = wait;
  if (run.isSettled(wait) || expire(pass, wait) || isOutsideFull(pass)) return true;
  const { runId } = run.head;
  const traceparent = carriedBy(deps.digest, run.head);
  if (!run.tokens.has(waitId)) {
    pass.carryOut(wait, async () => {
      run.noteToken(await requestLongStep(deps, { runId, traceparent }, wait, persist));
      return undefined;
    });
  } else if (retryNowAtMs !== undefined && hastened.get(waitId) !== retryNowAtMs) {
    hastened.set(waitId, retryNowAtMs);
    pass.carryOut(wait, async () => {
      run.noteToken(await hastenLongStep(deps, { runId, waitId }, retryNowAtMs, persist));
      return undefined;
    });
  }
  return true;
}

function beginRemote(pass: PassContext, wait: OpenRemoteTask, command: StartRemoteTask): boolean {
  const { deps, run, persist, options, limits } = pass;
  const nowMs = pass.nowMs();
  if (run.isStarted(wait) || run.isLater(wait, nowMs) || isOutsideFull(pass)) return true;
  if (run.waitsForAnswers(wait, nowMs)) return true;
  if (run.isWithWorker(wait)) return true;
  // A start during which the process ends may leave a task that is unknown.
  if (limits.remainingMs() < startReserveMs) return false;
  const { turnId, called } = options;
  pass.carryOut(wait, async () => {
    const { runId, calls, deadlineAtMs: runEndsAtMs } = run.head;
    const traceparent = carriedBy(deps.digest, run.head);
    const start = { runId, traceparent, calls, wait, command, turnId, called, limits, runEndsAtMs, persist };
    const { token, attempted, heldUntilMs, isPutOff } = await beginRemoteStart(deps, start);
    if (isPutOff === true) pass.givenUp.add(wait.waitId);
    if (heldUntilMs !== undefined) run.heldUntilMs.set(wait.waitId, heldUntilMs);
    run.noteToken(token);
    return attempted;
  });
  return true;
}

function beginAnswer(pass: PassContext, wait: OpenRemoteAnswer): boolean {
  const { deps, run, limits } = pass;
  if (run.isLater(wait, pass.nowMs()) || isOutsideFull(pass)) return true;
  if (limits.remainingMs() < answerReserveMs) return false;
  const open = run.state.open.get(wait.callId);
  const call = open?.kind === 'remoteTask' ? open : undefined;
  pass.carryOut(wait, async () =>
    answerRemote(deps, run.head.runId, wait, { call, token: run.tokens.get(wait.callId) }),
  );
  return true;
}

function beginExternal(pass: PassContext, wait: OpenExternal): true {
  const { deps, run, persist } = pass;
  if (run.isSettled(wait) || expire(pass, wait) || wait.issued || isOutsideFull(pass)) return true;
  pass.carryOut(wait, async () => {
    const { runId, workflow, tenant } = run.head;
    const of = { runId, workflow, traceparent: carriedBy(deps.digest, run.head), ...defined({ tenant }) };
    const { issueToken } = await loadRareParts();
    const { token, issued } = await issueToken(deps, of, wait, persist);
    run.noteToken(token);
    return issued;
  });
  return true;
}

function beginChild(pass: PassContext, wait: OpenChild, command: StartChild): true {
  const { deps, run, persist } = pass;
  if (run.isSettled(wait) || expire(pass, wait) || wait.started || isOutsideFull(pass)) return true;
  pass.carryOut(wait, async () => {
    const { token, started } = await (
      await loadRareParts()
    ).startChild(deps, { parent: run.head, wait, command }, persist);
    run.noteToken(token);
    return started;
  });
  return true;
}

/** Settles a wait whose deadline has passed. Returns true if it has. */
function expire(pass: PassContext, wait: MovableWait): boolean {
  const { deps, run, persist } = pass;
  const { waitId } = wait;
  const deadlineAtMs = run.deadlineOf(wait);
  // An item that does not exist yet is put first, not settled.
  if (deadlineAtMs === undefined || deadlineAtMs > pass.nowMs() || !run.tokens.has(waitId)) return false;
  pass.carryOut(wait, async () => {
    const settlement = newSettlement(deps, { by: 'timeout', outcome: { kind: 'timed_out' } });
    const options = { kind: 'deadlineIs', deadlineAtMs } as const;
    const { runId } = run.head;
    const { token } = await persist(() => settle(deps, { runId, waitId }, settlement, options));
    run.noteToken(token);
    return undefined;
  });
  return true;
}

/** Closes the token of a wait that the workflow has dropped, and with it what runs elsewhere. */
function letGo(pass: PassContext, wait: OpenWait): void {
  const { deps, run, persist } = pass;
  if (!run.state.openTokens.has(wait.waitId) || run.isSettled(wait)) return;
  pass.carryOut(wait, async () => {
    const close = { writerId: deps.random.hex(16), atMs: pass.nowMs(), outcome: 'abandoned' } as const;
    run.noteToken(await persist(() => deps.store.tokens.close(run.head.runId, wait.waitId, close)));
    return undefined;
  });
}

function isOutsideFull({ effects }: PassContext): boolean {
  return effects.count('outside') >= outsideInParallel;
}
