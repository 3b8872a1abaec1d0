import type { StoredError } from '../base/errors.js';
import { badReadsMax } from '../base/limits.js';
import type { RunOutcome } from '../history/event.js';
import type { QuestionView } from '../operations/views/question-view.js';
import type { RunExplanation } from '../operations/views/explain-run.js';
import type { ExternalWaitPage } from '../operations/views/list-external-waits.js';
import type { ServerView } from '../operations/views/list-servers.js';
import { type ListedRun, type RunList, statusOf } from '../operations/views/list-runs.js';
import type { RunView } from '../operations/views/show-run.js';
import type { WaitView } from '../operations/views/wait-view.js';
import type { ScheduleView } from '../operations/schedules/schedule-view.js';
import { counted } from './counted.js';
import { changeRows, taskTexts } from './format-remote-tasks.js';
import { printable } from './printable.js';
import { paper, type Screen, type Style } from './screen.js';
import { formatRows, formatTable, type Row, value } from './table.js';
import { at, begun, shortTime, since, time, until } from './times.js';

// Output of the commands for a person: runs, questions, remote tasks, servers and schedules.

export function formatRun(run: RunView, screen: Screen = paper): string {
  const rows: Row[] = [
    ['run', run.runId],
    ['workflow', `${run.workflow} (version ${run.version})`],
    ['status', run.status, statusStyle(run.status)],
    ['started', time(run.createdAtMs, screen)],
  ];
  if (run.id !== undefined) rows.push(['id', run.id]);
  if (run.key !== undefined) rows.push(['key', run.key]);
  if (run.concurrencyKey !== undefined) rows.push(['concurrency', value(run.concurrencyKey, screen)]);
  if (run.tags !== undefined) rows.push(['tags', formatTags(run.tags)]);
  if (run.owner !== undefined) rows.push(['owner', run.owner]);
  if (run.tenant !== undefined) rows.push(['tenant', run.tenant]);
  if (run.startAtMs !== undefined) rows.push(['not before', time(run.startAtMs, screen)]);
  if (run.deadlineAtMs !== undefined) rows.push(['deadline', time(run.deadlineAtMs, screen)]);
  if (run.endedAtMs !== undefined) rows.push(['ended', time(run.endedAtMs, screen)]);
  if (run.parent !== undefined) rows.push(['parent', `${run.parent.runId} (wait ${run.parent.waitId})`]);
  if (run.previousRunId !== undefined) rows.push(['previous', run.previousRunId]);
  if (run.input !== undefined) rows.push(['input', value(run.input, screen)]);
  if (run.progress !== undefined) rows.push(['progress', value(run.progress, screen)]);
  if (run.pausedUntilMs !== undefined) rows.push(['paused', until(run.pausedUntilMs, screen)]);
  if (run.afterRunId !== undefined) rows.push(['waits for', formatPredecessor(run, run.afterRunId)]);
  for (const wait of run.waits) rows.push(['waits for', formatWait(wait, screen)]);
  rows.push(...changeRows(run.waits, screen));
  if (run.unreadSignals !== undefined) rows.push(['unread', `signals ${run.unreadSignals.join(', ')}`]);
  if (run.blocked !== undefined) rows.push(['blocked', `${run.blocked.code}: ${run.blocked.message}`, 'bad']);
  if (run.outcome !== undefined) rows.push(['outcome', formatOutcome(run.outcome, screen)]);
  return formatRows(rows, screen);
}

/** Returns why a run is in its state, one reason per line. */
export function formatWhy(run: RunExplanation, screen: Screen = paper): string {
  const rows: Row[] = [['status', run.status, statusStyle(run.status)]];
  const hasStale = run.waits.some(({ stale }) => stale === true);
  rows.push(...heldUpRows(run, screen));
  for (const wait of run.waits) rows.push(['waits for', `${formatWait(wait, screen)} (wait ${wait.waitId})`]);
  if (hasStale)
    rows.push(['', 'a stale task may never end: outwait remote get reads it now, outwait remote cancel stops it']);
  if (run.deadlineAtMs !== undefined && run.outcome === undefined)
    rows.push(['deadline', time(run.deadlineAtMs, screen)]);
  if (run.outcome !== undefined) rows.push(['outcome', formatOutcome(run.outcome, screen)]);
  if (rows.length === 1) rows.push(['', 'it waits for nothing: a turn is under way or due']);
  return formatRows(rows, screen);
}

