import { type Command, Option } from 'commander';
import { urlArgument } from './arguments.js';

/** Of every command that asks a running engine. */
export interface CommonFlags {
  readonly url: string;
  readonly json?: boolean;
}

export function common(command: Command): Command {
  return withJson(
    command.addOption(
      new Option('--url <url>', 'where the engine listens')
        .env('OUTWAIT_URL')
        .default('http://127.0.0.1:4000')
        .argParser(urlArgument),
    ),
  );
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print the answer as one line of JSON');
}
