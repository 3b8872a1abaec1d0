import { createHash } from 'node:crypto';
import { silentLog } from '../../lib/base/log.js';
import { foldHistory } from '../../lib/history/run-state.js';
import { questionIdOf } from '../../lib/history/remote-question.js';
import type { HistoryEvent } from '../../lib/history/event.js';
import { drainMicrotasks } from '../../lib/process/drain.js';
import { openExecution } from '../../lib/operations/open-execution.js';
import { toHead } from '../../lib/store/items/head.js';
import { toInbox } from '../../lib/store/items/inbox.js';
import { toToken } from '../../lib/store/items/token.js';
import type { Execution } from '../../lib/replay/execution.js';
import type { RunHead, RunRecords, Settlement, TokenRecord } from '../../lib/history/records.js';
import { RunStore } from '../../lib/store/run-store.js';
import type { Item } from '../../lib/store/table.js';
import type { App } from '../../lib/workflow/app.js';
import { checkEvents } from './event-oracles.js';
import type { World } from './world.js';

const isEnded = (status: unknown): boolean => status !== 'running' && status !== 'ending';

/** Checks what must hold after each write: invariants I1, I3, I4, I9, I15 and promises 2, 3, 7 of the design. */
export function checkWrite(items: readonly Item[], world: World): void {
  for (const item of items) {
    const old = world.items.get(`${item.pk} ${item.sk}`);
    if (item.sk.startsWith('t#')) checkToken(item, old, world);
    if (item.sk.startsWith('h#')) checkCommit(item, world);
  }
}

function checkToken(item: Item, old: Item | undefined, world: World): void {
  const token = toToken(item);
  const before = old === undefined ? undefined : toToken(old);
  const runId = token.runId;
  const head = world.items.get(`${item.pk} a`);
  const runHasEnded = head !== undefined && isEnded(head['status']);
  const { settlement } = token;
  if (before?.settlement !== undefined && JSON.stringify(before.settlement) !== JSON.stringify(settlement))
    world.fail('settlement-replaced', item.sk);
  checkAttempt(token, before, world);
  if (settlement === undefined) {
    if (runHasEnded) world.fail('open-token-after-end', item.sk);
    return;
  }
  if (before?.settlement !== undefined) return;
  if (runHasEnded) world.fail('settled-after-end', item.sk);
  const { outcome } = settlement;
  if (outcome.kind === 'timed_out' && world.nowMs < (token.deadlineAtMs ?? Infinity))
    world.fail('early-deadline', item.sk);
  if (outcome.kind === 'failed' && outcome.error.code === 'REMOTE_START_AMBIGUOUS' && token.handle !== undefined)
    world.fail('ambiguous-despite-handle', item.sk);
  if (outcome.kind === 'run_ended' && !world.log(runId).some((event) => event.type === 'RunEnding'))
    world.fail('closed-but-run-goes-on', item.sk);
}

/**
 * Checks that an attempt of a long step begins only when no other one is alive, and after the one before died or
 * failed.
 */
function checkAttempt({ step, waitId }: TokenRecord, before: TokenRecord | undefined, world: World): void {
  if (step === undefined || before?.step === undefined || step.strikes <= before.step.strikes) return;
  if (step.strikes !== before.step.strikes + 1) world.fail('strike-skipped', `wait ${waitId}`);
  if (before.step.strikes > 0 && (before.dueAtMs ?? 0) > world.nowMs)
    world.fail('two-attempts-alive', `wait ${waitId}, leased until ${world.secondsOf(before.dueAtMs ?? 0)}`);
  if (before.step.failedAttempts > 0 && before.step.strikes === 0 && (before.dueAtMs ?? 0) > world.nowMs)
    world.fail('early-attempt', `wait ${waitId}`);
}

