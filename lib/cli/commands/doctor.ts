import type { Command } from 'commander';
import { wholeNumberArgument } from '../arguments.js';
import { exitCodes } from '../cli-error.js';
import { withJson } from '../common-options.js';
import { print } from '../output.js';
import { printable } from '../printable.js';

interface Flags {
  readonly port: number;
  readonly config: string;
  readonly state: string;
  readonly json?: boolean;
}

export function addDoctorCommand(program: Command): void {
  withJson(program.command('doctor'))
    .description('check what local mode needs; the exit code is 1 if there is a problem')
    .option('--port <number>', 'port of outwait dev', wholeNumberArgument(0, 65_535), 4_000)
    .option('--config <file>', 'configuration', 'outwait.config.ts')
    .option('--state <folder>', 'folder for the runs', '.outwait')
    .action(doctor);
}

async function doctor({ port, config, state, ...flags }: Flags): Promise<void> {
  // Loaded here, so that the other commands start fast.
  const { examine } = await import('../../local/doctor.js');
  const findings = await examine({
    port,
    configFile: config,
    stateFolder: state,
    nodeVersion: process.versions.node,
    environment: process.env,
  });
  print(flags, { findings }, () =>
    findings
      .map(({ check, ok, text }) => `${(ok ? 'ok' : 'problem').padEnd(7)}  ${check.padEnd(13)}  ${printable(text)}`)
      .join('\n'),
  );
  if (findings.some(({ ok }) => !ok)) process.exitCode = exitCodes.failed;
}
