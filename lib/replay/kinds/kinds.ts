import type { EpochMs } from '../../base/time.js';
import type { HistoryEvent } from '../../history/event.js';
import type { Command } from '../command.js';
import { child } from './child.js';
import { externalToken } from './external-token.js';
import type { EventOf, Given, WaitEvent, WaitKind } from './kind.js';
import { remoteAnswer, remoteAnswerEnds } from './remote-answer.js';
import { remoteTask } from './remote-task.js';
import { signal, signalEnds } from './signal.js';
import { step, stepEnds } from './step.js';
import { timer, timerEnds } from './timer.js';

/** Kinds of waits by command. A new command does not compile until it has a kind. */
const kinds = {
  runStep: step,
  startTimer: timer,
  waitForSignal: signal,
  startRemoteTask: remoteTask,
  answerRemote: remoteAnswer,
  issueToken: externalToken,
  startChild: child,
} satisfies { readonly [Kind in Command['kind']]: WaitKind<Extract<Command, { kind: Kind }>, WaitEvent> };

/** Events that record a command. */
export type RequestEvent = EventOf<(typeof kinds)[Command['kind']]['eventType']>;

const ends = { ...stepEnds, ...timerEnds, ...signalEnds, ...remoteAnswerEnds };

/** Events that end a wait by themselves, without a token. */
export type EndEvent = EventOf<keyof typeof ends>;

type AnyKind = WaitKind<Command, RequestEvent>;

const byEventType = Object.fromEntries(Object.values(kinds).map((kind) => [kind.eventType, kind])) as Readonly<
  Record<RequestEvent['type'], AnyKind>
>;

/**
 * Returns the kind of a command. Its methods accept only commands and events of that kind, which the types do not say.
 */
export function kindOf(command: Command): AnyKind {
  return kinds[command.kind];
}

/** Returns true if the event records a command. */
export function isRequest(event: HistoryEvent): event is RequestEvent {
  return event.type in byEventType;
}

/** Returns true if the event ends a wait by itself. */
export function isEnd(event: HistoryEvent): event is EndEvent {
  return event.type in ends;
}

/** Creates the event that records a command; deadlines run from `atMs`. */
export function toRequestEvent(command: Command, atMs: EpochMs): RequestEvent {
  const kind = kindOf(command);
  return { type: kind.eventType, atMs, waitId: command.waitId, ...kind.details(command, atMs) } as RequestEvent;
}

/** Returns true if the code requests what the history has at this point. */
export function isSame(recorded: RequestEvent, asked: Command): boolean {
  const kind = kindOf(asked);
  return kind.eventType === recorded.type && kind.identity(recorded) === kind.identity(asked);
}

/** Describes what is recorded or requested, for messages. */
export function describe(wait: RequestEvent | Command): string {
  return ('kind' in wait ? kindOf(wait) : byEventType[wait.type]).describe(wait);
}

/** Returns the value or error that an event gives the wait that it ends. */
export function givenBy(event: EndEvent): Given {
  return (ends[event.type] as (event: EndEvent) => Given)(event);
}

/** Returns true if the requested work continues after the end of the run. */
export function outlivesRun(command: Command): boolean {
  return kindOf(command).outlivesRun?.(command) === true;
}