/** Returns what keeps a run from going on, besides its waits; empty if nothing does. */
export function formatHeldUp(run: RunExplanation, screen: Screen = paper): string {
  return formatRows(heldUpRows(run, screen), screen);
}

function heldUpRows(run: RunExplanation, screen: Screen): readonly Row[] {
  const rows: Row[] = [];
  if (run.blocked !== undefined) {
    rows.push(['blocked', `${run.blocked.code}: ${run.blocked.message}`, 'bad']);
    const { nextLookAtMs } = run;
    const look = nextLookAtMs === undefined ? '' : `; the next look is ${at(nextLookAtMs, screen)}`;
    rows.push(['', `it continues by itself after a deployment whose code fits its history${look}`]);
    rows.push(['', `to look now: outwait retry-now ${run.runId}`]);
  }
  if (run.pausedUntilMs !== undefined) {
    rows.push(['paused', `${until(run.pausedUntilMs, screen)}, or a resume`, 'held']);
    rows.push(['', `to go on now: outwait resume ${run.runId}`]);
  }
  if (run.startAtMs !== undefined) rows.push(['delayed', `it starts ${at(run.startAtMs, screen)}`, 'held']);
  if (run.afterRunId !== undefined) rows.push(['waits for', formatPredecessor(run, run.afterRunId)]);
  return rows;
}

const statusStyles: Readonly<Record<string, Style>> = {
  ...{ running: 'busy', completed: 'good', failed: 'bad', terminated: 'bad' },
  ...{ ending: 'held', cancelled: 'held', continued: 'faint' },
  ...{ blocked: 'bad', paused: 'held', delayed: 'held' },
};

function statusStyle(status: string): Style {
  return statusStyles[status] ?? 'faint';
}

function formatPredecessor({ concurrencyKey }: Pick<RunView, 'concurrencyKey'>, afterRunId: string): string {
  const why = concurrencyKey === undefined ? 'which it replaces' : 'which has the same concurrency key';
  return `the end of run ${afterRunId}, ${why}`;
}

/** Returns where an error was thrown, after a comma, if it is known. */
function placeOf({ details }: StoredError): string {
  const at = details?.['at'];
  return typeof at === 'string' ? `, at ${at}` : '';
}

export function formatOutcome(outcome: RunOutcome, screen: Screen = paper): string {
  switch (outcome.status) {
    case 'completed':
      return outcome.result === undefined ? 'completed' : `completed: ${value(outcome.result, screen)}`;
    case 'failed':
      return printable(`failed: ${outcome.error.message} (${outcome.error.code}${placeOf(outcome.error)})`);
    case 'continued':
      return printable(`continued as ${outcome.nextRunId}`);
    case 'cancelled':
    case 'terminated':
      return outcome.reason === undefined ? outcome.status : printable(`${outcome.status}: ${outcome.reason}`);
  }
}

const kindTexts: Readonly<Record<string, string>> = {
  remoteTask: 'remote task',
  longStep: 'long step',
  remoteAnswer: 'delivery of an',
};

function formatWait(wait: WaitView, screen: Screen): string {
  const parts = [kindTexts[wait.kind] ?? wait.kind];
  // Timers have no names.
  if (wait.name !== undefined && wait.kind !== 'timer') parts.push(wait.name);
  if (wait.server !== undefined) parts.push(`on ${wait.server}`);
  if (wait.taskId !== undefined) parts.push(`task ${wait.taskId}`);
  parts.push(...taskTexts(wait, screen));
  for (const question of wait.questions ?? []) parts.push(`asks: ${question}`);
  if (wait.question !== undefined) parts.push(`"${wait.question}" (outwait answer ${wait.inputId ?? ''})`);
  if (wait.childRunId !== undefined) parts.push(`run ${wait.childRunId}`);
  parts.push(begun(wait.sinceMs, screen));
  // Omitted if the deadline comes next, which is printed anyway.
  if (wait.nextAtMs !== undefined && wait.nextAtMs !== wait.deadlineAtMs)
    parts.push(`next ${time(wait.nextAtMs, screen)}`);
  if (wait.deadlineAtMs !== undefined) parts.push(`deadline ${time(wait.deadlineAtMs, screen)}`);
  if (wait.failedAttempts !== undefined) parts.push(`${wait.failedAttempts} failed`);
  if (wait.lastError !== undefined) parts.push(`last error: ${wait.lastError.message}`);
  if (wait.failedReads !== undefined) parts.push(`${wait.failedReads} reads failed`);
  if (wait.sightings !== undefined) parts.push(formatBadReads(wait.sightings));
  if (wait.runningSinceMs !== undefined) {
    const lease = wait.leaseUntilMs === undefined ? '' : ` (lease ${until(wait.leaseUntilMs, screen)})`;
    parts.push(`attempt ${(wait.failedAttempts ?? 0) + 1} running ${since(wait.runningSinceMs, screen)}${lease}`);
  } else if (wait.leaseUntilMs !== undefined) {
    parts.push(`a worker waits for the reply to its start (lease ${until(wait.leaseUntilMs, screen)})`);
  }
  if (wait.interrupted !== undefined) parts.push(`${wait.interrupted} died with their worker`);
  if (wait.progress !== undefined) parts.push(`progress: ${value(wait.progress, screen)}`);
  return parts.join(', ');
}

