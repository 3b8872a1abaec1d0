import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { isEngineError } from '../base/errors.js';
import { isRunId } from '../base/ids.js';
import type { HistoryView } from '../operations/read-runs.js';
import type { ReplayedHistory } from '../operations/replay-history.js';
import { CliError, exitCodes } from './cli-error.js';
import { withJson } from './common-options.js';
import { formatOutcome } from './format.js';
import { print } from './output.js';

interface Flags {
  readonly config: string;
  readonly json?: boolean;
}

export function addReplayCommand(program: Command): void {
  withJson(program.command('replay'))
    .description('does the code of the configuration fit an exported history? runs no step and calls nobody')
    .argument('<file>', 'what outwait history <runId> --json printed')
    .option('--config <file>', 'the configuration', 'outwait.config.ts')
    .action(replay);
}

async function replay(file: string, flags: Flags): Promise<void> {
  const history = await readHistoryFile(file);
  // Loaded here, so that the other commands start fast.
  const [{ loadApp }, { system }, { replayHistory }] = await Promise.all([
    import('../local/load-app.js'),
    import('../aws/system.js'),
    import('../operations/replay-history.js'),
  ]);
  const folder = await mkdtemp(join(tmpdir(), 'outwait-replay-'));
  let result: ReplayedHistory;
  try {
    result = await replayHistory(system, await loadApp(flags.config, folder), history);
  } catch (error) {
    if (isEngineError(error)) throw new CliError(error.message, exitCodes.failed);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  print(flags, result, () =>
    result.kind === 'clean'
      ? `fits${result.outcome === undefined ? '' : `: ${formatOutcome(result.outcome)}`}`
      : `does not fit: ${result.error.message} (${result.error.code})`,
  );
  if (result.kind === 'differs') process.exitCode = exitCodes.failed;
}

/** @throws CliError for a file that is not there or holds no history */
async function readHistoryFile(file: string): Promise<HistoryView> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
      exitCodes.failed,
    );
  }
  let history: unknown;
  try {
    history = JSON.parse(text);
  } catch {
    history = undefined;
  }
  if (!isHistory(history)) {
    throw new CliError(`${file} holds no history; outwait history <runId> --json prints one`, exitCodes.failed);
  }
  return history;
}

function isHistory(value: unknown): value is HistoryView {
  if (typeof value !== 'object' || value === null) return false;
  const { runId, workflow, seed, events } = value as Partial<Record<keyof HistoryView, unknown>>;
  return (
    typeof runId === 'string' &&
    isRunId(runId) &&
    typeof workflow === 'string' &&
    typeof seed === 'string' &&
    Array.isArray(events) &&
    events.every((event: unknown) => typeof (event as { type?: unknown } | null)?.type === 'string')
  );
}
