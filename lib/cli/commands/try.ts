import { type Command, Option } from 'commander';
import { isJsonObject, type JsonValue } from '../../base/json.js';
import type { RemoteRequest } from '../../remote/transport.js';
import { durationArgument } from '../duration.js';
import { helpNote } from '../help-note.js';
import { jsonOption } from '../given-json.js';
import { withJson } from '../common-options.js';
import type { TryFlags } from '../try-server.js';
import { remoteProtocols } from '../../history/remote-protocol.js';

interface Flags extends TryFlags {
  readonly tool?: string;
  readonly skill?: string;
  readonly message?: string;
  readonly arguments?: JsonValue;
}

export function addTryCommand(program: Command): void {
  withJson(program.command('try'))
    .description('inspect a remote server and, with --tool, --skill or --message, make one real call; needs no engine')
    .argument('<server>', 'name of a server in the configuration, or a URL')
    .option('--config <file>', 'configuration, for a name', 'outwait.config.ts')
    .addOption(new Option('--protocol <protocol>', 'protocol of a URL; default: detected').choices(remoteProtocols))
    .addOption(new Option('--tool <name>', 'call this tool (MCP)').conflicts(['skill', 'message']))
    .addOption(new Option('--skill <id>', 'use this skill (A2A)').conflicts(['tool', 'message']))
    .addOption(new Option('--message <text>', 'send this message (A2A)').conflicts(['tool', 'skill', 'arguments']))
    .addOption(jsonOption('--arguments <json>', 'arguments of the tool or skill, an object'))
    .option(
      '--timeout <duration>',
      'give up after this time, including the reply to the start, and cancel the task',
      durationArgument,
      { minutes: 10 },
    )
    .addHelpText(
      'after',
      helpNote(
        'The exit code is 1 if the server cannot be called or the call does not complete. Ctrl-C cancels the task.',
      ),
    )
    .action(trial);
}

async function trial(target: string, flags: Flags, command: Command): Promise<void> {
  const request = requestOf(flags, command);
  const isUrl = /^https?:\/\//i.test(target);
  const problem = isUrl ? problemWithUrl(target) : problemWithName(flags);
  if (problem !== undefined) command.error(`error: ${problem}`);
  // Loaded here, so that the other commands start fast.
  const { tryServer } = await import('../try-server.js');
  await tryServer({ target, isUrl, request }, flags);
}

function problemWithUrl(target: string): string | undefined {
  if (!URL.canParse(target)) return `${JSON.stringify(target)} is not a URL`;
  const { username, password } = new URL(target);
  if (username === '' && password === '') return undefined;
  return 'a URL with user info is not supported; put the server into a configuration, with auth';
}

function problemWithName({ protocol }: Flags): string | undefined {
  return protocol === undefined
    ? undefined
    : '--protocol is for a URL; a configured server has its protocol in the configuration';
}

function requestOf(flags: Flags, command: Command): RemoteRequest | undefined {
  const { tool, skill, message, arguments: given } = flags;
  if (given !== undefined && tool === undefined && skill === undefined)
    command.error('error: --arguments needs --tool or --skill');
  if (given !== undefined && !isJsonObject(given)) command.error('error: --arguments must be a JSON object');
  const args = given ?? {};
  if (tool !== undefined) return { kind: 'tool', tool, arguments: args };
  if (skill !== undefined) return { kind: 'skill', skill, arguments: args };
  if (message !== undefined) return { kind: 'message', parts: [{ text: message }] };
  return undefined;
}
