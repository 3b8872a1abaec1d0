import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { isEngineError } from '../../base/errors.js';
import { cutUtf8, isJsonObject, type JsonValue } from '../../base/json.js';
import { type Duration, durationToMs } from '../../base/time.js';
import type { TransportDeps } from '../../remote/endpoint/transport-deps.js';
import type { CallNews, TriedCall } from '../../remote/try/call.js';
import type { ServerLook } from '../../remote/try/findings.js';
import type { WireEvent } from '../../remote/try/wire-tap.js';
import type { RemoteEnd, RemoteRequest } from '../../remote/transport.js';
import type { ServerConfig } from '../../workflow/app.js';
import { dataOf, textOf } from '../../workflow/outcome.js';
import { durationArgument, jsonArgument } from '../arguments.js';
import { CliError, exitCodes } from '../cli-error.js';
import { withJson } from '../common-options.js';
import { print } from '../output.js';
import { plain, plainLines } from '../plain.js';

interface Flags {
  readonly config: string;
  readonly protocol?: 'mcp' | 'a2a';
  readonly tool?: string;
  readonly skill?: string;
  readonly message?: string;
  readonly arguments?: JsonValue;
  readonly timeout: Duration;
  readonly json?: boolean;
}

const textShownBytes = 2_048;

export function addTryCommand(program: Command): void {
  withJson(program.command('try'))
    .description('look at a remote server, and with --tool, --skill or --message make one real call; needs no engine')
    .argument('<server>', 'the name of a server of the configuration, or a URL')
    .option('--config <file>', 'the configuration, for a name', 'outwait.config.ts')
    .addOption(new Option('--protocol <protocol>', 'of a URL; default: found out').choices(['mcp', 'a2a']))
    .addOption(new Option('--tool <name>', 'call this tool (MCP)').conflicts(['skill', 'message']))
    .addOption(new Option('--skill <id>', 'use this skill (A2A)').conflicts(['tool', 'message']))
    .addOption(new Option('--message <text>', 'send this message (A2A)').conflicts(['tool', 'skill', 'arguments']))
    .option('--arguments <json>', 'of the tool or skill, a JSON object', jsonArgument)
    .option(
      '--timeout <json>',
      'give up after this long, the answer to the start included, and cancel the task',
      durationArgument,
      { minutes: 10 },
    )
    .addHelpText(
      'after',
      '\nThe exit code is 1 when the server cannot be called, or the call did not end well. Ctrl-C cancels the task.',
    )
    .action(trial);
}

