import { defined } from '../base/defined.js';
import type { EpochMs } from '../base/time.js';
import type { Command } from '../replay/command.js';
import type { RequestEvent } from '../replay/mismatch.js';

/** The event that records a command; deadlines run from it. */
export function toRequest(command: Command, atMs: EpochMs): RequestEvent {
  const { waitId } = command;
  switch (command.kind) {
    case 'runStep':
      return {
        type: 'StepRequested',
        atMs,
        waitId,
        name: command.name,
        ...(command.policy.long ? { long: true, ...deadline({ timeoutMs: command.policy.deadlineMs }, atMs) } : {}),
      };
    case 'startTimer': {
      const { until } = command;
      // An instant that has passed is now.
      return {
        type: 'TimerStarted',
        atMs,
        waitId,
        firesAtMs: 'atMs' in until ? Math.max(until.atMs, atMs) : atMs + until.durationMs,
      };
    }
    case 'waitForSignal':
      return { type: 'SignalWaitStarted', atMs, waitId, name: command.name, ...deadline(command, atMs) };
    case 'startRemoteTask': {
      const { server, name, digest, input, timeoutMs } = command;
      const small = input === undefined ? {} : { input };
      const watched = command.watch ? { watch: true } : {};
      return {
        type: 'RemoteTaskRequested',
        atMs,
        waitId,
        server,
        name,
        digest,
        ...small,
        ...watched,
        deadlineAtMs: atMs + timeoutMs,
      };
    }
    case 'answerRemote': {
      const { callId, questionId, answer, digest } = command;
      return { type: 'RemoteAnswerRequested', atMs, waitId, callId, questionId, answer, digest };
    }
    case 'issueToken':
      return {
        type: 'ExternalWaitRequested',
        atMs,
        waitId,
        name: command.name,
        ...defined({ form: command.form }),
        ...deadline(command, atMs),
      };
    case 'startChild': {
      const { workflow, digest, childRunId, parentClose } = command;
      return {
        type: 'ChildRequested',
        atMs,
        waitId,
        workflow,
        digest,
        childRunId,
        parentClose,
        ...deadline(command, atMs),
      };
    }
  }
}

function deadline(
  { timeoutMs }: { readonly timeoutMs?: number | undefined },
  atMs: EpochMs,
): { readonly deadlineAtMs?: EpochMs } {
  return timeoutMs === undefined ? {} : { deadlineAtMs: atMs + timeoutMs };
}
