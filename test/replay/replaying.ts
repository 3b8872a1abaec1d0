import { createHash } from 'node:crypto';
import type { StoredError } from '../../lib/base/errors.js';
import type { JsonValue } from '../../lib/base/json.js';
import { silentLog, type Log } from '../../lib/base/log.js';
import type { HistoryEvent } from '../../lib/history/event.js';
import type { StartFacts } from '../../lib/history/records.js';
import type { TokenOutcome } from '../../lib/history/settlement.js';
import { drainMicrotasks } from '../../lib/process/drain.js';
import type { Command } from '../../lib/replay/command.js';
import { Execution, replayBehaviors } from '../../lib/replay/execution.js';
import type { WorkflowContext } from '../../lib/workflow/context.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';

export type Run = (ctx: WorkflowContext, input: JsonValue | undefined) => Promise<unknown>;

export interface ReplayOptions {
  readonly input?: JsonValue;
  readonly runId?: string;
  readonly seed?: string;
  readonly start?: StartFacts;
  /** Settlements that `TokenSettled` events refer to, by wait id. */
  readonly settlements?: Readonly<Record<string, TokenOutcome>>;
  readonly log?: Log;
}

export function newExecution(run: Run, options: ReplayOptions = {}): Execution {
  return new Execution({
    workflow: defineWorkflow({ name: 'flow', run }),
    runId: options.runId ?? '0'.repeat(32),
    input: options.input,
    seed: options.seed ?? 'seed',
    start: options.start ?? { version: '1' },
    settlementOf: (waitId) => options.settlements?.[waitId],
    drain: drainMicrotasks,
    digest: (text) => createHash('sha256').update(text).digest('hex'),
    log: options.log ?? silentLog,
  });
}

/** Returns the execution of `run` after all of `events`. */
export async function replay(
  run: Run,
  events: readonly HistoryEvent[],
  options: ReplayOptions = {},
): Promise<Execution> {
  const execution = newExecution(run, options);
  for (const event of events) await execution.apply(event);
  return execution;
}

/** Returns what the workflow requests and no event records, in few words: `1 step a`. */
export function asked(execution: Execution): readonly string[] {
  return execution.newCommands(1_000).map(inWords);
}

export function inWords(command: Command): string {
  switch (command.kind) {
    case 'runStep':
      return `${command.waitId} step ${command.name}`;
    case 'startTimer':
      return `${command.waitId} sleep ${'atMs' in command.until ? `until ${command.until.atMs}` : command.until.durationMs}`;
    case 'startRemoteTask':
      return `${command.waitId} remote ${command.server}/${command.name}`;
    case 'answerRemote':
      return `${command.waitId} answer ${command.questionId}`;
    case 'waitForSignal':
      return `${command.waitId} signal ${command.name}`;
    case 'issueToken':
      return `${command.waitId} token ${command.name}`;
    case 'startChild':
      return `${command.waitId} child ${command.workflow}`;
  }
}

export function runStarted(atMs = 0, behaviors = replayBehaviors): HistoryEvent {
  return { type: 'RunStarted', atMs, workflow: 'flow', version: '1', behaviors };
}

export function stepRequested(waitId: string, name: string, atMs = 0): HistoryEvent {
  return { type: 'StepRequested', atMs, waitId, name };
}

export function stepCompleted(waitId: string, result?: JsonValue, atMs = 0): HistoryEvent {
  return { type: 'StepCompleted', atMs, waitId, attempt: 1, ...(result === undefined ? {} : { result }) };
}

export function stepFailed(waitId: string, error: Partial<StoredError> = {}): HistoryEvent {
  return {
    type: 'StepFailed',
    atMs: 0,
    waitId,
    attempt: 5,
    error: { code: 'STEP_FAILED', message: 'broken', ...error },
  };
}

export function timerStarted(waitId: string, firesAtMs = 60_000): HistoryEvent {
  return { type: 'TimerStarted', atMs: 0, waitId, firesAtMs };
}

export function timerFired(waitId: string, atMs = 60_000): HistoryEvent {
  return { type: 'TimerFired', atMs, waitId };
}

/** Returns the request of `{ server: 'reports', tool: 'export', arguments: { month: '2026-10' } }`. */
export function exportRequested(waitId: string): HistoryEvent {
  return {
    type: 'RemoteTaskRequested',
    atMs: 0,
    waitId,
    server: 'reports',
    name: 'export',
    digest: '5bbb5d0c6a136ec866eb090e49c6de9d4c27ac29fb4ea632efd51c3212579f40',
    input: { month: '2026-10' },
    deadlineAtMs: 86_400_000,
  };
}

export function tokenSettled(waitId: string, atMs = 0): HistoryEvent {
  return { type: 'TokenSettled', atMs, waitId };
}

export function cancelRequested(reason?: string, inboxId = 'cancel-1'): HistoryEvent {
  return { type: 'CancelRequested', atMs: 0, inboxId, ...(reason === undefined ? {} : { reason }) };
}
