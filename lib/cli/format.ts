import type { JsonValue } from '../base/json.js';
import type { RunOutcome } from '../history/event.js';
import type { HistoryView, RunList, RunView, WaitView } from '../operations/read-runs.js';

// What the commands print for a person.

const valueMaxChars = 400;

export function formatRun(run: RunView): string {
  const rows: [string, string][] = [
    ['run', run.runId],
    ['workflow', `${run.workflow} (version ${run.version})`],
    ['status', run.status],
    ['started', time(run.createdAtMs)],
  ];
  if (run.endedAtMs !== undefined) rows.push(['ended', time(run.endedAtMs)]);
  if (run.input !== undefined) rows.push(['input', value(run.input)]);
  for (const wait of run.waits) rows.push(['waits for', formatWait(wait)]);
  if (run.blocked !== undefined) rows.push(['blocked', `${run.blocked.code}: ${run.blocked.message}`]);
  if (run.outcome !== undefined) rows.push(['outcome', formatOutcome(run.outcome)]);
  return rows.map(([name, text]) => `${name.padEnd(10)} ${text}`).join('\n');
}

export function formatOutcome(outcome: RunOutcome): string {
  switch (outcome.status) {
    case 'completed':
      return outcome.result === undefined ? 'completed' : `completed: ${value(outcome.result)}`;
    case 'failed':
      return `failed: ${outcome.error.message} (${outcome.error.code})`;
    case 'continued':
      return `continued as ${outcome.nextRunId}`;
    case 'cancelled':
    case 'terminated':
      return outcome.reason === undefined ? outcome.status : `${outcome.status}: ${outcome.reason}`;
  }
}

function formatWait(wait: WaitView): string {
  const parts = [wait.kind === 'remoteTask' ? 'remote task' : wait.kind];
  if (wait.name !== undefined) parts.push(wait.name);
  if (wait.server !== undefined) parts.push(`on ${wait.server}`);
  parts.push(`since ${time(wait.sinceMs)}`);
  if (wait.nextAtMs !== undefined) parts.push(`next ${time(wait.nextAtMs)}`);
  if (wait.deadlineAtMs !== undefined) parts.push(`deadline ${time(wait.deadlineAtMs)}`);
  if (wait.failedAttempts !== undefined) parts.push(`${wait.failedAttempts} failed`);
  if (wait.lastError !== undefined) parts.push(`last error: ${wait.lastError.message}`);
  return parts.join(', ');
}

export function formatList({ runs, cursor }: RunList): string {
  if (runs.length === 0) return 'no runs';
  const table = formatTable([
    ['RUN', 'WORKFLOW', 'STATUS', 'STARTED', 'ENDED'],
    ...runs.map((run) => [
      run.runId,
      run.workflow,
      run.status,
      time(run.createdAtMs),
      run.endedAtMs === undefined ? '' : time(run.endedAtMs),
    ]),
  ]);
  return cursor === undefined ? table : `${table}\n(there may be more: --limit)`;
}

export function formatHistory({ events }: HistoryView): string {
  if (events.length === 0) return 'no events yet';
  return formatTable([
    ['SEQ', 'TIME', 'EVENT', 'DETAILS'],
    ...events.map(({ seq, atMs, type, ...rest }) => [
      String(seq),
      time(atMs),
      type,
      Object.keys(rest).length === 0 ? '' : value(rest as unknown as JsonValue),
    ]),
  ]);
}

function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function time(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** JSON in one line, which also keeps control characters of a stranger's text away from the terminal. */
function value(given: JsonValue): string {
  const text = JSON.stringify(given);
  return text.length <= valueMaxChars ? text : `${text.slice(0, valueMaxChars)}…`;
}
