import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { addDevCommand } from './cli/commands/dev.js';
import { CliError, exitCodes } from './cli/cli-error.js';
import { endWithOutput } from './cli/endings.js';
import { printProblem } from './cli/output.js';
import { printableJson } from './cli/printable.js';
import { addCompletionCommand } from './cli/commands/completion.js';
import { addDoctorCommand } from './cli/commands/doctor.js';
import { addExportCommand } from './cli/commands/export.js';
import { addInitCommand } from './cli/commands/init.js';
import { addInputCommands } from './cli/commands/inputs.js';
import { addKeyCommands } from './cli/commands/keys.js';
import { addLintCommand } from './cli/commands/lint.js';
import { addReadCommands } from './cli/commands/read.js';
import { addRemoteCommands } from './cli/commands/remote-tasks.js';
import { addRedriveCommand } from './cli/commands/redrive.js';
import { addReplayCommand } from './cli/commands/replay.js';
import { addRunCommands } from './cli/commands/runs.js';
import { addServersCommand } from './cli/commands/servers.js';
import { addServeCommands } from './cli/commands/serve.js';
import { addTryCommand } from './cli/commands/try.js';
import { addTypesCommand } from './cli/commands/types.js';
import { addWatchCommand } from './cli/commands/watch.js';
import { addScheduleCommands } from './cli/commands/schedules.js';

/** Runs a command as this process: it ends when nobody reads its output any more. */
export async function runProcess(argv: readonly string[]): Promise<void> {
  endWithOutput();
  await main(argv);
}

/** Runs a command and sets the exit code of the process: 0, 1 (refused, unreachable or not completed) or 2 (usage). */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('outwait');
  const version = packageVersion();
  program
    .description('Durable workflows that wait on tasks of other servers')
    .version(version)
    .option('--no-color', 'no colour, also on a terminal (like the variable NO_COLOR)')
    .on('option:no-color', () => {
      process.env['NO_COLOR'] = '1';
    })
    .showHelpAfterError('(outwait --help lists the commands and options)')
    .exitOverride();
  addDevCommand(program);
  addRunCommands(program);
  addReadCommands(program);
  addWatchCommand(program);
  addInputCommands(program);
  addRemoteCommands(program);
  addScheduleCommands(program);
  addServersCommand(program);
  addServeCommands(program);
  addKeyCommands(program);
  addExportCommand(program);
  addReplayCommand(program);
  addRedriveCommand(program);
  addDoctorCommand(program);
  addTryCommand(program);
  addTypesCommand(program);
  addInitCommand(program, version);
  addLintCommand(program);
  addCompletionCommand(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
}

function report(error: unknown): number {
  // Commander has already printed the message. Requested help and version are not errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof CliError) {
    if (error.asJson === undefined) printProblem(error.message);
    else console.error(printableJson(error.asJson));
    return error.exitCode;
  }
  printProblem(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return exitCodes.failed;
}

function packageVersion(): string {
  // Resolved by package name: the path differs between source and build.
  const { version } = createRequire(import.meta.url)('outwait/package.json') as { version: string };
  return version;
}
