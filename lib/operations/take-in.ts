import type { WaitId } from '../base/ids.js';
import { commitHandlesMaxBytes, commitTargetBytes, pauseMaxMs, questionsMax } from '../base/limits.js';
import { jsonBytes } from '../base/json-limit.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { HistoryEvent, RemoteQuestionAsked } from '../history/event.js';
import { questionIdOf } from '../history/remote-question.js';
import type { OpenWait, RunState } from '../history/run-state.js';
import type { InboxRecord, TokenRecord } from '../store/records.js';

/** What a turn knows of its run. */
export interface Known {
  readonly state: RunState;
  readonly tokens: ReadonlyMap<WaitId, TokenRecord>;
  readonly inbox: ReadonlyMap<string, InboxRecord>;
  /** The workflow still waits for it: no cancel has closed it. */
  readonly isWaitedFor: (wait: OpenWait) => boolean;
}

/**
 * What is in no commit yet and is new to the workflow: requests from outside, settlements, what is due. A terminate goes
 * first; then time, then id, order what one commit takes in.
 */
export function takeIn(known: Known, results: readonly HistoryEvent[], nowMs: EpochMs): readonly HistoryEvent[] {
  const news = [
    ...inboxNews(known),
    ...tokenNews(known),
    ...newQuestions(known, nowMs),
    ...dueNews(known, nowMs),
    ...results,
  ];
  return news.length > 1 ? news.sort(byOrderOfTaking) : news;
}

export function hasNews(known: Known, nowMs: EpochMs): boolean {
  return (
    inboxNews(known).length > 0 ||
    tokenNews(known).length > 0 ||
    newQuestions(known, nowMs).length > 0 ||
    dueNews(known, nowMs).length > 0
  );
}

/** Inbox items that no commit holds. */
export function newInbox({ inbox, state }: Pick<Known, 'inbox' | 'state'>): readonly InboxRecord[] {
  return [...inbox.values()].filter((item) => !state.takenInbox.has(item.inboxId));
}

/** Until when the run is paused, with what its inbox says; undefined when it is not. */
export function pausedUntilMs(known: Pick<Known, 'inbox' | 'state'>, nowMs: EpochMs): EpochMs | undefined {
  let untilMs = known.state.pausedUntilMs;
  for (const item of [...newInbox(known)].sort((a, b) => a.atMs - b.atMs)) {
    if (item.kind === 'pause') untilMs = item.atMs + pauseMaxMs;
    if (item.kind === 'resume') untilMs = undefined;
  }
  return untilMs !== undefined && untilMs > nowMs ? untilMs : undefined;
}

/**
 * The handles that came since the last commit, as many as fit beside all else. Worth no commit of their own: the token
 * item is the record of the start.
 */
export function newHandles({ state, tokens }: Known): readonly HistoryEvent[] {
  const handles: HistoryEvent[] = [];
  let bytes = 0;
  for (const wait of state.openTokens.values()) {
    if (wait.kind !== 'remoteTask' || wait.handle !== undefined) continue;
    const token = tokens.get(wait.waitId);
    if (token?.handle === undefined) continue;
    bytes += jsonBytes(token.handle as unknown as JsonValue);
    if (bytes > commitHandlesMaxBytes) break;
    handles.push({
      type: 'RemoteTaskStarted',
      atMs: token.startedAtMs ?? token.createdAtMs,
      waitId: wait.waitId,
      handle: token.handle,
    });
  }
  return handles;
}

/** What servers ask that the log does not have, as much of it as one commit holds. */
export function newQuestions(
  { state, tokens }: Pick<Known, 'state' | 'tokens'>,
  atMs: EpochMs,
): readonly RemoteQuestionAsked[] {
  const asked: RemoteQuestionAsked[] = [];
  let bytes = 0;
  for (const wait of state.openTokens.values()) {
    const token = wait.kind === 'remoteTask' ? tokens.get(wait.waitId) : undefined;
    if (wait.kind !== 'remoteTask' || token?.questions === undefined || token.settlement !== undefined) continue;
    const { list, round } = token.questions;
    for (const question of list) {
      const one = { question, ...(round === undefined ? {} : { round }) };
      if (wait.asked.has(questionIdOf(one)) || wait.asked.size >= questionsMax) continue;
      bytes += jsonBytes(question as unknown as JsonValue);
      if (asked.length > 0 && bytes > commitTargetBytes) return asked;
      asked.push({ type: 'RemoteQuestionAsked', atMs, waitId: wait.waitId, ...one });
    }
  }
  return asked;
}

