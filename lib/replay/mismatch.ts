import { storedError, type StoredError } from '../base/errors.js';
import type {
  ChildRequested,
  ExternalWaitRequested,
  HistoryEvent,
  RemoteAnswerRequested,
  RemoteTaskRequested,
  SignalWaitStarted,
  StepRequested,
  TimerStarted,
} from '../history/event.js';
import type { Command } from './command.js';

/** The events that record a command. */
export type RequestEvent =
  | StepRequested
  | TimerStarted
  | SignalWaitStarted
  | RemoteTaskRequested
  | RemoteAnswerRequested
  | ExternalWaitRequested
  | ChildRequested;

const requestTypes: Record<RequestEvent['type'], Command['kind']> = {
  StepRequested: 'runStep',
  TimerStarted: 'startTimer',
  SignalWaitStarted: 'waitForSignal',
  RemoteTaskRequested: 'startRemoteTask',
  RemoteAnswerRequested: 'answerRemote',
  ExternalWaitRequested: 'issueToken',
  ChildRequested: 'startChild',
};

export function isRequest(event: HistoryEvent): event is RequestEvent {
  return event.type in requestTypes;
}

/** Why the recorded command is not the one that the code asks for now; undefined when it is. */
export function mismatchOf(recorded: RequestEvent, asked: Command | undefined): StoredError | undefined {
  if (asked !== undefined && isSame(recorded, asked)) return undefined;
  const recordedText = describeRecorded(recorded);
  const askedText = asked === undefined ? 'nothing at this point' : describeAsked(asked);
  const differs = recordedText === askedText ? ' (with other arguments)' : '';
  return storedError(
    'NONDETERMINISM',
    `wait ${recorded.waitId}: the history has ${recordedText}, the workflow now asks for ${askedText}${differs}. ` +
      'Deploy code that asks for the same waits in the same order; the run then goes on by itself.',
    { waitId: recorded.waitId, recorded: recordedText, asked: askedText + differs },
  );
}

function isSame(recorded: RequestEvent, asked: Command): boolean {
  if (requestTypes[recorded.type] !== asked.kind) return false;
  switch (asked.kind) {
    case 'runStep':
    case 'waitForSignal':
    case 'issueToken':
      return 'name' in recorded && asked.name === recorded.name;
    case 'startTimer':
      return true;
    case 'startRemoteTask':
    case 'answerRemote':
    case 'startChild':
      return 'digest' in recorded && asked.digest === recorded.digest;
  }
}

function describeRecorded(recorded: RequestEvent): string {
  switch (recorded.type) {
    case 'StepRequested':
      return `step "${recorded.name}"`;
    case 'TimerStarted':
      return 'a sleep';
    case 'SignalWaitStarted':
      return `signal "${recorded.name}"`;
    case 'RemoteTaskRequested':
      return `remote task "${recorded.name}" on "${recorded.server}"`;
    case 'RemoteAnswerRequested':
      return `an answer to the call of wait ${recorded.callId}`;
    case 'ExternalWaitRequested':
      return `token "${recorded.name}"`;
    case 'ChildRequested':
      return `child "${recorded.workflow}"`;
  }
}

function describeAsked(asked: Command): string {
  switch (asked.kind) {
    case 'runStep':
      return `step "${asked.name}"`;
    case 'startTimer':
      return 'a sleep';
    case 'waitForSignal':
      return `signal "${asked.name}"`;
    case 'startRemoteTask':
      return `remote task "${asked.name}" on "${asked.server}"`;
    case 'answerRemote':
      return `an answer to the call of wait ${asked.callId}`;
    case 'issueToken':
      return `token "${asked.name}"`;
    case 'startChild':
      return `child "${asked.workflow}"`;
  }
}