function formatBadReads({ of, count }: NonNullable<WaitView['sightings']>): string {
  const said = of === 'missing' ? 'the server does not know the task' : 'the reply of the server cannot be read';
  return `${said}: ${count} of ${badReadsMax} times in a row`;
}

function formatTags(tags: Readonly<Record<string, string>>): string {
  return Object.entries(tags)
    .map(([name, text]) => `${name}=${text}`)
    .join(' ');
}

export function formatInputs(
  { inputs, cursor }: { readonly inputs: readonly QuestionView[]; readonly cursor?: string },
  screen: Screen = paper,
): string {
  const more = cursor === undefined ? '' : `\n(there may be more: --cursor '${printable(cursor)}')`;
  if (inputs.length === 0) return `no questions${more}`;
  return inputs.map((input) => formatInput(input, screen)).join('\n\n') + more;
}

function formatInput(input: QuestionView, screen: Screen): string {
  const rows: Row[] = [
    ['input', input.inputId],
    ['question', input.message],
    ['since', time(input.sinceMs, screen)],
  ];
  if (input.server !== undefined) rows.push(['asked by', input.server]);
  for (const { to, told } of input.addressees ?? [])
    rows.push(['for', `${to} (${told === 0 ? 'not told yet' : `told ${counted(told, 'time')}`})`]);
  if (input.url !== undefined) rows.push(['page', input.url]);
  if (input.schema !== undefined) rows.push(['schema', value(input.schema, screen)]);
  if (input.deadlineAtMs !== undefined) rows.push(['deadline', time(input.deadlineAtMs, screen)]);
  return formatRows(rows, screen);
}

export function formatList({ runs, cursor }: RunList, screen: Screen = paper): string {
  const more = cursor === undefined ? '' : `\n(there may be more: --cursor '${printable(cursor)}')`;
  if (runs.length === 0) return `no runs${more}`;
  const isOwned = runs.some(({ owner }) => owner !== undefined);
  // In a pipe the columns stay as they are, and --json has the other times.
  const isTerminal = screen.width !== undefined;
  const isTimed = isTerminal && runs.some((run) => heldUntilMs(run) !== undefined);
  const hasEnds = !isTerminal || runs.some(({ endedAtMs }) => endedAtMs !== undefined);
  const isBlocked = isTerminal && runs.some(({ blocked }) => blocked === true);
  const optional = (
    ended: string,
    until: string,
    tenant: string | undefined = '',
    owner: string | undefined = '',
  ): readonly string[] => [
    ...(hasEnds ? [ended] : []),
    ...(isTimed ? [until] : []),
    ...(isOwned ? [tenant, owner] : []),
  ];
  const optionalTime = (atMs: number | undefined): string => (atMs === undefined ? '' : shortTime(atMs, screen));
  const table = formatTable(
    [
      ['RUN', 'WORKFLOW', 'STATUS', 'STARTED', ...optional('ENDED', 'UNTIL', 'TENANT', 'OWNER')],
      ...runs.map((run) => [
        run.runId,
        run.workflow,
        { text: statusOf(run), style: statusStyle(statusOf(run)) },
        shortTime(run.createdAtMs, screen),
        ...optional(optionalTime(run.endedAtMs), optionalTime(heldUntilMs(run)), run.tenant, run.owner),
      ]),
    ],
    screen,
    { cut: ['WORKFLOW', 'TENANT', 'OWNER'] },
  );
  return table + (isBlocked ? '\noutwait why <runId> says what blocks a run, and what to do' : '') + more;
}

