import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { addDevCommand } from './cli/dev-command.js';
import { CliError, exitCodes } from './cli/cli-error.js';
import { plainJson, plainLines } from './cli/plain.js';
import { addDoctorCommand } from './cli/doctor-command.js';
import { addExportCommand } from './cli/export-command.js';
import { addInitCommand } from './cli/init-command.js';
import { addInputCommands } from './cli/input-commands.js';
import { addLintCommand } from './cli/lint-command.js';
import { addReadCommands } from './cli/read-commands.js';
import { addRemoteCommands } from './cli/remote-commands.js';
import { addRedriveCommand } from './cli/redrive-command.js';
import { addReplayCommand } from './cli/replay-command.js';
import { addRunCommands } from './cli/run-commands.js';
import { addServersCommand } from './cli/servers-command.js';
import { addTryCommand } from './cli/try-command.js';
import { addWatchCommand } from './cli/watch-command.js';
import { addScheduleCommands } from './cli/schedule-commands.js';

/** Runs the command line and sets the exit code of the process: 0, 1 (refused, unreachable, not completed) or 2 (usage). */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('outwait');
  const version = packageVersion();
  program
    .description('Durable workflows that wait on tasks of other servers')
    .version(version)
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
  addExportCommand(program);
  addReplayCommand(program);
  addRedriveCommand(program);
  addDoctorCommand(program);
  addTryCommand(program);
  addInitCommand(program, version);
  addLintCommand(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
}

function report(error: unknown): number {
  // Commander has printed it. Help and version that were asked for are no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof CliError) {
    console.error(error.asJson === undefined ? plainLines(`outwait: ${error.message}`) : plainJson(error.asJson));
    return error.exitCode;
  }
  console.error(plainLines(`outwait: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`));
  return exitCodes.failed;
}

function packageVersion(): string {
  // By the name of the package: the file is elsewhere when this one is built.
  const { version } = createRequire(import.meta.url)('outwait/package.json') as { version: string };
  return version;
}
