import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Finding } from '../../lint/finding.js';
import { CliError, exitCodes } from '../cli-error.js';
import { withJson } from '../common-options.js';
import { helpNote } from '../help-note.js';
import { print } from '../output.js';
import { sourceFiles } from '../source-files.js';
import { counted } from '../counted.js';

interface Flags {
  readonly json?: boolean;
}

export function addLintCommand(program: Command): void {
  withJson(program.command('lint'))
    .description(
      'find code that makes a workflow differ on replay: clocks, randomness, timers, network, environment, waits that are not awaited',
    )
    .argument('[files...]', 'files and folders; default: this folder')
    .addHelpText(
      'after',
      helpNote(
        'The exit code is 1 if there are findings, 2 if a file cannot be read. The comment // outwait-disable-next-line <rule> disables a rule for the next line.',
      ),
    )
    .action(lint);
}

async function lint(paths: readonly string[], flags: Flags): Promise<void> {
  const files = await readable(() => sourceFiles(paths.length === 0 ? ['.'] : paths));
  // Loaded here, so that the other commands start fast.
  const { lintSource } = await import('../../lint/lint-source.js');
  const findings: (Finding & { readonly file: string })[] = [];
  for (const file of files) {
    const text = await readable(() => readFile(file, 'utf8'));
    for (const finding of lintSource(file, text)) findings.push({ file, ...finding });
  }
  print(flags, { files: files.length, findings }, () =>
    [
      ...findings.map(({ file, line, column, rule, message }) => `${file}:${line}:${column}  ${rule}  ${message}`),
      `${counted(findings.length, 'finding')} in ${counted(files.length, 'file')}`,
    ].join('\n'),
  );
  if (findings.length > 0) process.exitCode = exitCodes.failed;
}

/** Reads files. An unreadable one is a usage error: it is neither clean nor a finding. */
async function readable<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    const { code = 'unknown', path = 'a file' } = error as NodeJS.ErrnoException;
    throw new CliError(`${path} cannot be read (${code})`, exitCodes.usage);
  }
}
