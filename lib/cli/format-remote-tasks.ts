import type { EpochMs } from '../base/time.js';
import type { TaskProgress } from '../history/task-trail.js';
import type { RemoteTaskPage } from '../operations/views/list-remote-tasks.js';
import type { RemoteTaskReading } from '../operations/views/read-remote-task.js';
import type { TaskView } from '../operations/views/task-view.js';
import type { WaitView } from '../operations/views/wait-view.js';
import { printable } from './printable.js';
import { formatRows, formatTable, type Row, time } from './table.js';

// Output of the commands for a person: remote tasks, and what is known of them.

export function formatRemoteTasks({ tasks, nextAfter }: RemoteTaskPage, nowMs: EpochMs): string {
  const more = nextAfter === undefined ? '' : `\n(there may be more: --after '${printable(nextAfter)}')`;
  if (tasks.length === 0) return `no remote tasks${more}`;
  const table = formatTable([
    ['RUN', 'WAIT', 'SERVER', 'TASK', 'STATE', 'SINCE', 'AGE', 'SERVER SAYS', 'CHANGED', 'PROGRESS'],
    ...tasks.map(({ runId, waitId, server, taskId, state, sinceMs, task, stale }) => [
      ...[runId, waitId, server, taskId, stale === true ? `${state} (stale)` : state, time(sinceMs)],
      ...[age(nowMs - sinceMs), task?.state ?? '', task === undefined ? '' : time(task.changedAtMs)],
      amountOf(task ?? {}),
    ]),
  ]);
  return table + more;
}

/** Returns what a wait shows of its remote task, for a line about the wait. */
export function taskTexts({ task, stale }: Pick<WaitView, 'task' | 'stale'>): readonly string[] {
  if (task === undefined) return [];
  const said = `${task.state} since ${time(task.stateSinceMs)}${saidOf(task)}`;
  return stale === true ? [said, `stale: no change since ${time(task.changedAtMs)}`] : [said];
}

/** Returns the changes of the remote tasks of a run, one per line. */
export function changeRows(waits: readonly WaitView[]): readonly Row[] {
  return waits.flatMap(({ waitId, changes = [] }) =>
    changes.map((change): Row => ['', `wait ${waitId}: ${time(change.atMs)} ${change.state}${saidOf(change)}`]),
  );
}

export function formatReading(reading: RemoteTaskReading): string {
  const { server, taskId, kind, state, error, waits, next } = reading;
  const rows: Row[] = [
    ['task', `${taskId} on ${server}`],
    ['state', state === undefined ? kind : `${state}${saidOf(reading)}`],
  ];
  if (error !== undefined) rows.push(['error', `${error.code}: ${error.message}`]);
  for (const wait of waits) rows.push(['held by', formatHolder(wait)]);
  if (waits.length === 0) rows.push(['held by', 'no run under way']);
  if (reading.partlySearched === true) rows.push(['', 'only the 500 newest runs under way were searched']);
  rows.push(['next', next]);
  return formatRows(rows);
}

function formatHolder({ runId, waitId, open, nextAtMs, deadlineAtMs }: RemoteTaskReading['waits'][number]): string {
  const parts = [`run ${runId}, wait ${waitId}`];
  if (!open) parts.push('which has ended');
  if (nextAtMs !== undefined) parts.push(`next read ${time(nextAtMs)}`);
  if (open && deadlineAtMs !== undefined) parts.push(`deadline ${time(deadlineAtMs)}`);
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

/** Returns a length of time in its two largest units. */
function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days > 0) return `${days}d ${hours % 24}h`;
  if (hours > 0) return `${hours}h ${minutes % 60}m`;
  return minutes > 0 ? `${minutes}m` : `${Math.max(0, Math.floor(ms / 1_000))}s`;
}
