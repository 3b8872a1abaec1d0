import type { StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { HistoryEvent } from '../history/event.js';
import type { ExportedEvent } from '../operations/views/read-history.js';
import { counted } from './counted.js';
import { formatOutcome } from './format.js';
import type { Screen } from './screen.js';
import { value } from './table.js';
import { at } from './times.js';

/** An event as the API returns it, or one that is in no commit yet. */
export type ShownEvent = HistoryEvent & Partial<Pick<ExportedEvent, 'settlement' | 'payload' | 'isMissing'>>;
type Type = HistoryEvent['type'];
type EventOf<T extends Type> = Extract<ShownEvent, { readonly type: T }>;

/** Says in a line what an event of one run is. Keeps the names of its waits: only the event that opens one has it. */
export class EventTexts {
  readonly #names = new Map<WaitId, string>();
  readonly #words: Words;

  constructor(screen: Screen) {
    this.#words = {
      screen,
      name: ({ waitId }) => this.#names.get(waitId) ?? `wait ${waitId}`,
      given: (given) => (given === undefined ? '' : `: ${value(given, screen)}`),
      at: (atMs) => at(atMs, screen),
    };
  }

  /** Returns the text of the next event, in the order of the history. An event of a newer engine is named by its type. */
  of(event: ShownEvent): string {
    const name = (names as Readonly<Partial<Record<Type, (event: ShownEvent) => string>>>)[event.type]?.(event);
    if (name !== undefined && 'waitId' in event) this.#names.set(event.waitId, name);
    const text = (texts as Readonly<Record<string, ((event: ShownEvent, words: Words) => string) | undefined>>)[
      event.type
    ];
    const { by: caller } = event as { readonly by?: string };
    const by = caller === undefined ? '' : ` (by ${caller})`;
    return (text === undefined ? event.type : text(event, this.#words)) + by;
  }
}

interface Words {
  readonly screen: Screen;
  /** Returns the name of a wait. */
  readonly name: (wait: { readonly waitId: WaitId }) => string;
  /** Returns a value after a colon; nothing without one. */
  readonly given: (value: JsonValue | undefined) => string;
  readonly at: (atMs: EpochMs) => string;
}

/** Names of waits, by the event that opens them. */
const names: { readonly [T in Type]?: (event: EventOf<T>) => string } = {
  StepRequested: ({ long, name }) => `${long === true ? 'long step' : 'step'} ${name}`,
  TimerStarted: ({ waitId }) => `timer ${waitId}`,
  SignalWaitStarted: ({ name }) => `signal ${name}`,
  RemoteTaskRequested: ({ name, server }) => `remote task ${name} on ${server}`,
  ExternalWaitRequested: ({ form, name }) => `${form === undefined ? 'token' : 'question'} ${name}`,
  ChildRequested: ({ workflow }) => `child ${workflow}`,
  RemoteAnswerRequested: ({ questionId }) => `answer to question ${questionId}`,
};

const texts: { readonly [T in Type]: (event: EventOf<T>, words: Words) => string } = {
  RunStarted: ({ workflow, version }) => `run started: ${workflow} (version ${version})`,
  StepRequested: (event, words) => opened(event, words),
  StepStarted: (event, { name }) => `${name(event)}: attempt ${event.attempt} begins`,
  StepAttemptFailed: attemptFailed,
  StepCompleted: (event, { name, given }) => `${name(event)} completed${given(event.result)}`,
  StepFailed: (event, { name }) => `${name(event)} failed: ${failure(event.error)}`,
  TimerStarted: (event, words) => `timer started (wait ${event.waitId}), fires ${words.at(event.firesAtMs)}`,
  TimerFired: ({ waitId }) => `timer fired (wait ${waitId})`,
  TokenSettled: (event, words) => `${words.name(event)} ${settled(event, words)}`,
  SignalWaitStarted: (event, words) => `waits for ${opened(event, words)}`,
  SignalWaitTimedOut: (event, { name }) => `${name(event)} timed out`,
  SignalReceived: ({ name, isMissing, payload }, { given }) =>
    `signal ${name} received${isMissing === true ? '; its payload is lost' : given(payload)}`,
  SignalDelivered: (event, { name }) => `${name(event)} is delivered (wait ${event.waitId})`,
  WaitsClosed: ({ waitIds }, { name }) => `no longer waits for ${waitIds.map((waitId) => name({ waitId })).join(', ')}`,
  ExternalWaitRequested: (event, words) =>
    `waits for ${opened(event, words, event.form === undefined ? [] : [`asks: "${event.form.message}"`])}`,
  ExternalWaitIssued: (event, { name }) => `${name(event)} can be settled`,
  ChildRequested: (event, words) => opened(event, words, [`as run ${event.childRunId}`]),
  ChildStarted: (event, { name }) => `${name(event)} started`,
  PatchRecorded: ({ patchId }) => `the code of patch "${patchId}" is taken`,
  ProgressReported: ({ progress }, { given }) => `progress${given(progress)}`,
  ArtifactUpdated: ({ artifact, append, lastChunk }) =>
    `artifact ${artifact.artifactId}${append === true ? ', more' : ''}${lastChunk === true ? ', complete' : ''}`,
  MessageReceived: ({ payload }, { given }) => `message of the caller received${given(messageIn(payload))}`,
  RunPaused: ({ untilMs }, words) => `run paused; it goes on ${words.at(untilMs)}`,
  RunResumed: () => 'run resumed',
  RetryNowRequested: () => 'retry now: what waits for its next attempt is tried',
  CancelRequested: ({ reason }) => `cancel requested${because(reason)}`,
  TerminateRequested: ({ reason }) => `terminate requested${because(reason)}`,
  RunEnding: ({ outcome }, { screen }) => `run is ending, ${formatOutcome(outcome, screen)}`,
  RunEnded: ({ status }) => `run ended: ${status}`,
  RemoteTaskRequested: (event, words) =>
    opened(event, words, event.input === undefined ? [] : [`with ${value(event.input, words.screen)}`]),
  RemoteTaskStarted: (event, { name }) => `${name(event)} started as task ${event.handle.taskId}`,
  RemoteTaskStartFailed: (event, words) =>
    `${words.name(event)}: start failed: ${failure(event.error)}; next ${words.at(event.retryAtMs)}`,
  RemoteTaskStartLost: (event, words) =>
    `${words.name(event)}: fate of the start unknown: ${failure(event.error)}; the server is asked ${words.at(event.lookAtMs)}`,
  RemoteTaskProgressed: (event, { name }) => `${name(event)}: ${said(event.shown)}`,
  RemoteQuestionAsked: (event, { name }) => `${name(event)} asks: "${event.question.message}"`,
  RemoteTaskStartAsked: (event, { name }) => `${name(event)}: the server asks before it starts (round ${event.round})`,
  RemoteAnswerRequested: ({ callId, answer }, { name, given }) =>
    `${name({ waitId: callId })} is answered: ${answer.action}${answer.action === 'accept' ? given(answer.content) : ''}`,
  RemoteAnswerFailed: attemptFailed,
  RemoteAnswerDelivered: (event, { name }) => `${name(event)} is with the server`,
  RemoteAnswerRefused: (event, { name }) => `${name(event)} was refused: ${failure(event.error)}`,
};

function opened(
  event: { readonly waitId: WaitId; readonly deadlineAtMs?: EpochMs },
  words: Words,
  more: readonly string[] = [],
): string {
  const deadline = event.deadlineAtMs === undefined ? [] : [`deadline ${words.at(event.deadlineAtMs)}`];
  return [`${words.name(event)} (wait ${event.waitId})`, ...more, ...deadline].join(', ');
}

function attemptFailed(event: EventOf<'StepAttemptFailed' | 'RemoteAnswerFailed'>, words: Words): string {
  const { attempt, error, retryAtMs } = event;
  return `${words.name(event)}: attempt ${attempt} failed: ${failure(error)}; next ${words.at(retryAtMs)}`;
}

function settled({ settlement }: ShownEvent, { given }: Words): string {
  if (settlement === undefined) return 'settled';
  const { outcome, by } = settlement;
  switch (outcome.kind) {
    case 'completed':
      return `completed${outcome.isError ? ' with an error' : ''} (by ${by})${given(outcome.isVoid === true ? undefined : outcome.result)}`;
    case 'failed':
      return `failed (by ${by}): ${failure(outcome.error)}`;
    case 'timed_out':
      return 'timed out';
    case 'abandoned':
      return 'is no longer waited for';
    case 'run_ended':
      return 'was closed by the end of the run';
  }
}

function failure({ message, code }: StoredError): string {
  return `${message} (${code})`;
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

function said(shown: {
  readonly state: string;
  readonly message?: string;
  readonly progress?: number;
  readonly total?: number;
}): string {
  const amount =
    shown.progress === undefined ? '' : ` (${shown.progress}${shown.total === undefined ? '' : ` of ${shown.total}`})`;
  return `${shown.state}${amount}${shown.message === undefined ? '' : `: "${shown.message}"`}`;
}

/** Returns the texts of a message, or how many parts it has. */
function messageIn(payload: JsonValue | undefined): JsonValue | undefined {
  const { parts } = (payload ?? {}) as { readonly parts?: readonly { readonly text?: string }[] };
  if (parts === undefined) return undefined;
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  return texts.length === 0 ? counted(parts.length, 'part') : texts.join(' ');
}