async function trial(target: string, flags: Flags, command: Command): Promise<void> {
  const request = requestOf(flags, command);
  const isUrl = /^https?:\/\//i.test(target);
  if (isUrl && !URL.canParse(target)) command.error(`error: ${JSON.stringify(target)} is not a URL`);
  if (isUrl && (new URL(target).username !== '' || new URL(target).password !== ''))
    command.error('error: a URL with user info is not taken; put the server into a configuration, with auth');
  if (!isUrl && flags.protocol !== undefined)
    command.error('error: --protocol is for a URL; the configuration says what its servers speak');
  // Loaded here, so that the other commands start fast.
  const [
    { system },
    { silentLog },
    { GuardedHttpClient },
    { WireTap },
    { lookAt, lookAtUrl },
    { cleaned, entryLine },
    { wentWell },
  ] = await Promise.all([
    import('../../process/system.js'),
    import('../../base/log.js'),
    import('../../remote/http/http.js'),
    import('../../remote/try/wire-tap.js'),
    import('../../remote/try/look.js'),
    import('../../remote/try/findings.js'),
    import('../../remote/try/call.js'),
  ]);
  const name = isUrl ? 'server' : target;
  const config = isUrl ? undefined : await configuredServer(target, flags.config);
  const http = new GuardedHttpClient({ allowLoopback: true });
  const wire: WireEvent[] = [];
  let shows = false;
  const tap = new WireTap(http, system.clock, placesOf(config, target), (event) => {
    if (!shows) return;
    wire.push(event);
    say(flags, formatWireEvent(event));
  });
  const deps = {
    ...system,
    http: tap,
    readSecret: (secretName: string): string | undefined => process.env[secretName],
    log: silentLog,
  };
  try {
    const seen = await (config === undefined
      ? lookAtUrl(name, target, flags.protocol, deps)
      : lookAt(name, config, deps));
    const look = cleaned(seen, (text) => tap.clean(text));
    const { callable, facts, missing, options, guesses = [] } = look;
    // A configuration has its entry, and its URL may hold a key.
    const entry = isUrl ? { entry: entryLine(look) } : {};
    say(flags, formatLook({ ...look, ...entry }));
    const answer = { server: isUrl ? target : name, callable, facts, missing, options, guesses, ...entry };
    if (request === undefined || !callable) {
      printJson(flags, answer);
      if (!callable) process.exitCode = exitCodes.failed;
      return;
    }
    shows = true;
    const call = await makeCall(name, look, request, flags, deps);
    say(flags, formatCall(call));
    printJson(flags, { ...answer, wire, call });
    if (!wentWell(call)) process.exitCode = exitCodes.failed;
  } finally {
    await http.close();
  }
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

/** @throws CliError for a configuration that cannot be loaded, or has no such server */
async function configuredServer(name: string, configFile: string): Promise<ServerConfig> {
  const { loadApp } = await import('../../aws/load-app.js');
  const folder = await mkdtemp(join(tmpdir(), 'outwait-try-'));
  try {
    const { servers } = await loadApp(configFile, folder);
    const config = Object.hasOwn(servers, name) ? servers[name] : undefined;
    if (config !== undefined) return config;
    const known = Object.keys(servers).sort().join(', ');
    throw new CliError(
      `no server is named "${name}"; ${configFile} has ${known === '' ? 'none' : known}. A URL begins with http:// or https://.`,
      exitCodes.failed,
    );
  } catch (error) {
    if (isEngineError(error)) throw new CliError(error.message, exitCodes.failed);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function placesOf(config: ServerConfig | undefined, target: string): readonly string[] {
  if (config === undefined) return [target];
  if (config.url !== undefined) return [config.url];
  return 'card' in config && typeof config.card === 'string' ? [config.card] : [];
}

async function makeCall(
  name: string,
  { config }: ServerLook,
  request: RemoteRequest,
  flags: Flags,
  deps: TransportDeps,
): Promise<TriedCall> {
  const [{ createTransports }, { tryCall }, { system }] = await Promise.all([
    import('../../remote/wiring/transports.js'),
    import('../../remote/try/call.js'),
    import('../../process/system.js'),
  ]);
  const transport = createTransports({ [name]: config }, deps).get(name);
  const problem = await transport.problemWith(request);
  if (problem !== undefined) throw new CliError(problem, exitCodes.failed);
  const interrupted = new AbortController();
  const onSignal = (): void => {
    say(flags, 'cancelling; a second Ctrl-C leaves at once');
    interrupted.abort();
    process.once('SIGINT', leave);
  };
  const leave = (): void => process.exit(exitCodes.failed);
  process.once('SIGINT', onSignal);
  try {
    return await tryCall(transport, request, {
      idempotencyKey: randomBytes(16).toString('hex'),
      timeoutMs: durationToMs(flags.timeout, '--timeout'),
      signal: interrupted.signal,
      nowMs: () => system.clock.nowMs(),
      pause: system.delay,
      onNews: (news) => {
        if (news.kind === 'waiting') sayWaiting(flags, news.ms);
        else say(flags, formatNews(news));
      },
    });
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGINT', leave);
  }
}

/** A line for a person, as it comes; nothing where JSON is asked for. */
function say({ json }: Flags, text: string): void {
  if (json !== true) console.log(plainLines(text));
}

/** For a person alone, and beside what the call brings. */
function sayWaiting({ json, timeout }: Flags, ms: number): void {
  if (json === true) return;
  const s = (time: number): string => `${Math.round(time / 1_000)} s`;
  console.error(
    `the start has had no answer for ${s(ms)} of ${s(durationToMs(timeout, '--timeout'))}; Ctrl-C gives up`,
  );
}

function printJson({ json }: Flags, answer: object): void {
  if (json === true) print({ json }, answer, () => '');
}

const nameWidth = 17;

function formatLook(look: ServerLook & { readonly entry?: string }): string {
  const row = (label: string, text: string): string => `${label.padEnd(nameWidth)}${plain(text)}`;
  return [
    ...look.facts.map(({ name, text }) => row(name, text)),
    ...look.missing.map((text) => row('missing', text)),
    ...look.options.map(({ line, why }) => row('set', `${line}  (${why})`)),
    ...(look.guesses ?? []).map(({ line, why }) => row('guess', `${line}  (${why})`)),
    ...(look.entry === undefined ? [] : [row('entry', look.entry)]),
  ].join('\n');
}

function formatWireEvent({ method, url, body, status, mediaType, reply, problem, ms }: WireEvent): string {
  const answer = status === undefined ? `no reply: ${problem ?? ''}` : `${status} ${mediaType ?? ''}`;
  const lines = [`> ${method} ${url}`, body, `< ${answer} ${ms} ms`, reply ?? ''];
  return lines
    .filter((line) => line !== '')
    .map((line) => line.replaceAll('\r\n', '\n').trimEnd())
    .join('\n');
}

function formatNews(news: Exclude<CallNews, { kind: 'waiting' }>): string {
  switch (news.kind) {
    case 'started':
      return `started          task ${plain(news.taskId)}`;
    case 'working':
      return [
        `working          ${plain(news.state)}${news.note === undefined ? '' : `: ${plain(news.note)}`}`,
        ...news.questions.map((question) => `asks             ${plain(question)} (nobody answers here)`),
      ].join('\n');
    case 'unreadable':
      return `read failed      ${plain(news.error.message)} (${news.error.code})`;
  }
}

function formatCall(call: TriedCall): string {
  const row = (text: string): string => `outcome          ${text}`;
  switch (call.kind) {
    case 'ended':
      if (call.end.kind === 'failed') return row(`failed: ${plain(call.end.error.message)} (${call.end.error.code})`);
      return row(
        `${call.end.isError ? 'completed with an error' : 'completed'}${isEmpty(call.end) ? ', with neither text nor data in it' : ''}: ${cutUtf8(JSON.stringify(call.end.result), textShownBytes)}`,
      );
    case 'not_started':
      return row(
        `${call.mayRun ? 'not known if anything was started' : 'not started'}: ${plain(call.error.message)} (${call.error.code})`,
      );
    case 'asked':
      return row(
        `not started: the server asks first, and nobody answers here: ${call.questions.map(({ message }) => plain(message)).join('; ')}`,
      );
    case 'lost':
      return row(`lost: the server no longer knows the task: ${plain(call.error.message)}`);
    case 'start_given_up':
      return row('given up after Ctrl-C, before the server had answered the start: a task may be running');
    case 'given_up':
      return row(`given up after ${call.why === 'timeout' ? '--timeout' : 'Ctrl-C'}; ${cancelText(call.cancel)}`);
  }
}

function isEmpty(end: Extract<RemoteEnd, { kind: 'completed' }>): boolean {
  const outcome = { ...end, server: '' };
  return textOf(outcome) === '' && dataOf(outcome) === undefined;
}

function cancelText(kind: string): string {
  switch (kind) {
    case 'done':
    case 'gone':
      return 'the server has cancelled the task, or it had ended';
    case 'refused':
      return 'the server refuses to cancel the task, which may be running';
    default:
      return 'the server did not answer the cancel, and the task may be running';
  }
}
