import type { EpochMs } from '../base/time.js';
import type { TaskProgress } from '../history/task-trail.js';
import type { RemoteTaskPage } from '../operations/views/list-remote-tasks.js';
import type { RemoteTaskReading } from '../operations/views/read-remote-task.js';
import type { TaskView } from '../operations/views/task-view.js';
import type { WaitView } from '../operations/views/wait-view.js';
import { printable } from './printable.js';
import { paper, type Screen } from './screen.js';
import { formatRows, formatTable, type Row } from './table.js';
import { lengthOf, since, time } from './times.js';

// Output of the commands for a person: remote tasks, and what is known of them.

export function formatRemoteTasks(
  { tasks, nextAfter }: RemoteTaskPage,
  nowMs: EpochMs,
  screen: Screen = paper,
): string {
  const more = nextAfter === undefined ? '' : `\n(there may be more: --after '${printable(nextAfter)}')`;
  if (tasks.length === 0) return `no remote tasks${more}`;
  const table = formatTable(
    [
      ['RUN', 'WAIT', 'SERVER', 'TASK', 'STATE', 'SINCE', 'AGE', 'SERVER SAYS', 'CHANGED', 'PROGRESS'],
      ...tasks.map(({ runId, waitId, server, taskId, state, sinceMs, task, stale }) => [
        ...[runId, waitId, server, taskId, stale === true ? `${state} (stale)` : state, time(sinceMs, screen)],
        ...[lengthOf(nowMs - sinceMs), task?.state ?? '', task === undefined ? '' : time(task.changedAtMs, screen)],
        amountOf(task ?? {}),
      ]),
    ],
    screen,
  );
  return table + more;
}

/** Returns what a wait shows of its remote task, for a line about the wait. */
export function taskTexts({ task, stale }: Pick<WaitView, 'task' | 'stale'>, screen: Screen): readonly string[] {
  if (task === undefined) return [];
  const said = `${task.state} ${since(task.stateSinceMs, screen)}${saidOf(task)}`;
  return stale === true ? [said, `stale: no change ${since(task.changedAtMs, screen)}`] : [said];
}

/** Returns the changes of the remote tasks of a run, one per line. */
export function changeRows(waits: readonly WaitView[], screen: Screen): readonly Row[] {
  return waits.flatMap(({ waitId, changes = [] }) =>
    changes.map((change): Row => ['', `wait ${waitId}: ${time(change.atMs, screen)} ${change.state}${saidOf(change)}`]),
  );
}

export function formatReading(reading: RemoteTaskReading, screen: Screen = paper): string {
  const { server, taskId, kind, state, error, waits, next } = reading;
  const rows: Row[] = [
    ['task', `${taskId} on ${server}`],
    ['state', state === undefined ? kind : `${state}${saidOf(reading)}`],
  ];
  if (error !== undefined) rows.push(['error', `${error.code}: ${error.message}`]);
  for (const wait of waits) rows.push(['held by', formatHolder(wait, screen)]);
  if (waits.length === 0) rows.push(['held by', 'no run under way']);
  if (reading.partlySearched === true) rows.push(['', 'only the 500 newest runs under way were searched']);
  rows.push(['next', next]);
  return formatRows(rows, screen);
}

function formatHolder(
  { runId, waitId, open, nextAtMs, deadlineAtMs }: RemoteTaskReading['waits'][number],
  screen: Screen,
): string {
  const parts = [`run ${runId}, wait ${waitId}`];
  if (!open) parts.push('which has ended');
  if (nextAtMs !== undefined) parts.push(`next read ${time(nextAtMs, screen)}`);
  if (open && deadlineAtMs !== undefined) parts.push(`deadline ${time(deadlineAtMs, screen)}`);
  return parts.join(', ');
}

function saidOf(shown: Partial<TaskProgress>): string {
  const amount = amountOf(shown);
  const message = shown.message === undefined ? '' : `: "${shown.message}"`;
  return `${amount === '' ? '' : ` (${amount})`}${message}`;
}

function amountOf({ progress, total }: Pick<Partial<TaskView>, 'progress' | 'total'>): string {
  if (progress === undefined) return '';
  return total === undefined ? String(progress) : `${progress} of ${total}`;
}
