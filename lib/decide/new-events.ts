import { defined } from '../base/defined.js';
import type { WaitId } from '../base/ids.js';
import { pauseMaxMs, questionsMax } from '../base/limits.js';
import { jsonBytes } from '../base/json-limit.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { HistoryEvent, RemoteQuestionAsked, RemoteTaskProgressed } from '../history/event.js';
import { questionIdOf } from '../history/remote-question.js';
import type { OpenWait, RunState } from '../history/run-state.js';
import type { InboxRecord, TokenRecord } from '../history/records.js';
import { changesAfter } from './task-trail.js';
import { isNextWithWorker } from './worker-start.js';

/** Target size of the new events of one commit; what does not fit goes into the next commit. */
export const commitTargetBytes = 300 * 1024;
/** Largest handles of one commit together: servers choose the ids, and thousands can arrive at once. */
export const commitHandlesMaxBytes = 1024 * 1024;

/** The state of a run as a turn has read it. */
export interface RunSnapshot {
  readonly state: RunState;
  readonly tokens: ReadonlyMap<WaitId, TokenRecord>;
  /** Requests that are in no commit yet, in the order in which they take effect. */
  readonly requests: readonly InboxRecord[];
  /** Whether the workflow still waits for it: no cancel has closed it. */
  readonly isWaitedFor: (wait: OpenWait) => boolean;
}

/** The new events of one commit. `isCut`: more are left for the next one. */
export interface NewEvents {
  readonly events: readonly HistoryEvent[];
  readonly isCut: boolean;
}

/**
 * Returns the events that are new to the workflow, as many as one commit holds: requests from outside in the order in
 * which they were accepted, settlements, and what is due. A terminate comes first; the rest is ordered by time, then
 * id. No event is later than now, even if the clock of its sender is ahead.
 */
export function newEvents(known: RunSnapshot, results: readonly HistoryEvent[], nowMs: EpochMs): NewEvents {
  const requested = requestNews(known.requests, nowMs);
  const others = [
    ...tokenNews(known, nowMs),
    ...startNews(known, nowMs),
    ...newQuestions(known, nowMs),
    ...newProgress(known, nowMs),
    ...dueNews(known, nowMs),
  ];
  if (others.length > 1) others.sort(byTime);
  const fitting = others.slice(0, fittingCount(others));
  const beside = results.length === 0 ? fitting : [...fitting, ...results].sort(byTime);
  const isTerminated = requested[0]?.type === 'TerminateRequested';
  const [first, rest] = isTerminated ? [requested.slice(0, 1), requested.slice(1)] : [[], requested];
  return {
    events: [...first, ...merged(rest, beside)],
    isCut: requested.length < known.requests.length || fitting.length < others.length,
  };
}

export function hasNews(known: RunSnapshot, nowMs: EpochMs): boolean {
  return (
    known.requests.length > 0 ||
    tokenNews(known, nowMs).length > 0 ||
    startNews(known, nowMs).length > 0 ||
    newQuestions(known, nowMs).length > 0 ||
    newProgress(known, nowMs).length > 0 ||
    dueNews(known, nowMs).length > 0
  );
}

/**
 * Returns the inbox items that are in no commit yet, in the order in which they take effect: the order of acceptance,
 * as far as a sender could observe it. A request sent after another was accepted has a greater position, whatever the
 * clocks of the two replicas say. Items of earlier versions have no position, and are merged by their time.
 */
export function newRequests(
  inbox: ReadonlyMap<string, InboxRecord>,
  { takenInbox }: Pick<RunState, 'takenInbox'>,
): readonly InboxRecord[] {
  const positioned: InboxRecord[] = [];
  const unpositioned: InboxRecord[] = [];
  for (const item of inbox.values()) {
    if (!takenInbox.has(item.inboxId)) (item.position === undefined ? unpositioned : positioned).push(item);
  }
  positioned.sort((a, b) => (a.position ?? 0) - (b.position ?? 0) || byTimeAndOrder(a, b));
  unpositioned.sort(byTimeAndOrder);
  return unpositioned.length === 0 ? positioned : merged(positioned, unpositioned);
}