function checkCommit(item: Item, world: World): void {
  const runId = item.pk.slice('run#'.length);
  const old = world.commits(runId);
  const seq = Number(item.sk.slice(2));
  if (world.items.has(`${item.pk} ${item.sk}`)) world.fail('commit-overwritten', item.sk);
  if (seq !== old.length + 1) world.fail('log-gap', `commit ${seq} after ${old.length}`);
  const before = old.flatMap((commit) => commit.events);
  const events = eventsOf(item, world);
  const all = [...before, ...events];

  if (before.some((event) => event.type === 'RunEnded')) world.fail('commit-after-end', item.sk);
  const ending = before.find((event) => event.type === 'RunEnding');
  if (
    ending !== undefined &&
    !(events.length === 1 && events[0]?.type === 'RunEnded' && events[0].status === ending.outcome.status)
  ) {
    world.fail('commit-after-ending', item.sk);
  }
  const sources = all.map(sourceOf).filter((source) => source !== undefined);
  if (new Set(sources).size !== sources.length)
    world.fail('event-twice', sources.filter((source, at) => sources.indexOf(source) !== at).join(', '));

  for (const event of events) {
    if (event.type !== 'TimerFired') continue;
    const started = before.find((other) => other.type === 'TimerStarted' && other.waitId === event.waitId);
    if (started?.type !== 'TimerStarted' || world.nowMs < started.firesAtMs)
      world.fail('early-timer', `wait ${event.waitId}`);
  }
  if (!events.some((event) => event.type === 'RunEnding')) return;
  for (const other of world.items.values()) {
    if (other.pk !== item.pk || !other.sk.startsWith('i#')) continue;
    const { inboxId } = toInbox(other);
    const taken = all.some((event) => 'inboxId' in event && event.inboxId === inboxId);
    if (!taken) world.fail('signal-lost', `${inboxId} was accepted and the run ends without it`);
  }
  const outcome = events.find((event) => event.type === 'RunEnding')?.outcome;
  if (all.some((event) => event.type === 'TerminateRequested') && outcome?.status !== 'terminated')
    world.fail('terminate-ignored', JSON.stringify(outcome));
}

/**
 * Checks what must hold at every instant: the next sweep finds everything that has not been taken in (I7), and no wait
 * is open long after its deadline (I9; `graceMs`: a sweep, and the cost of a crash).
 */
export function checkInstant(world: World, graceMs: number): void {
  for (const runId of world.runIds()) {
    const pk = `run#${runId}`;
    if (isEnded(world.items.get(`${pk} a`)?.['status'])) continue;
    const items = [...world.items.values()].filter((item) => item.pk === pk);
    const log = world.log(runId);
    const news = items.filter((item) => isNews(item, log)).map((item) => item.sk);
    const dueTimers = log.flatMap((event) =>
      event.type === 'TimerStarted' && event.firesAtMs <= world.nowMs && !isIn(log, 'TimerFired', event.waitId)
        ? [`timer ${event.waitId}`]
        : [],
    );
    const isMarked = items.some(({ dueAtMs }) => dueAtMs !== undefined && Number(dueAtMs) <= world.nowMs);
    if (!isMarked && news.length + dueTimers.length > 0)
      world.fail('wake-lost', `no marker stands for ${[...news, ...dueTimers].join(', ')}`);
    for (const item of items) {
      const { deadlineAtMs, settledAtMs } = item;
      if (deadlineAtMs !== undefined && settledAtMs === undefined && world.nowMs > Number(deadlineAtMs) + graceMs)
        world.fail('late-deadline', item.sk);
    }
  }
}

/** Returns whether an item came from outside and is in no commit. */
function isNews(item: Item, log: readonly HistoryEvent[]): boolean {
  if (item.sk.startsWith('i#')) {
    const { inboxId } = toInbox(item);
    return !log.some((event) => 'inboxId' in event && event.inboxId === inboxId);
  }
  if (!item.sk.startsWith('t#')) return false;
  const { waitId, settlement } = toToken(item);
  // A wait that the run itself closed is no news to it.
  const isClosed = settlement?.outcome.kind === 'run_ended' || settlement?.outcome.kind === 'abandoned';
  return settlement !== undefined && !isClosed && !isIn(log, 'TokenSettled', waitId);
}

function isIn(log: readonly HistoryEvent[], type: HistoryEvent['type'], waitId: string): boolean {
  return log.some((event) => event.type === type && 'waitId' in event && event.waitId === waitId);
}

function eventsOf(item: Item, world: World): readonly HistoryEvent[] {
  return world.decode(item).events;
}

/** Returns what identifies an event that may occur only once in a history. */
export function sourceOf(event: HistoryEvent): string | undefined {
  if (event.type === 'StepCompleted' || event.type === 'StepFailed') return `step ${event.waitId}`;
  if (event.type === 'PatchRecorded') return `patch ${event.patchId}`;
  if (event.type === 'StepAttemptFailed') return `step ${event.waitId} attempt ${event.attempt}`;
  if (event.type === 'RemoteTaskStartFailed') return `start ${event.waitId} attempt ${event.attempt}`;
  if (event.type === 'RemoteTaskStartLost') return `look ${event.waitId} ${event.look}`;
  if (event.type === 'RemoteTaskStartAsked') return `start ${event.waitId} attempt ${event.attempt}`;
  if (event.type === 'RemoteQuestionAsked') return `question ${event.waitId} ${questionIdOf(event)}`;
  if (event.type === 'RemoteTaskProgressed') return `change ${event.waitId} ${event.number}`;
  if (event.type === 'RemoteAnswerFailed') return `answer ${event.waitId} attempt ${event.attempt}`;
  if (event.type === 'WaitsClosed') return `closed ${event.waitIds.join(' ')}`;
  if ('waitId' in event) return `${event.type} ${event.waitId}`;
  if ('inboxId' in event) return `inbox ${event.inboxId}`;
  return event.type;
}

