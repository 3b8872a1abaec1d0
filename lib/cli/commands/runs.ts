import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { JsonValue } from '../../base/json.js';
import type { Duration } from '../../base/time.js';
import type { RunView } from '../../operations/views/show-run.js';
import type { Accepted } from '../../operations/requests/inbox.js';
import type { SettleResult } from '../../operations/requests/settle-token.js';
import { ApiClient, ApiError } from '../api-client.js';
import {
  keyArgument,
  nameArgument,
  runArgument,
  runIdHelp,
  tagsArgument,
  textArgument,
  waitIdArgument,
} from '../arguments.js';
import { CliError, exitCodes } from '../cli-error.js';
import { common, type CommonFlags } from '../common-options.js';
import { durationArgument } from '../duration.js';
import { endWithReader } from '../endings.js';
import { formatOutcome } from '../format.js';
import { jsonOption } from '../given-json.js';
import { getWhenThere } from '../next-run.js';
import { print } from '../output.js';
import { resolveRun } from '../resolve-run.js';
import { value } from '../table.js';

/** Interval between two reads of a run that `--wait` waits for. */
const waitIntervalMs = 300;
/** Longest time without an answer, for example while the engine restarts. */
const unreachableMaxMs = 60_000;

/** Variable with the secret of `--callback`: other users of the machine see the arguments of a command. */
const callbackSecretName = 'OUTWAIT_CALLBACK_SECRET';

/** Adds the commands that start runs and send requests to them. */
export function addRunCommands(program: Command): void {
  addStartCommand(program);
  addControlCommands(program);
  addMessageCommands(program);
  addSettleCommand(program);
}

function addStartCommand(program: Command): void {
  common(program.command('start'))
    .description('start a run')
    .argument('<workflow>', 'name of the workflow')
    .addOption(jsonOption('--input <json>', 'input of the workflow'))
    .option('--key <key>', 'idempotency key: a second start with the same key returns the same run', keyArgument)
    .option('--id <id>', 'your own id, under which at most one run is under way', keyArgument)
    .addOption(
      new Option('--when-running <policy>', 'with --id, if a run with this id is under way').choices([
        'useExisting',
        'fail',
        'terminate',
      ]),
    )
    .addOption(
      new Option('--when-ended <policy>', 'with --id, if the last run with this id has ended').choices([
        'startNew',
        'useExisting',
        'fail',
      ]),
    )
    .option('--concurrency-key <key>', 'the run waits until earlier runs with this key have ended', keyArgument)
    .option('--tag <name=value>', 'tag for lists; may be repeated', tagsArgument)
    .option('--delay <duration>', 'start later, for example after 5m', durationArgument)
    .option('--timeout <duration>', 'fail the run if it has not ended this long after its start', durationArgument)
    .option('--callback <url>', `URL that is told of the end of the run, signed with ${callbackSecretName}`)
    .option(
      '--wait',
      'wait until the run ends, including runs that it continues as; the exit code is 1 unless it completes',
    )
    .action(start);
}

function addControlCommands(program: Command): void {
  for (const kind of ['cancel', 'terminate'] as const) {
    common(program.command(kind))
      .description(kind === 'cancel' ? 'cancel a run, which may clean up first' : 'end a run without cleanup')
      .argument('<runId>', runIdHelp, runArgument)
      .option('--reason <text>', 'reason, stored with the run', textArgument(1_000))
      .action((runId: string, flags: CommonFlags & { readonly reason?: string }) =>
        ask(runId, flags, kind, { reason: flags.reason }),
      );
  }
  for (const [kind, description] of [
    ['pause', 'pause a run: it starts nothing new for at most 24 hours'],
    ['resume', 'continue a paused run'],
    ['retry-now', 'retry now what waits for its next attempt'],
  ] as const) {
    common(program.command(kind))
      .description(description)
      .argument('<runId>', runIdHelp, runArgument)
      .action((runId: string, flags: CommonFlags) => ask(runId, flags, kind, {}));
  }
}

function addMessageCommands(program: Command): void {
  common(program.command('signal'))
    .description('send a signal to a run')
    .argument('<runId>', runIdHelp, runArgument)
    .argument('<name>', 'name of the signal', nameArgument)
    .addOption(jsonOption('--payload <json>', 'payload of the signal'))
    .option('--key <key>', 'idempotency key: a second signal with the same name and key is ignored', keyArgument)
    .action(signal);
  common(program.command('query'))
    .description('query the workflow of a run')
    .argument('<runId>', runIdHelp, runArgument)
    .argument('<name>', 'name of the query', nameArgument)
    .addOption(jsonOption('--input <json>', 'input of the query'))
    .action(query);
}

function addSettleCommand(program: Command): void {
  common(program.command('settle'))
    .description('settle a wait of a run by hand: a remote task, a token, a child (outwait why lists them)')
    .argument('<runId>', runIdHelp, runArgument)
    .argument('<waitId>', 'number of the wait', waitIdArgument)
    .addOption(jsonOption('--output <json>', 'result of the wait').conflicts('error'))
    .option('--error <text>', 'error with which the wait fails', textArgument(4_000))
    .action(settle);
}

