import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import { startRoundsMax } from '../../base/limits.js';
import { outcomeOf } from '../../decide/outcome.js';
import { boundedQuestions } from '../../decide/questions.js';
import { startRetryDelayMs } from '../../decide/retry.js';
import type { TokenRecord } from '../../history/records.js';
import { questionIdOf, type RemoteAnswer } from '../../history/remote-question.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { StartReply, StartRequest } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import { lostStart } from './look-for-task.js';
import { pushRegistrationOf } from './push-registration.js';
import { recordHandle } from './record-handle.js';
import { callKeyOf } from '../../replay/call-key.js';
import { about, sentTraceparent } from '../trace.js';
import {
  askedAgain,
  failAsAmbiguous,
  failStart,
  settleStart,
  type StartAttempt,
  type StartResult,
} from './start-attempt.js';

/** Makes the call of a claimed attempt. */
export async function callServer(attempt: StartAttempt): Promise<StartReply> {
  const { deps, start, number } = attempt;
  const { waitId, server } = start.command;
  const startMs = deps.clock.nowMs();
  const reply = await call(attempt);
  const { runId, traceparent } = start;
  deps.spans?.record({
    kind: 'start',
    run: { runId, traceparent },
    ...{ waitId, attempt: number, server, result: reply.kind, startMs },
    endMs: deps.clock.nowMs(),
    error: 'error' in reply ? reply.error.code : undefined,
  });
  return reply;
}

async function call({ deps, start, number, target, token }: StartAttempt): Promise<StartReply> {
  const { runId, wait, command } = start;
  const { request } = command;
  const { transport } = target;
  if (request.kind !== 'attach')
    return transport.start({
      request,
      idempotencyKey: callKeyOf(deps, runId, command),
      answersQuestions: command.answersQuestions,
      ...continuationOf(wait, token),
      ...defined({
        untilMs: start.callUntilMs,
        calls: start.calls,
        push: pushRegistrationOf(deps, command.server, { runId, waitId: wait.waitId }),
        traceparent: sentTraceparent(deps, start, about.start(wait.waitId, number)),
      }),
    });
  const reply = await transport.adopt?.({ ...request, answersQuestions: command.answersQuestions });
  return (
    reply ?? {
      kind: 'refused',
      error: storedError('REMOTE_START_REFUSED', 'the server does not support attaching to a task'),
    }
  );
}

/** Returns the answers to the last questions of the server, under its own keys. */
function continuationOf(wait: OpenRemoteTask, { questions }: TokenRecord): Pick<StartRequest, 'continuation'> {
  if (questions?.round === undefined || questions.round !== wait.rounds) return {};
  const { list, round, state } = questions;
  const answers: Record<string, RemoteAnswer> = {};
  for (const question of list) {
    const answer = wait.answers.get(questionIdOf({ question, round }));
    if (answer !== undefined) answers[question.key] = answer;
  }
  return { continuation: { answers, ...defined({ state }) } };
}

/** Stores what a reply brings (a handle, questions, the end of the wait), or returns what to commit. */
export async function takeReply(attempt: StartAttempt, reply: StartReply): Promise<StartResult> {
  const { deps, start, target, token } = attempt;
  const { runId, wait, command, persist } = start;
  const { transport, isFoundAgain } = target;
  switch (reply.kind) {
    case 'started': {
      const byWorker = start.callUntilMs !== undefined;
      const task = { runId, wait, command, transport, isFoundAgain, token, persist, byWorker };
      return { token: await recordHandle(deps, task, reply) };
    }
    case 'asked':
      return takeQuestions(attempt, reply);
    case 'ended': {
      const outcome = outcomeOf(reply.end, command.server, 'start', reply.handle?.taskId);
      return settleStart(attempt, { by: 'start', outcome });
    }
    case 'refused':
      return failStart(attempt, withServer(reply.error, command));
    case 'unknown':
      if (!target.mayRepeat) return lostStart(attempt, reply.error);
      return retryOrGiveUp(attempt, { ...reply, wasSent: command.request.kind !== 'attach' });
    case 'retry':
      return retryOrGiveUp(attempt, { ...reply, wasSent: false });
  }
}

async function takeQuestions(
  attempt: StartAttempt,
  { questions: asked, state }: Extract<StartReply, { readonly kind: 'asked' }>,
): Promise<StartResult> {
  const { deps, start, number, token } = attempt;
  const { runId, wait, command, persist } = start;
  const { server } = command;
  const round = wait.rounds + 1;
  const why = !command.answersQuestions
    ? 'but the call answers no questions'
    : round > startRoundsMax
      ? `more than ${startRoundsMax} times`
      : undefined;
  if (why !== undefined) {
    const message = `"${server}" asks for input before it starts, ${why}`;
    return failStart(attempt, storedError('REMOTE_START_REFUSED', message, { server }));
  }
  const questions = { list: boundedQuestions(asked), round, ...defined({ state }) };
  const record = () => deps.store.questions.recordOfStart(runId, wait.waitId, { attempt: number, questions });
  const now = await persist(record);
  return askedAgain({ ...attempt, token: now ?? token });
}

interface FailedAttempt {
  readonly error: StoredError;
  readonly retryAfterMs?: number;
  /** Whether a task may be running. */
  readonly wasSent: boolean;
}

async function retryOrGiveUp(
  attempt: StartAttempt,
  { error, retryAfterMs, wasSent }: FailedAttempt,
): Promise<StartResult> {
  const { deps, start, number, token } = attempt;
  const { runId, wait, command } = start;
  const { server } = command;
  const { waitId } = wait;
  // A start that ended with questions did not fail.
  const delayMs = startRetryDelayMs(number - wait.rounds, retryAfterMs);
  const atMs = deps.clock.nowMs();
  if (delayMs !== undefined) {
    deps.log.info('remote start failed', { runId, server, attempt: number, retryInMs: delayMs, code: error.code });
    const sent = wasSent ? { sent: true as const } : {};
    const retryAtMs = atMs + delayMs;
    return {
      token,
      attempted: { type: 'RemoteTaskStartFailed', atMs, waitId, attempt: number, error, retryAtMs, ...sent },
    };
  }
  if (wasSent || wait.mayRun === true) {
    const cause = `${error.message}). It was started ${number} times under one key, and no usable answer came`;
    return failAsAmbiguous(attempt, cause);
  }
  const message = `the remote task on "${server}" could not be started in ${number} attempts: ${error.message}`;
  return failStart(attempt, storedError('REMOTE_START_FAILED', message, { server, attempts: number }));
}

function withServer(error: StoredError, command: StartRemoteTask): StoredError {
  return { ...error, details: { server: command.server, ...error.details } };
}