/** Checks what must hold when nothing more can happen: I2, I3, I6, I8. */
export async function checkEnd(
  world: World,
  bounds: { readonly baselineEndMs: number; readonly slackS: number },
): Promise<void> {
  // A start that never reached the store promises nothing.
  const runIds = world.runIds();
  const lastRequestMs = Math.max(0, ...runIds.flatMap((runId) => world.inboxTimes(runId)));
  for (const runId of runIds) {
    const head = toHead(world.items.get(`run#${runId} a`)!);
    if (!isEnded(head.status)) {
      world.fail(
        'stuck',
        `run ${runId.slice(0, 4)} is ${head.status}${head.blocked === undefined ? '' : `, blocked: ${head.blocked.message}`}`,
      );
      continue;
    }
    const bound = Math.max(world.lastFaultMs, bounds.baselineEndMs, lastRequestMs) + (210 + bounds.slackS) * 1000;
    // A run that ended only because of a caller in the quiet phase says nothing about the engine's speed.
    const isLate = world.secondsOf(head.endedAtMs ?? 0) >= 2999;
    if (world.lastFaultMs > 0 && !isLate && (head.endedAtMs ?? 0) > bound)
      world.fail('slow', `ended ${((head.endedAtMs ?? 0) - bound) / 1000} s after the bound`);
    checkItems(world, runId);
    checkRemote(world, runId);
    checkHandedOn(world, head);
    await checkReplay(world, runId);
  }
  if (world.hasBus) checkEvents(world, runIds);
  checkTasks(world);
  if (world.tellsFates) checkLostStarts(world);
  checkStarts(world);
  checkAnswers(world);
  checkSignals(world);
  if (new Set(world.settledTrue).size !== world.settledTrue.length)
    world.fail('two-true', world.settledTrue.join(', '));
}

function checkItems(world: World, runId: string): void {
  const state = foldHistory(world.commits(runId));
  for (const item of world.items.values()) {
    if (item.pk !== `run#${runId}`) continue;
    if (item['dueAtMs'] !== undefined || item['dueShard'] !== undefined) world.fail('marker-leak', item.sk);
    if (item.sk.startsWith('t#') && item['settledAtMs'] === undefined) world.fail('open-token-after-end', item.sk);
  }
  if (!state.ended) world.fail('head-status', 'the head says ended, the log does not');
}

function checkRemote(world: World, runId: string): void {
  const tokens = [...world.items.values()]
    .filter((item) => item.pk === `run#${runId}` && item.sk.startsWith('t#'))
    .map(toToken);
  for (const { handle, settlement, waitId } of tokens) {
    const task = handle === undefined ? undefined : world.remote.tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task !== undefined && wasGivenUp(settlement) && !task.cancelled) world.fail('cancel-lost', `wait ${waitId}`);
  }
}

/** Returns whether the wait ended for a reason other than the end of its task. */
function wasGivenUp(settlement: Settlement | undefined): boolean {
  return ['run_ended', 'timed_out', 'abandoned'].includes(settlement?.outcome.kind ?? '');
}

/** Checks that a task whose id was returned is on a token item, or cancelled, unless all who knew it died. */
function checkTasks(world: World): void {
  const recorded = new Set(
    [...world.items.values()].filter(({ sk }) => sk.startsWith('t#')).map((item) => toToken(item).handle?.taskId),
  );
  for (const { taskId, process } of world.mustCancel) {
    if (recorded.has(taskId) || world.crashed.has(process)) continue;
    if (world.remote.tasks.find((task) => task.taskId === taskId)?.cancelled !== true)
      world.fail('task-forgotten', `${taskId}, known to ${process}`);
  }
}

/**
 * Checks that no task that was created before its wait was given up is left running, whichever process died with the
 * reply to its start. A task that a frozen process creates later is cancelled by that process.
 */
function checkLostStarts(world: World): void {
  for (const { key, taskId, madeAtMs, cancelled } of world.remote.tasks) {
    const { runId, waitId } = world.callOf(key);
    const item = world.items.get(`run#${runId} t#${waitId}`);
    const settlement = item === undefined ? undefined : toToken(item).settlement;
    if (wasGivenUp(settlement) && madeAtMs <= (settlement?.atMs ?? 0) && !cancelled) world.fail('task-left', taskId);
  }
}

/** Checks that each call has one key, and that a server that honours it has one task per key (I6). */
function checkStarts(world: World): void {
  const keys = world.remote.tasks.map(({ key }) => key);
  if (new Set(keys).size !== keys.length) world.fail('two-tasks', keys.join(', '));
}

