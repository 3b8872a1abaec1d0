import { storedError, type StoredError } from '../base/errors.js';
import type { RemoteTaskRequested, StepRequested, TimerStarted } from '../history/event.js';
import type { Command } from './command.js';

/** The events that record a command. */
export type RequestEvent = StepRequested | TimerStarted | RemoteTaskRequested;

/** Why the recorded command is not the one that the code asks for now; undefined when it is. */
export function mismatchOf(recorded: RequestEvent, asked: Command | undefined): StoredError | undefined {
  if (asked !== undefined && isSame(recorded, asked)) return undefined;
  const recordedText = describeRecorded(recorded);
  const askedText = asked === undefined ? 'nothing at this point' : describeAsked(asked);
  const differs =
    recorded.type === 'RemoteTaskRequested' && asked?.kind === 'startRemoteTask' && recordedText === askedText
      ? ' (with other arguments)'
      : '';
  return storedError(
    'NONDETERMINISM',
    `wait ${recorded.waitId}: the history has ${recordedText}, the workflow now asks for ${askedText}${differs}. ` +
      'Deploy code that asks for the same waits in the same order; the run then goes on by itself.',
    { waitId: recorded.waitId, recorded: recordedText, asked: askedText + differs },
  );
}

function isSame(recorded: RequestEvent, asked: Command): boolean {
  switch (recorded.type) {
    case 'StepRequested':
      return asked.kind === 'runStep' && asked.name === recorded.name;
    case 'TimerStarted':
      return asked.kind === 'startTimer';
    case 'RemoteTaskRequested':
      return asked.kind === 'startRemoteTask' && asked.digest === recorded.digest;
  }
}

function describeRecorded(recorded: RequestEvent): string {
  switch (recorded.type) {
    case 'StepRequested':
      return `step "${recorded.name}"`;
    case 'TimerStarted':
      return 'a sleep';
    case 'RemoteTaskRequested':
      return `remote task "${recorded.name}" on "${recorded.server}"`;
  }
}

function describeAsked(asked: Command): string {
  switch (asked.kind) {
    case 'runStep':
      return `step "${asked.name}"`;
    case 'startTimer':
      return 'a sleep';
    case 'startRemoteTask':
      return `remote task "${asked.name}" on "${asked.server}"`;
  }
}
