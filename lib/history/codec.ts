import { EngineError } from '../base/errors.js';
import { isJsonObject, type JsonValue } from '../base/json.js';
import type { HistoryEvent } from './event.js';

/** Format of the history, written with every commit. A reader knows every format up to its own. */
export const historyFormat = 1;

const knownTypes: Record<HistoryEvent['type'], true> = {
  RunStarted: true,
  StepRequested: true,
  StepAttemptFailed: true,
  StepCompleted: true,
  StepFailed: true,
  TimerStarted: true,
  TimerFired: true,
  RemoteTaskRequested: true,
  RemoteTaskStarted: true,
  RemoteTaskStartFailed: true,
  RemoteTaskStartLost: true,
  RemoteTaskStartAsked: true,
  RemoteTaskProgressed: true,
  RemoteQuestionAsked: true,
  RemoteAnswerRequested: true,
  RemoteAnswerFailed: true,
  RemoteAnswerDelivered: true,
  RemoteAnswerRefused: true,
  TokenSettled: true,
  CancelRequested: true,
  TerminateRequested: true,
  StepStarted: true,
  SignalWaitStarted: true,
  SignalWaitTimedOut: true,
  SignalReceived: true,
  SignalDelivered: true,
  WaitsClosed: true,
  ExternalWaitRequested: true,
  ExternalWaitIssued: true,
  ChildRequested: true,
  ChildStarted: true,
  PatchRecorded: true,
  ProgressReported: true,
  ArtifactUpdated: true,
  MessageReceived: true,
  RunPaused: true,
  RunResumed: true,
  RetryNowRequested: true,
  RunEnding: true,
  RunEnded: true,
};

/** Returns the stored form of the events of one commit: `{ format, events }`. */
export function encodeEvents(events: readonly HistoryEvent[]): JsonValue {
  return { format: historyFormat, events: events as unknown as JsonValue };
}

/**
 * Reads what `encodeEvents` of this or an older version wrote.
 * @throws EngineError `HISTORY_FORMAT_UNKNOWN` for a newer format or an unknown event: a run must not be replayed by
 * code that would silently skip a part of it
 */
export function decodeEvents(stored: JsonValue): readonly HistoryEvent[] {
  if (!isJsonObject(stored) || !Array.isArray(stored['events'])) throw unknown('a commit must hold a list of events');
  if (stored['format'] !== historyFormat) {
    throw unknown(
      `this version reads history format ${historyFormat}, the commit has ${JSON.stringify(stored['format'])}`,
    );
  }
  const events = stored['events'] as readonly JsonValue[];
  for (const event of events) {
    const type = isJsonObject(event) ? event['type'] : undefined;
    if (typeof type !== 'string' || !Object.hasOwn(knownTypes, type))
      throw unknown(`this version does not know the event ${JSON.stringify(type)}`);
  }
  return events as unknown as readonly HistoryEvent[];
}

function unknown(message: string): EngineError {
  return new EngineError('HISTORY_FORMAT_UNKNOWN', message);
}