/**
 * Checks the answers to settlements: a caller that settled is told so, unless it got no answer; others are not (I2,
 * I4).
 */
function checkAnswers(world: World): void {
  const byRelay = new Set(
    [...world.items.values()]
      .filter(({ sk }) => sk.startsWith('t#'))
      .map(toToken)
      .filter(({ settlement }) => settlement?.by === 'relay')
      .map(({ runId, waitId }) => `${runId}/${waitId}`),
  );
  for (const wait of world.settledTrue) if (!byRelay.has(wait)) world.fail('false-true', wait);
  if (world.unansweredRelays > 0) return;
  for (const wait of byRelay) if (!world.settledTrue.includes(wait)) world.fail('nobody-told', wait);
}

/** Checks that an accepted signal is in the inbox of its run, or of one that continues the run. */
function checkSignals(world: World): void {
  for (const { runId, name, key } of world.acceptedSignals) {
    let at: string | undefined = runId;
    let isThere = false;
    while (at !== undefined && !isThere) {
      isThere = [...world.items.values()].some(
        ({ pk, sk }) => pk === `run#${at ?? ''}` && sk.startsWith('i#') && sk.includes(name) && sk.endsWith(`-${key}`),
      );
      at = toHead(world.items.get(`run#${at}`.concat(' a'))!).nextRunId;
    }
    if (!isThere) world.fail('signal-vanished', `${name} ${key}`);
  }
}

/** Checks that the next run has, once, what a continued run has not read, and nothing that it has read. */
function checkHandedOn(world: World, head: RunHead): void {
  if (head.nextRunId === undefined) return;
  const { unreadSignals, takenInbox } = foldHistory(world.commits(head.runId));
  if (!world.items.has(`run#${head.nextRunId} a`)) world.fail('next-run-missing', head.nextRunId);
  for (const inboxId of takenInbox) {
    if (!inboxId.startsWith('signal-')) continue;
    const isThere = world.items.has(`run#${head.nextRunId} i#${inboxId}`);
    if (isThere !== unreadSignals.has(inboxId))
      world.fail(isThere ? 'signal-read-twice' : 'signal-not-handed-on', inboxId);
  }
}

/**
 * Checks that the finished history replays without differences, to its outcome; of two versions of the code with at
 * least one.
 */
async function checkReplay(world: World, runId: string): Promise<void> {
  const divergences = [await divergenceOf(world, world.app, runId)];
  if (world.otherApp !== undefined) divergences.push(await divergenceOf(world, world.otherApp, runId));
  if (divergences.every((divergence) => divergence !== undefined))
    world.fail('replay-diverges', divergences.join('; '));
}

async function divergenceOf(world: World, app: App, runId: string): Promise<string | undefined> {
  const events = world.log(runId);
  const ending = events.find((event) => event.type === 'RunEnding');
  const execution = await replay(world, app, await recordsOf(world, runId));
  const { status } = execution;
  if (world.otherApp !== undefined && status.kind === 'blocked') return JSON.stringify(status);
  const delivered = new Set(events.flatMap((event) => (event.type === 'SignalDelivered' ? [event.inboxId] : [])));
  for (const event of execution.takeDerived(Infinity)) {
    if (event.type === 'SignalDelivered' && !delivered.has(event.inboxId))
      world.fail('delivery-not-recorded', event.inboxId);
  }
  if (ending?.outcome.status === 'terminated') return undefined;
  const got = status.kind === 'ended' ? JSON.stringify(status.outcome) : JSON.stringify(status);
  const recorded = JSON.stringify(ending?.outcome);
  return got === recorded ? undefined : `${got}, the history has ${recorded}`;
}

export async function recordsOf(world: World, runId: string): Promise<RunRecords> {
  const records = await new RunStore(world.table).runs.read(runId);
  if (records === undefined) throw new Error('the run is gone');
  return records;
}

/** Replays the workflow of a run over all that was read of it. No step runs meanwhile. */
export async function replay(world: World, app: App, records: RunRecords): Promise<Execution> {
  const execution = openExecution(
    {
      drain: drainMicrotasks,
      digest: (text) => createHash('sha256').update(text).digest('hex'),
      log: silentLog,
      tokens: world.tokens,
    },
    app.workflows.get(records.head.workflow)!,
    {
      head: records.head,
      state: foldHistory(records.commits),
      tokens: new Map(records.tokens.map((token) => [token.waitId, token])),
      inbox: new Map(records.inbox.map((one) => [one.inboxId, one])),
    },
  );
  world.isReplaying = true;
  for (const event of records.commits.flatMap(({ events }) => events)) await execution.apply(event);
  world.isReplaying = false;
  return execution;
}