/** Returns until when a run is paused or delayed. */
function heldUntilMs({ pausedUntilMs, startAtMs }: ListedRun): number | undefined {
  return pausedUntilMs ?? startAtMs;
}

/** Returns the waits without their tokens, which should not appear on a shared screen. */
export function formatWaits({ waits, nextAfter }: ExternalWaitPage, screen: Screen = paper): string {
  const more = nextAfter === undefined ? '' : `\n(there may be more: --after '${printable(nextAfter)}')`;
  if (waits.length === 0) return `no waits${more}`;
  const table = formatTable(
    [
      ['RUN', 'WAIT', 'KIND', 'NAME', 'SERVER', 'SINCE', 'DEADLINE'],
      ...waits.map((wait) => [
        wait.runId,
        wait.waitId,
        wait.kind === 'remoteTask' ? 'remote task' : wait.kind,
        wait.name,
        wait.server ?? '',
        shortTime(wait.sinceMs, screen),
        wait.deadlineAtMs === undefined ? '' : shortTime(wait.deadlineAtMs, screen),
      ]),
    ],
    screen,
    { cut: ['NAME', 'SERVER'] },
  );
  return table + more;
}

export function formatSchedule(schedule: ScheduleView, screen: Screen = paper): string {
  const rows: Row[] = [
    ['schedule', schedule.name],
    ['workflow', schedule.workflow],
    [
      'status',
      schedule.pausedAtMs === undefined
        ? 'active'
        : `paused ${since(schedule.pausedAtMs, screen)}${schedule.pausedBy === undefined ? '' : ` by ${schedule.pausedBy}`}`,
    ],
  ];
  if (schedule.problem !== undefined) rows.push(['problem', schedule.problem]);
  if (schedule.nextTickAtMs !== undefined) rows.push(['next', time(schedule.nextTickAtMs, screen)]);
  if (schedule.lastTickAtMs !== undefined) rows.push(['last', time(schedule.lastTickAtMs, screen)]);
  if (schedule.lastRunId !== undefined) rows.push(['last run', schedule.lastRunId]);
  if (schedule.waitingTickAtMs !== undefined)
    rows.push(['waiting', `the tick of ${time(schedule.waitingTickAtMs, screen)}`]);
  return formatRows(rows, screen);
}

export function formatSchedules(schedules: readonly ScheduleView[], screen: Screen = paper): string {
  if (schedules.length === 0) return 'no schedules';
  const optionalTime = (atMs: number | undefined): string => (atMs === undefined ? '' : shortTime(atMs, screen));
  const table = formatTable(
    [
      ['SCHEDULE', 'WORKFLOW', 'STATUS', 'NEXT', 'LAST', 'LAST RUN', 'WAITING'],
      ...schedules.map((schedule) => [
        schedule.name,
        schedule.workflow,
        schedule.problem !== undefined ? 'problem' : schedule.paused ? 'paused' : 'active',
        optionalTime(schedule.nextTickAtMs),
        optionalTime(schedule.lastTickAtMs),
        schedule.lastRunId ?? '',
        optionalTime(schedule.waitingTickAtMs),
      ]),
    ],
    screen,
  );
  return [table, ...schedules.flatMap(({ problem }) => (problem === undefined ? [] : [printable(problem)]))].join('\n');
}

export function formatServers(servers: readonly ServerView[], screen: Screen = paper): string {
  if (servers.length === 0) return 'no servers';
  return formatTable(
    [
      ['SERVER', 'PROTOCOL', 'STATE', 'FAILURES', 'LAST FAILURE', 'LEFT ALONE UNTIL'],
      ...servers.map((server) => [
        server.name,
        server.protocol,
        server.state.replace('_', ' '),
        String(server.failures),
        server.lastFailureAtMs === undefined ? '' : shortTime(server.lastFailureAtMs, screen),
        server.leftAloneUntilMs === undefined ? '' : shortTime(server.leftAloneUntilMs, screen),
      ]),
    ],
    screen,
  );
}
