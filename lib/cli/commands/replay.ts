import { defined } from '../../base/defined.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { isEngineError, storedError, type StoredError } from '../../base/errors.js';
import type { HistoryView } from '../../operations/views/read-history.js';
import type { ReplayedHistory } from '../../operations/replay-verdict.js';
import { CliError, exitCodes } from '../cli-error.js';
import { withJson } from '../common-options.js';
import { formatOutcome } from '../format.js';
import { printable } from '../printable.js';
import type { Screen } from '../screen.js';
import { formatTable } from '../table.js';
import { helpNote } from '../help-note.js';
import { historyFiles, readHistoryFile } from '../history-files.js';
import { print } from '../output.js';

interface Flags {
  readonly config: string;
  readonly json?: boolean;
  readonly from?: readonly string[];
}

/** Result for one file. */
export interface ReplayedFile {
  readonly file: string;
  readonly kind: ReplayedHistory['kind'] | 'unreadable';
  /** Missing if the file is not a history. */
  readonly runId?: string;
  readonly workflow?: string;
  readonly version?: string;
  /** Why the history does not fit, or cannot be read. */
  readonly error?: StoredError;
}

export function addReplayCommand(program: Command): void {
  withJson(program.command('replay'))
    .description(
      'check whether the code of the configuration fits exported histories; runs no step and calls no server',
    )
    .argument('[file]', 'output of outwait history <runId> --json')
    .option('--from <paths...>', 'instead of one file: all histories in these files and folders, with a summary')
    .option('--config <file>', 'configuration', 'outwait.config.ts')
    .addHelpText('after', helpNote('The exit code is 1 if a history does not fit, 2 if a path cannot be read.'))
    .action(replay);
}

async function replay(file: string | undefined, flags: Flags, command: Command): Promise<void> {
  if (file !== undefined && flags.from !== undefined) command.error('error: a file and --from cannot be combined');
  if (file !== undefined) await replayOne(file, flags);
  else if (flags.from !== undefined) await replayAll(flags.from, flags);
  else command.error("error: missing required argument 'file', or --from");
}

async function replayOne(file: string, flags: Flags): Promise<void> {
  const history = await readHistoryFile(file);
  const result = await withReplay(flags.config, (replayWith) => replayWith(history));
  print(flags, result, (screen) =>
    result.kind === 'clean'
      ? `fits${result.outcome === undefined ? '' : `: ${formatOutcome(result.outcome, screen)}`}`
      : `does not fit: ${result.error.message} (${result.error.code})`,
  );
  if (result.kind === 'differs') process.exitCode = exitCodes.failed;
}

async function replayAll(paths: readonly string[], flags: Flags): Promise<void> {
  const files = await historyFiles(paths);
  const results = await withReplay(flags.config, async (replayWith) => {
    const replayed: ReplayedFile[] = [];
    // Replayed one at a time: the histories of a folder may not fit into memory together.
    for (const file of files) replayed.push(await replayFile(file, replayWith));
    return replayed;
  });
  const fit = results.filter(({ kind }) => kind === 'clean').length;
  print(flags, { histories: results.length, fit, results }, (screen) => formatReplays(results, screen));
  if (fit < results.length) process.exitCode = exitCodes.failed;
}

type ReplayWith = (history: HistoryView) => Promise<ReplayedHistory>;

async function replayFile(file: string, replayWith: ReplayWith): Promise<ReplayedFile> {
  let history: HistoryView;
  try {
    history = await readHistoryFile(file);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { file, kind: 'unreadable', error: storedError('HISTORY_FORMAT_UNKNOWN', error.message) };
  }
  const { runId, workflow, version } = history;
  const result = await replayWith(history);
  return {
    file,
    kind: result.kind,
    runId,
    workflow,
    version,
    ...defined({ error: result.kind === 'differs' ? result.error : undefined }),
  };
}

/** Bundles and loads the configuration once. @throws CliError if that fails */
async function withReplay<Result>(
  configFile: string,
  use: (replayWith: ReplayWith) => Promise<Result>,
): Promise<Result> {
  // Loaded here, so that the other commands start fast.
  const [{ loadApp }, { system }, { replayHistory }] = await Promise.all([
    import('../../aws/load-app.js'),
    import('../../process/system.js'),
    import('../../operations/views/replay-history.js'),
  ]);
  const folder = await mkdtemp(join(tmpdir(), 'outwait-replay-'));
  try {
    const app = await loadApp(configFile, folder);
    return await use((history) => replayHistory(system, app, history));
  } catch (error) {
    if (isEngineError(error)) throw new CliError(error.message, exitCodes.failed);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns how many histories fit, by workflow and version, followed by each that does not. */
function formatReplays(results: readonly ReplayedFile[], screen: Screen): string {
  if (results.length === 0) return 'no histories';
  const groups = new Map<string, ReplayedFile[]>();
  for (const result of results) {
    const key = JSON.stringify([result.workflow, result.version]);
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  const rows = [...groups.values()].map((group) => {
    const fit = group.filter(({ kind }) => kind === 'clean').length;
    const { workflow = '', version = '' } = group[0] ?? {};
    return [workflow, version, String(group.length), String(fit), String(group.length - fit)];
  });
  const table = formatTable([['WORKFLOW', 'VERSION', 'HISTORIES', 'FIT', 'DO NOT FIT'], ...rows], screen);
  const faults = results.flatMap(({ file, error }) =>
    error === undefined ? [] : [printable(`${file}: ${error.message} (${error.code})`)],
  );
  return faults.length === 0 ? table : `${table}\n\n${faults.join('\n')}`;
}
