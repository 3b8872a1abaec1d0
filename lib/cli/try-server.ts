import { randomBytes } from 'node:crypto';
import { silentLog } from '../base/log.js';
import { type Duration, durationToMs } from '../base/time.js';
import { system } from '../process/system.js';
import { GuardedHttpClient } from '../remote/http/http.js';
import type { RemoteRequest, RemoteTaskTransport } from '../remote/transport.js';
import { tryCall, type TriedCall, wentWell } from '../remote/try/call.js';
import { cleaned, entryLine } from '../remote/try/findings.js';
import { lookAt, lookAtUrl } from '../remote/try/look.js';
import { WireTap, type WireEvent } from '../remote/try/wire-tap.js';
import { createTransports } from '../remote/wiring/transports.js';
import { CliError, exitCodes } from './cli-error.js';
import { configuredServers, placesOf } from './configured-servers.js';
import { endWithReader } from './endings.js';
import { formatCall, formatLook, formatNews, formatWireEvent } from './format-try.js';
import { print } from './output.js';
import { printableLines } from './printable.js';
import type { RemoteProtocol } from '../history/remote-protocol.js';

export interface TryFlags {
  readonly config: string;
  readonly protocol?: RemoteProtocol;
  readonly timeout: Duration;
  readonly json?: boolean;
}

export interface Trial {
  /** Name of a server in the configuration, or a URL. */
  readonly target: string;
  readonly isUrl: boolean;
  /** The call to make; undefined to only inspect the server. */
  readonly request: RemoteRequest | undefined;
}

/** Inspects a server, and makes one real call if one is given. Prints the result and sets the exit code. */
export async function tryServer({ target, isUrl, request }: Trial, flags: TryFlags): Promise<void> {
  await endWithReader();
  const name = isUrl ? 'server' : target;
  const config = isUrl ? undefined : (await configuredServers(flags.config, [target])).get(target);
  const http = new GuardedHttpClient({ allowLoopback: true });
  const wire: WireEvent[] = [];
  let shows = false;
  const tap = new WireTap(http, system.clock, config === undefined ? [target] : placesOf(config), (event) => {
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
    // Omitted for a configured server: its entry exists, and its URL may contain a key.
    const entry = isUrl ? { entry: entryLine(look) } : {};
    say(flags, formatLook({ ...look, ...entry }));
    const answer = { server: isUrl ? target : name, callable, facts, missing, options, guesses, ...entry };
    if (request === undefined || !callable) {
      printJson(flags, answer);
      if (!callable) process.exitCode = exitCodes.failed;
      return;
    }
    shows = true;
    const transports = createTransports({ [name]: look.config }, deps);
    const call = await makeCall(transports.get(name), request, flags);
    say(flags, formatCall(call));
    printJson(flags, { ...answer, wire, call });
    if (!wentWell(call)) process.exitCode = exitCodes.failed;
  } finally {
    await http.close();
  }
}

/** Each of them cancels the task, and a second one ends the process. */
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Makes the call. @throws CliError if the server cannot take such a call */
async function makeCall(transport: RemoteTaskTransport, request: RemoteRequest, flags: TryFlags): Promise<TriedCall> {
  const problem = await transport.problemWith(request);
  if (problem !== undefined) throw new CliError(problem, exitCodes.failed);
  const interrupted = new AbortController();
  const onSignal = (): void => {
    say(flags, 'cancelling; press Ctrl-C again to exit immediately');
    interrupted.abort();
    for (const signal of endingSignals) process.once(signal, leave);
  };
  const leave = (): void => process.exit(exitCodes.failed);
  for (const signal of endingSignals) process.once(signal, onSignal);
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
    for (const signal of endingSignals) process.off(signal, onSignal).off(signal, leave);
  }
}

/** Prints text as it comes, unless JSON is requested. */
function say({ json }: TryFlags, text: string): void {
  if (json !== true) console.log(printableLines(text));
}

/** Prints the waiting time to stderr, apart from the result of the call, unless JSON is requested. */
function sayWaiting({ json, timeout }: TryFlags, ms: number): void {
  if (json === true) return;
  const s = (time: number): string => `${Math.round(time / 1_000)} s`;
  console.error(`no reply to the start for ${s(ms)} of ${s(durationToMs(timeout, '--timeout'))}; Ctrl-C gives up`);
}

function printJson({ json }: TryFlags, answer: object): void {
  if (json === true) print({ json }, answer, () => '');
}
