// A task as the revisions of MCP show it. Pure.

import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import { isFinal, type ServedTask } from '../task/served-task.js';
import { modern } from './call.js';
import { internalError } from './errors.js';
import { askable, inputRequests } from './elicitation.js';
import { pollMaxMs, pollMinMs } from './limits.js';
import { textOf, toolResult } from './tool-result.js';

/** A task is kept: it has no time to live. */
const keptForever = null;

/** Returns the fields that a task has in every answer of 2026-07-28. */
export function taskFields(task: ServedTask, nowMs: EpochMs, capabilities: JsonObject): JsonObject {
  const { status, statusMessage } = statusOf(task, capabilities);
  return {
    taskId: task.taskId,
    status,
    ...defined({ statusMessage }),
    createdAt: isoTime(task.createdAtMs),
    lastUpdatedAt: isoTime(task.status.atMs),
    ttlMs: keptForever,
    pollIntervalMs: pollIntervalMs(task, nowMs),
  };
}

/** Returns a task with its result, its error or its questions. */
export function detailedTask(task: ServedTask, nowMs: EpochMs, capabilities: JsonObject): JsonObject {
  const fields = taskFields(task, nowMs, capabilities);
  const { status } = statusOf(task, capabilities);
  if (status === 'completed') return { ...fields, result: toolResult(task, modern) };
  if (status === 'failed') return { ...fields, error: faultOf(task) };
  if (status !== 'input_required') return fields;
  return { ...fields, inputRequests: inputRequests(askable(task.questions, capabilities)) };
}

/** Returns the error that a task has come to which failed by a fault of the engine. */
export function faultOf({ status }: ServedTask): JsonObject {
  return { code: internalError, message: textOf(status.message) ?? 'The task failed.' };
}

/** Returns a task as 2025-11-25 writes it. Its clients are not asked: they say only at `initialize` what they can do. */
export function legacyTask(task: ServedTask, nowMs: EpochMs): JsonObject {
  const { status, statusMessage } = statusOf(task, {});
  const { state } = task.status;
  return {
    taskId: task.taskId,
    // A tool that reports an error has failed there, too.
    status: state === 'failed' || state === 'rejected' ? 'failed' : status,
    ...defined({ statusMessage }),
    createdAt: isoTime(task.createdAtMs),
    lastUpdatedAt: isoTime(task.status.atMs),
    ttl: keptForever,
    pollInterval: pollIntervalMs(task, nowMs),
  };
}

interface Shown {
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage?: string | undefined;
}

function statusOf(task: ServedTask, capabilities: JsonObject): Shown {
  const { state, message } = task.status;
  switch (state) {
    case 'submitted':
      return { status: 'working', statusMessage: 'The run waits for its turn.' };
    case 'working':
      return { status: 'working', statusMessage: textOf(message) };
    case 'input-required':
    case 'auth-required': {
      const [question] = task.questions ?? [];
      if (askable(task.questions, capabilities).length > 0)
        return { status: 'input_required', statusMessage: question?.message };
      return { status: 'working', statusMessage: `Waits for an answer: ${question?.message ?? ''}` };
    }
    case 'completed':
      return { status: 'completed' };
    case 'failed':
      return { status: task.isFault === true ? 'failed' : 'completed', statusMessage: textOf(message) };
    case 'rejected':
      return { status: 'completed', statusMessage: textOf(message) };
    case 'canceled':
      return { status: 'cancelled', statusMessage: 'The run was cancelled.' };
  }
}

/** Asks young tasks often, old ones seldom. */
function pollIntervalMs({ createdAtMs, status }: ServedTask, nowMs: EpochMs): number {
  if (isFinal(status.state)) return pollMinMs;
  return Math.round(Math.min(pollMaxMs, Math.max(pollMinMs, (nowMs - createdAtMs) / 10)));
}

function isoTime(ms: EpochMs): string {
  return new Date(ms).toISOString();
}
