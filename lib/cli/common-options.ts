import { type Command, Option } from 'commander';
import { type CredentialFlags, sigv4Help } from './credential.js';
import { urlArgument } from './arguments.js';

/** Flags of every command that calls a running engine. */
export interface CommonFlags extends CredentialFlags {
  readonly url: string;
  readonly json?: boolean;
}

export function common(command: Command): Command {
  return withJson(
    command
      .addOption(
        new Option('--url <url>', 'URL of the engine')
          .env('OUTWAIT_URL')
          .default('http://127.0.0.1:4000')
          .argParser(urlArgument),
      )
      .option('--sigv4', sigv4Help),
  );
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print the result as one line of JSON');
}