function byTimeAndOrder(a: InboxRecord, b: InboxRecord): number {
  return a.atMs - b.atMs || (a.order ?? 0) - (b.order ?? 0) || compareText(a.inboxId, b.inboxId);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Merges two lists, each in its own order, by time; at equal times the first list goes first. */
function merged<One extends { readonly atMs: EpochMs }>(first: readonly One[], second: readonly One[]): One[] {
  const all: One[] = [];
  let at = 0;
  for (const one of second) {
    for (let next = first[at]; next !== undefined && next.atMs <= one.atMs; next = first[++at]) all.push(next);
    all.push(one);
  }
  return [...all, ...first.slice(at)];
}

/**
 * Yields each request with the time at which it counts as accepted: in order, so never earlier than the request before
 * it, and never later than now.
 */
function* timed(requests: readonly InboxRecord[], nowMs: EpochMs): Generator<readonly [InboxRecord, EpochMs]> {
  let atMs = 0;
  for (const item of requests) {
    atMs = Math.max(atMs, Math.min(item.atMs, nowMs));
    yield [item, atMs];
  }
}

/** Returns until when the run is paused, including the requests of its inbox; undefined if it is not paused. */
export function pausedUntilMs(
  { state, requests }: Pick<RunSnapshot, 'requests' | 'state'>,
  nowMs: EpochMs,
): EpochMs | undefined {
  let untilMs = state.pausedUntilMs;
  for (const [item, atMs] of timed(requests, nowMs)) {
    if (item.kind === 'pause') untilMs = atMs + pauseMaxMs;
    if (item.kind === 'resume') untilMs = undefined;
  }
  return untilMs !== undefined && untilMs > nowMs ? untilMs : undefined;
}

/** Returns only the new events that pause or resume the run. */
export function pauseNews({ requests }: Pick<RunSnapshot, 'requests'>, nowMs: EpochMs): readonly HistoryEvent[] {
  const news: HistoryEvent[] = [];
  for (const [item, atMs] of timed(requests, nowMs)) {
    if (item.kind === 'pause' || item.kind === 'resume') news.push(toEvent(item, atMs));
  }
  return news.slice(0, fittingCount(news));
}

/**
 * Returns the handles that arrived since the last commit, as many as fit beside the other events. They do not justify a
 * commit of their own: the token item is the record of the start.
 */
export function newHandles({ state, tokens }: Pick<RunSnapshot, 'state' | 'tokens'>): readonly HistoryEvent[] {
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

/** Returns the questions of servers that the log does not have, as many as one commit holds. */
export function newQuestions(
  { state, tokens }: Pick<RunSnapshot, 'state' | 'tokens'>,
  atMs: EpochMs,
): readonly RemoteQuestionAsked[] {
  const asked: RemoteQuestionAsked[] = [];
  let bytes = 0;
  for (const wait of state.openTokens.values()) {
    const token = wait.kind === 'remoteTask' ? tokens.get(wait.waitId) : undefined;
    if (wait.kind !== 'remoteTask' || token?.questions === undefined || token.settlement !== undefined) continue;
    const { list, round } = token.questions;
    for (const question of list) {
      const one = { question, ...defined({ round }) };
      if (wait.asked.has(questionIdOf(one)) || wait.asked.size >= questionsMax) continue;
      bytes += jsonBytes(question as unknown as JsonValue);
      if (asked.length > 0 && bytes > commitTargetBytes) return asked;
      asked.push({ type: 'RemoteQuestionAsked', atMs, waitId: wait.waitId, ...one });
    }
  }
  return asked;
}

/** Returns the changes of remote tasks that the log does not have, for calls with a handler for them. */
function newProgress({ state, tokens }: Pick<RunSnapshot, 'state' | 'tokens'>, atMs: EpochMs): RemoteTaskProgressed[] {
  const news: RemoteTaskProgressed[] = [];
  for (const wait of state.openTokens.values()) {
    const token = wait.kind === 'remoteTask' ? tokens.get(wait.waitId) : undefined;
    if (wait.kind !== 'remoteTask' || token?.trail === undefined || token.settlement !== undefined) continue;
    if (token.followsProgress !== true) continue;
    const { waitId, progressed = 0 } = wait;
    for (const [number, shown] of changesAfter(token.trail, progressed))
      news.push({ type: 'RemoteTaskProgressed', atMs, waitId, number, shown });
  }
  return news;
}

/** Returns how many of the events one commit holds, at least one. */
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

/** Returns as many of the requests as one commit holds, at least one; a terminate comes first. */
function requestNews(requests: readonly InboxRecord[], nowMs: EpochMs): HistoryEvent[] {
  const terminate = requests.find((item) => item.kind === 'terminate');
  const events = terminate === undefined ? [] : [toEvent(terminate, Math.min(terminate.atMs, nowMs))];
  let bytes = 0;
  for (const [item, atMs] of timed(requests, nowMs)) {
    if (item === terminate) continue;
    const event = toEvent(item, atMs);
    bytes += sizeOf(event);
    if (events.length > 0 && bytes > commitTargetBytes) break;
    events.push(event);
  }
  return events;
}

function toEvent(item: InboxRecord, atMs: EpochMs): HistoryEvent {
  const { inboxId } = item;
  const by = defined({ by: item.by });
  switch (item.kind) {
    case 'cancel':
      return { type: 'CancelRequested', atMs, inboxId, ...by, ...defined({ reason: item.reason }) };
    case 'terminate':
      return {
        type: 'TerminateRequested',
        atMs,
        inboxId,
        ...by,
        ...defined({ reason: item.reason }),
      };
    case 'signal':
      return { type: 'SignalReceived', atMs, inboxId, name: item.name, ...by };
    case 'message':
      return { type: 'MessageReceived', atMs, inboxId, ...by, ...ofMessage(item) };
    case 'pause':
      return { type: 'RunPaused', atMs, inboxId, untilMs: atMs + pauseMaxMs, ...by };
    case 'resume':
      return { type: 'RunResumed', atMs, inboxId, ...by };
    case 'retryNow':
      return { type: 'RetryNowRequested', atMs, inboxId, ...by };
  }
}

function ofMessage({ answers, carried }: Extract<InboxRecord, { kind: 'message' }>) {
  return { ...defined({ answers }), ...(carried === true ? ({ carried } as const) : {}) };
}

/**
 * Returns settlements, only of waits that the log requests: a token may have been read before the commit that requests
 * it.
 */
function tokenNews({ state, tokens }: Pick<RunSnapshot, 'state' | 'tokens'>, nowMs: EpochMs): HistoryEvent[] {
  const news: HistoryEvent[] = [];
  for (const waitId of state.openTokens.keys()) {
    const settlement = tokens.get(waitId)?.settlement;
    if (settlement !== undefined && settlement.outcome.kind !== 'run_ended') {
      const { atMs, caller: by } = settlement;
      news.push({ type: 'TokenSettled', atMs: Math.min(atMs, nowMs), waitId, ...defined({ by }) });
    }
  }
  return news;
}

/** Returns the results of starts made by workers that only a commit may record. */
function startNews({ state, tokens }: Pick<RunSnapshot, 'state' | 'tokens'>, nowMs: EpochMs): HistoryEvent[] {
  const news: HistoryEvent[] = [];
  for (const wait of state.openTokens.values()) {
    const token = wait.kind === 'remoteTask' && wait.handle === undefined ? tokens.get(wait.waitId) : undefined;
    if (wait.kind !== 'remoteTask' || token?.workerStart?.came === undefined) continue;
    const { came } = token.workerStart;
    if (isNextWithWorker(wait, token)) news.push(came.atMs > nowMs ? { ...came, atMs: nowMs } : came);
  }
  return news;
}

function dueNews({ state, isWaitedFor }: RunSnapshot, nowMs: EpochMs): HistoryEvent[] {
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

function byTime(a: HistoryEvent, b: HistoryEvent): number {
  return a.atMs - b.atMs || waitNumber(a) - waitNumber(b);
}

function waitNumber(event: HistoryEvent): number {
  return 'waitId' in event ? Number(event.waitId) : 0;
}

function sizeOf(event: HistoryEvent): number {
  return 300 + jsonBytes(payloadOf(event));
}

/** Returns the part of an event that may be large. */
function payloadOf(event: HistoryEvent): JsonValue | undefined {
  if (event.type === 'StepCompleted') return event.result;
  // The caller chooses the name and the id.
  if (event.type === 'SignalReceived') return `${event.inboxId}${event.name}`;
  if (event.type === 'CancelRequested' || event.type === 'TerminateRequested') return event.reason;
  if (event.type === 'RemoteAnswerRequested') return event.answer;
  if (event.type === 'RemoteTaskProgressed') return event.shown as unknown as JsonValue;
  if (event.type === 'ExternalWaitRequested') return event.form as unknown as JsonValue | undefined;
  return undefined;
}
