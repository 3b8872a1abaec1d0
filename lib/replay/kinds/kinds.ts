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

/** The kinds of wait, by the command that asks for one. A new command does not compile until it has a kind. */
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

/** The kind of a command. Its methods must be given commands and events of that kind, which the types do not say. */
export function kindOf(command: Command): AnyKind {
  return kinds[command.kind];
}

/** Says whether the event records a command. */
export function isRequest(event: HistoryEvent): event is RequestEvent {
  return event.type in byEventType;
}

/** Says whether the event ends a wait by itself. */
export function isEnd(event: HistoryEvent): event is EndEvent {
  return event.type in ends;
}

/** Makes the event that records a command; deadlines run from `atMs`. */
export function toRequestEvent(command: Command, atMs: EpochMs): RequestEvent {
  const kind = kindOf(command);
  return { type: kind.eventType, atMs, waitId: command.waitId, ...kind.details(command, atMs) } as RequestEvent;
}

/** Says whether the code asks for what the history has at this point. */
export function isSame(recorded: RequestEvent, asked: Command): boolean {
  const kind = kindOf(asked);
  return kind.eventType === recorded.type && kind.identity(recorded) === kind.identity(asked);
}

/** Names what is recorded or asked for, for messages. */
export function describe(wait: RequestEvent | Command): string {
  return ('kind' in wait ? kindOf(wait) : byEventType[wait.type]).describe(wait);
}

/** What an event gives the wait that it ends. */
export function givenBy(event: EndEvent): Given {
  return (ends[event.type] as (event: EndEvent) => Given)(event);
}

/** Says whether the end of the run leaves what was asked for to go on. */
export function outlivesRun(command: Command): boolean {
  return kindOf(command).outlivesRun?.(command) === true;
}