interface StartFlags extends CommonFlags {
  readonly input?: JsonValue;
  readonly key?: string;
  readonly id?: string;
  readonly whenRunning?: string;
  readonly whenEnded?: string;
  readonly concurrencyKey?: string;
  readonly tag?: Readonly<Record<string, string>>;
  readonly delay?: Duration;
  readonly timeout?: Duration;
  readonly callback?: string;
  readonly wait?: boolean;
}

async function start(workflow: string, flags: StartFlags): Promise<void> {
  const { input, key, id, whenRunning, whenEnded, concurrencyKey, tag: tags, delay, timeout } = flags;
  const client = new ApiClient(flags);
  const started = await client.post<{ readonly runId: string; readonly deduplicated?: boolean }>(
    '/runs',
    // JSON omits undefined properties.
    {
      workflow,
      input,
      key,
      id,
      whenRunning,
      whenEnded,
      concurrencyKey,
      tags,
      delay,
      timeout,
      callback: callbackOf(flags),
    },
  );
  if (flags.wait !== true) {
    print(flags, started, () => started.runId);
    return;
  }
  await endWithReader();
  // Printed at once, in case the person stops waiting. JSON is one document, printed at the end.
  if (flags.json !== true) print(flags, started, () => started.runId);
  const run = await waitForEnd(client, started.runId);
  // Prints both ids if the run continued as another one.
  const isOther = run.runId !== started.runId;
  const answer = isOther ? { ...run, startedRunId: started.runId } : run;
  print(flags, answer, (screen) => {
    const end = run.outcome === undefined ? run.status : formatOutcome(run.outcome, screen);
    return isOther ? `continued as ${run.runId}\n${end}` : end;
  });
  if (run.status !== 'completed') process.exitCode = exitCodes.failed;
}

/** @throws CliError unless the secret of the callback is in the environment */
function callbackOf({ callback: url }: StartFlags): { readonly url: string; readonly secret: string } | undefined {
  if (url === undefined) return undefined;
  const secret = process.env[callbackSecretName] ?? '';
  if (secret === '')
    throw new CliError(`--callback needs ${callbackSecretName} in the environment: whsec_ and base64`, exitCodes.usage);
  return { url, secret };
}

/** Waits for the end of a run, or of the last run that it continues as, and returns it. */
async function waitForEnd(client: ApiClient, startedRunId: string): Promise<RunView> {
  let runId = startedRunId;
  let unreachableSinceMs: number | undefined;
  for (;;) {
    try {
      const path = `/runs/${runId}`;
      const run = await (runId === startedRunId ? client.get<RunView>(path) : getWhenThere<RunView>(client, path));
      if (run.nextRunId !== undefined) {
        runId = run.nextRunId;
        continue;
      }
      if (run.status !== 'running' && run.status !== 'ending') return run;
      unreachableSinceMs = undefined;
    } catch (error) {
      const nowMs = performance.now();
      unreachableSinceMs ??= nowMs;
      const isPassing = error instanceof ApiError && error.isPassing && nowMs - unreachableSinceMs < unreachableMaxMs;
      if (!isPassing) throw error;
    }
    await sleep(waitIntervalMs);
  }
}

/** Sends a request that a run accepts until its outcome is fixed. */
async function ask(reference: string, flags: CommonFlags, what: string, body: object): Promise<void> {
  const client = new ApiClient(flags);
  const runId = await resolveRun(client, reference, flags);
  const answer = await client.post<Accepted>(`/runs/${runId}/${what}`, body);
  print(flags, answer, () => (answer.accepted ? 'accepted' : 'not accepted: the run has ended'));
  if (!answer.accepted) process.exitCode = exitCodes.failed;
}

async function signal(
  runId: string,
  name: string,
  flags: CommonFlags & { readonly payload?: JsonValue; readonly key?: string },
): Promise<void> {
  const { payload, key } = flags;
  await ask(runId, flags, `signals/${encodeURIComponent(name)}`, { payload, key });
}

async function query(
  reference: string,
  name: string,
  flags: CommonFlags & { readonly input?: JsonValue },
): Promise<void> {
  const { input } = flags;
  const client = new ApiClient(flags);
  const path = `/runs/${await resolveRun(client, reference, flags)}/queries/${encodeURIComponent(name)}`;
  const answer = await client.post<{ readonly result?: JsonValue }>(path, { input });
  print(flags, answer, (screen) => (answer.result === undefined ? '' : value(answer.result, screen)));
}

async function settle(
  reference: string,
  waitId: string,
  flags: CommonFlags & { readonly output?: JsonValue; readonly error?: string },
  command: Command,
): Promise<void> {
  const { output, error } = flags;
  if (output === undefined && error === undefined) command.error('error: either --output or --error is required');
  const body = error === undefined ? { output: { result: output } } : { error };
  const client = new ApiClient(flags);
  const runId = await resolveRun(client, reference, flags);
  const answer = await client.post<SettleResult>(`/runs/${runId}/waits/${waitId}/settle`, body);
  print(flags, answer, () => (answer.settled ? 'settled' : `not settled: ${answer.reason}`));
  if (!answer.settled) process.exitCode = exitCodes.failed;
}
