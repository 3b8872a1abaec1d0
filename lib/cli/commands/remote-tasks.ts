import { defined } from '../../base/defined.js';
import { type Command, Option } from 'commander';
import { type Duration, durationToMs } from '../../base/time.js';
import type { RemoteTaskReading } from '../../operations/views/read-remote-task.js';
import type { CancelRemoteResult } from '../../operations/requests/cancel-remote-task.js';
import type { RemoteTaskPage } from '../../operations/views/list-remote-tasks.js';
import { ApiClient } from '../api-client.js';
import {
  nameArgument,
  runArgument,
  runIdHelp,
  textArgument,
  waitIdArgument,
  wholeNumberArgument,
} from '../arguments.js';
import { exitCodes } from '../cli-error.js';
import { common, type CommonFlags } from '../common-options.js';
import { durationArgument } from '../duration.js';
import { formatReading, formatRemoteTasks } from '../format-remote-tasks.js';
import { print } from '../output.js';
import { resolveRun } from '../resolve-run.js';

/** Adds the commands that manage tasks on remote servers. */
export function addRemoteCommands(program: Command): void {
  const remote = program.command('remote').description('manage tasks on remote servers');
  common(remote.command('ls'))
    .description('list the remote tasks of runs under way, or tasks that no run waits for')
    .option('--orphaned', 'only tasks that may be running and that no run waits for')
    .option('--server <name>', 'only tasks on this server', nameArgument)
    .addOption(
      new Option('--stale [duration]', 'only open tasks without a change for so long; default: as configured')
        .argParser(durationArgument)
        .conflicts('orphaned'),
    )
    .option('--limit <number>', 'maximum number of rows, with --orphaned', wholeNumberArgument(1, 100), 20)
    .option('--after <text>', 'value from the previous page', textArgument(2_048))
    .action(list);
  common(remote.command('get'))
    .description('read a task of a server now, and change nothing')
    .argument('<server>', 'name of the server in the configuration of the app', nameArgument)
    .argument('<taskId>', 'id of the task on the server', textArgument(1_024))
    .action(get);
  common(remote.command('cancel'))
    .description('ask the server to cancel a remote task')
    .argument('<runId>', runIdHelp, runArgument)
    .argument('<waitId>', 'number of the wait', waitIdArgument)
    .action(cancel);
  common(remote.command('poll'))
    .description('read a remote task now')
    .argument('<runId>', runIdHelp, runArgument)
    .argument('<waitId>', 'number of the wait', waitIdArgument)
    .action(poll);
}

interface ListFlags extends CommonFlags {
  readonly orphaned?: boolean;
  readonly server?: string;
  readonly stale?: Duration | true;
  readonly limit: number;
  readonly after?: string;
}

async function list(flags: ListFlags): Promise<void> {
  const query = new URLSearchParams({
    limit: String(flags.limit),
    ...defined({ orphaned: flags.orphaned === true ? 'true' : undefined, server: flags.server, after: flags.after }),
    ...staleQuery(flags.stale),
  });
  const page = await new ApiClient(flags).get<RemoteTaskPage>(`/remote-tasks?${query.toString()}`);
  print(flags, page, (screen) => formatRemoteTasks(page, Date.now(), screen));
}

function staleQuery(stale: ListFlags['stale']): Readonly<Record<string, string>> {
  if (stale === undefined) return {};
  if (stale === true) return { stale: 'true' };
  return { stale: 'true', staleAfter: String(Math.max(1, Math.ceil(durationToMs(stale, 'stale') / 1_000))) };
}

async function get(server: string, taskId: string, flags: CommonFlags): Promise<void> {
  const path = `/remote-tasks/${encodeURIComponent(server)}?${new URLSearchParams({ taskId }).toString()}`;
  const reading = await new ApiClient(flags).get<RemoteTaskReading>(path);
  print(flags, reading, (screen) => formatReading(reading, screen));
  if (reading.kind === 'missing' || reading.kind === 'unreadable') process.exitCode = exitCodes.failed;
}

async function cancel(reference: string, waitId: string, flags: CommonFlags): Promise<void> {
  const client = new ApiClient(flags);
  const path = `/runs/${await resolveRun(client, reference, flags)}/waits/${waitId}/cancel-remote`;
  const answer = await client.post<CancelRemoteResult>(path, {});
  print(flags, answer, () =>
    answer.cancelled ? 'cancelled' : `not cancelled: the server ${whyNot[answer.reason]}: ${answer.error.message}`,
  );
  if (!answer.cancelled) process.exitCode = exitCodes.failed;
}

const whyNot = { refused: 'refused', unanswered: 'gave no usable answer' } as const;

async function poll(reference: string, waitId: string, flags: CommonFlags): Promise<void> {
  const client = new ApiClient(flags);
  const path = `/runs/${await resolveRun(client, reference, flags)}/waits/${waitId}/poll`;
  const answer = await client.post<{ readonly accepted: boolean }>(path, {});
  print(flags, answer, () => (answer.accepted ? 'accepted' : 'not accepted: the run no longer waits for the task'));
  if (!answer.accepted) process.exitCode = exitCodes.failed;
}
