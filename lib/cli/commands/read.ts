import { defined } from '../../base/defined.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import { type Command, Option } from 'commander';
import type { RunExplanation } from '../../operations/views/explain-run.js';
import type { ExternalWaitPage } from '../../operations/views/list-external-waits.js';
import { listStatuses, type RunList } from '../../operations/views/list-runs.js';
import type { HistoryView } from '../../operations/views/read-history.js';
import type { RunView } from '../../operations/views/show-run.js';
import { ApiClient } from '../api-client.js';
import { runArgument, runIdHelp, tagsArgument, textArgument, wholeNumberArgument } from '../arguments.js';
import { common, type CommonFlags } from '../common-options.js';
import { formatHistory } from '../format-events.js';
import { formatList, formatRun, formatWaits, formatWhy } from '../format.js';
import { print } from '../output.js';
import { resolveRun } from '../resolve-run.js';
import { readWholeHistory } from '../whole-history.js';

/** Adds the commands that change nothing. */
export function addReadCommands(program: Command): void {
  common(program.command('list'))
    .description('list runs')
    .addOption(new Option('--status <status>', 'only runs with this status').choices(listStatuses))
    .option('--workflow <name>', 'only runs of this workflow')
    .option('--tag <name=value>', 'only runs with this tag; if repeated, with all of them', tagsArgument)
    .option('--limit <number>', 'maximum number of rows', wholeNumberArgument(1, 100), 20)
    .option('--cursor <text>', 'cursor of the previous page', textArgument(2_048))
    .action(list);
  common(program.command('show'))
    .description('show a run and what it waits for')
    .argument('<runId>', runIdHelp, runArgument)
    .action(show);
  common(program.command('why'))
    .description('explain why a run is in its current state')
    .argument('<runId>', runIdHelp, runArgument)
    .action(why);
  common(program.command('waits'))
    .description('list the waits that can be settled from outside; --json also prints their tokens')
    .option('--run <runId>', 'only waits of this run', runArgument)
    .option('--server <name>', 'only tasks of this server', textArgument(remoteIdMaxBytes))
    .option('--task <taskId>', 'only this task; needs --server', textArgument(remoteIdMaxBytes))
    .addOption(
      new Option('--after <text>', 'value from the previous page').argParser(textArgument(256)).conflicts('run'),
    )
    .action(waits);
  common(program.command('history'))
    .description('show the events of a run')
    .argument('<runId>', runIdHelp, runArgument)
    .option('--limit <number>', 'only so many events, the newest', wholeNumberArgument(1, 1_000_000))
    .action(history);
}

interface ListFlags extends CommonFlags {
  readonly status?: string;
  readonly workflow?: string;
  readonly tag?: Readonly<Record<string, string>>;
  readonly limit: number;
  readonly cursor?: string;
}

async function list(flags: ListFlags): Promise<void> {
  const query = new URLSearchParams({
    limit: String(flags.limit),
    ...defined({ status: flags.status, workflow: flags.workflow, cursor: flags.cursor }),
  });
  for (const [name, text] of Object.entries(flags.tag ?? {})) query.append('tag', `${name}:${text}`);
  const page = await new ApiClient(flags).get<RunList>(`/runs?${query.toString()}`);
  print(flags, page, (screen) => formatList(page, screen));
}

interface WaitsFlags extends CommonFlags {
  readonly run?: string;
  readonly server?: string;
  readonly task?: string;
  readonly after?: string;
}

async function waits(flags: WaitsFlags): Promise<void> {
  const { server, task: taskId, after } = flags;
  const client = new ApiClient(flags);
  const run = flags.run === undefined ? undefined : await resolveRun(client, flags.run, flags);
  const query = new URLSearchParams(defined({ run, server, taskId, after }));
  const page = await client.get<ExternalWaitPage>(`/activities/external?${query.toString()}`);
  print(flags, page, (screen) => formatWaits(page, screen));
}

async function show(reference: string, flags: CommonFlags): Promise<void> {
  const client = new ApiClient(flags);
  const run = await client.get<RunView>(`/runs/${await resolveRun(client, reference, flags)}`);
  print(flags, run, (screen) => formatRun(run, screen));
}

async function why(reference: string, flags: CommonFlags): Promise<void> {
  const client = new ApiClient(flags);
  const run = await client.get<RunExplanation>(`/runs/${await resolveRun(client, reference, flags)}/why`);
  print(flags, run, (screen) => formatWhy(run, screen));
}

async function history(reference: string, flags: CommonFlags & { readonly limit?: number }): Promise<void> {
  const client = new ApiClient(flags);
  const view = await readWholeHistory(client, await resolveRun(client, reference, flags));
  print(flags, newest(view, flags.limit), (screen) => formatHistory(view, screen, flags.limit));
}

/** Returns a history with its newest events, and how many were left out: `outwait replay` refuses such a one. */
function newest(view: HistoryView, limit = Infinity): HistoryView & { readonly omittedEvents?: number } {
  const omittedEvents = Math.max(0, view.events.length - limit);
  return omittedEvents === 0 ? view : { ...view, events: view.events.slice(omittedEvents), omittedEvents };
}
