import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { isRunId } from '../../base/ids.js';
import { listStatuses, type RunList } from '../../operations/views/list-runs.js';
import { ApiClient, ApiError } from '../api-client.js';
import { tagsArgument, wholeNumberArgument } from '../arguments.js';
import { CliError, exitCodes } from '../cli-error.js';
import { common, type CommonFlags } from '../common-options.js';
import { printable } from '../printable.js';
import { print } from '../output.js';
import { readWholeHistory } from '../whole-history.js';

/** Rows of a page: the maximum of the API. */
const pageRows = 100;

interface Flags extends CommonFlags {
  readonly status: string;
  readonly workflow?: string;
  readonly tag?: Readonly<Record<string, string>>;
  readonly limit: number;
}

export interface Exported {
  readonly folder: string;
  readonly histories: number;
  /** Runs whose history could not be read, with the reason. */
  readonly failed: readonly { readonly runId: string; readonly reason: string }[];
}

export function addExportCommand(program: Command): void {
  common(program.command('export'))
    .description('write the histories of runs to a folder, for outwait replay --from; they contain payloads')
    .argument('<folder>', 'an empty folder; created if it is missing')
    .addOption(new Option('--status <status>', 'status of the runs').choices(listStatuses).default('running'))
    .option('--workflow <name>', 'only runs of this workflow')
    .option('--tag <name=value>', 'only runs with this tag; if repeated, with all of them', tagsArgument)
    .option('--limit <number>', 'maximum number of runs, newest first', wholeNumberArgument(1, 100_000), 1_000)
    .action(exportHistories);
}

async function exportHistories(folder: string, flags: Flags): Promise<void> {
  await openEmpty(folder);
  const client = new ApiClient(flags);
  let histories = 0;
  const failed: { readonly runId: string; readonly reason: string }[] = [];
  for await (const { runId } of runsOf(client, flags)) {
    try {
      const history = await readWholeHistory(client, runId);
      // Readable by this user only, since it contains payloads.
      await writeFile(join(folder, `${runId}.json`), `${JSON.stringify(history)}\n`, { mode: 0o600 });
      histories++;
    } catch (error) {
      if (!(error instanceof ApiError) || error.isPassing) throw error;
      failed.push({ runId, reason: error.message });
    }
  }
  const exported: Exported = { folder, histories, failed };
  print(flags, exported, () => formatExport(exported));
  if (failed.length > 0) process.exitCode = exitCodes.failed;
}

/** Creates the folder, which must be empty: a history of an earlier export would be taken for a current one. */
async function openEmpty(folder: string): Promise<void> {
  let names: readonly string[];
  try {
    await mkdir(folder, { recursive: true });
    names = await readdir(folder);
  } catch (error) {
    throw new CliError(
      `${folder} cannot be used (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
      exitCodes.usage,
    );
  }
  if (names.length > 0)
    throw new CliError(`${folder} must be empty, but contains ${names.length} files or folders`, exitCodes.usage);
}

async function* runsOf(client: ApiClient, flags: Flags): AsyncGenerator<RunList['runs'][number]> {
  const query = new URLSearchParams({ status: flags.status, limit: String(Math.min(flags.limit, pageRows)) });
  if (flags.workflow !== undefined) query.set('workflow', flags.workflow);
  for (const [name, text] of Object.entries(flags.tag ?? {})) query.append('tag', `${name}:${text}`);
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    if (cursor !== undefined) query.set('cursor', cursor);
    const page: RunList = await client.get<RunList>(`/runs?${query.toString()}`);
    for (const run of page.runs) {
      // The id becomes a file name, and the server may not be an engine.
      if (!isRunId(run.runId)) throw new CliError('the engine returned an invalid run id', exitCodes.failed);
      if (seen.has(run.runId)) continue;
      if (seen.size === flags.limit) return;
      seen.add(run.runId);
      yield run;
    }
    // Stops if the cursor does not move, whatever the server returns.
    cursor = page.cursor === cursor ? undefined : page.cursor;
  } while (cursor !== undefined);
}

function formatExport({ folder, histories, failed }: Exported): string {
  return [
    printable(`${histories} ${histories === 1 ? 'history' : 'histories'} in ${folder}`),
    ...failed.map(({ runId, reason }) => printable(`not exported: ${runId}: ${reason}`)),
  ].join('\n');
}