/** As many of the events as one commit holds, at least one. */
export function fittingCount(events: readonly HistoryEvent[]): number {
  let bytes = 0;
  let count = 0;
  for (const event of events) {
    bytes += sizeOf(event);
    if (count > 0 && bytes > commitTargetBytes) break;
    count++;
  }
  return count;
}

function inboxNews(known: Known): HistoryEvent[] {
  const items = newInbox(known);
  // Stable sorting by time keeps this order among those of one millisecond.
  return [...items].sort((a, b) => (a.order ?? 0) - (b.order ?? 0)).map(toEvent);
}

function toEvent(item: InboxRecord): HistoryEvent {
  const { atMs, inboxId } = item;
  switch (item.kind) {
    case 'cancel':
      return { type: 'CancelRequested', atMs, inboxId, ...(item.reason === undefined ? {} : { reason: item.reason }) };
    case 'terminate':
      return {
        type: 'TerminateRequested',
        atMs,
        inboxId,
        ...(item.reason === undefined ? {} : { reason: item.reason }),
      };
    case 'signal':
      return { type: 'SignalReceived', atMs, inboxId, name: item.name };
    case 'pause':
      return { type: 'RunPaused', atMs, inboxId, untilMs: atMs + pauseMaxMs };
    case 'resume':
      return { type: 'RunResumed', atMs, inboxId };
    case 'retryNow':
      return { type: 'RetryNowRequested', atMs, inboxId };
  }
}

/** Only of waits that the commits read ask for: a newer commit's token may have been read before its commit. */
function tokenNews({ state, tokens }: Known): HistoryEvent[] {
  const news: HistoryEvent[] = [];
  for (const waitId of state.openTokens.keys()) {
    const settlement = tokens.get(waitId)?.settlement;
    if (settlement !== undefined && settlement.outcome.kind !== 'run_ended') {
      news.push({ type: 'TokenSettled', atMs: settlement.atMs, waitId });
    }
  }
  return news;
}

function dueNews({ state, isWaitedFor }: Known, nowMs: EpochMs): HistoryEvent[] {
  const news: HistoryEvent[] = [];
  for (const wait of state.open.values()) {
    const { waitId } = wait;
    if (wait.kind === 'timer' && wait.firesAtMs <= nowMs && isWaitedFor(wait)) {
      news.push({ type: 'TimerFired', atMs: wait.firesAtMs, waitId });
    } else if (
      wait.kind === 'signal' &&
      wait.deadlineAtMs !== undefined &&
      wait.deadlineAtMs <= nowMs &&
      isWaitedFor(wait)
    ) {
      news.push({ type: 'SignalWaitTimedOut', atMs: wait.deadlineAtMs, waitId });
    }
  }
  return news;
}

function byOrderOfTaking(a: HistoryEvent, b: HistoryEvent): number {
  const first = Number(b.type === 'TerminateRequested') - Number(a.type === 'TerminateRequested');
  return first || a.atMs - b.atMs || waitNumber(a) - waitNumber(b);
}

/** Requests from outside come before what has a wait, in the order in which they were accepted: the sort is stable. */
function waitNumber(event: HistoryEvent): number {
  return 'waitId' in event ? Number(event.waitId) : 0;
}

function sizeOf(event: HistoryEvent): number {
  return 300 + jsonBytes(payloadOf(event));
}

/** What may make an event a large one. */
function payloadOf(event: HistoryEvent): JsonValue | undefined {
  if (event.type === 'StepCompleted') return event.result;
  if (event.type === 'RemoteAnswerRequested') return event.answer;
  if (event.type === 'ExternalWaitRequested') return event.form as unknown as JsonValue | undefined;
  return undefined;
}
