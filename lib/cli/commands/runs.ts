import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { JsonValue } from '../../base/json.js';
import type { Duration } from '../../base/time.js';
import type { RunView } from '../../operations/views/read-runs.js';
import type { Accepted } from '../../operations/requests/send-to-inbox.js';
import type { SettleResult } from '../../operations/requests/settle-token.js';
import { ApiClient, ApiError } from '../api-client.js';
import {
  durationArgument,
  jsonArgument,
  keyArgument,
  nameArgument,
  runIdArgument,
  tagsArgument,
  textArgument,
  waitIdArgument,
} from '../arguments.js';
import { exitCodes } from '../cli-error.js';
import { common, type CommonFlags } from '../common-options.js';
import { formatOutcome } from '../format.js';
import { getWhenThere } from '../next-run.js';
import { print } from '../output.js';
import { value } from '../table.js';

/** Between two looks at a run that is waited for. */
const waitIntervalMs = 300;
/** An engine that restarts is back within this. */
const unreachableMaxMs = 60_000;

/** The commands that ask something of a run. */
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
    .option('--input <json>', 'input of the workflow', jsonArgument)
    .option('--key <key>', 'a second start with the same key is the same run', keyArgument)
    .option('--id <id>', 'your own id: at most one run of it is under way', keyArgument)
    .addOption(
      new Option('--when-running <policy>', 'with --id, when a run of it is under way').choices([
        'useExisting',
        'fail',
        'terminate',
      ]),
    )
    .addOption(
      new Option('--when-ended <policy>', 'with --id, when the last run of it has ended').choices([
        'startNew',
        'useExisting',
        'fail',
      ]),
    )
    .option('--tag <name=value>', 'for lists; may be given more than once', tagsArgument)
    .option('--delay <json>', `start later, for example '{"minutes":5}'`, durationArgument)
    .option('--timeout <json>', 'fail the run if it has not ended this long after its start', durationArgument)
    .option('--wait', 'wait for its end, and that of what it goes on as; the exit code is 1 unless it completes')
    .action(start);
}

function addControlCommands(program: Command): void {
  for (const kind of ['cancel', 'terminate'] as const) {
    common(program.command(kind))
      .description(kind === 'cancel' ? 'ask a run to stop; it may clean up' : 'end a run without asking it')
      .argument('<runId>', 'id of the run', runIdArgument)
      .option('--reason <text>', 'kept with the run', textArgument(1_000))
      .action((runId: string, flags: CommonFlags & { readonly reason?: string }) =>
        ask(flags, `/runs/${runId}/${kind}`, { reason: flags.reason }),
      );
  }
  for (const [kind, description] of [
    ['pause', 'let a run start nothing new, for at most 24 hours'],
    ['resume', 'let a paused run go on'],
    ['retry-now', 'try at once what waits for its next attempt'],
  ] as const) {
    common(program.command(kind))
      .description(description)
      .argument('<runId>', 'id of the run', runIdArgument)
      .action((runId: string, flags: CommonFlags) => ask(flags, `/runs/${runId}/${kind}`, {}));
  }
}

function addMessageCommands(program: Command): void {
  common(program.command('signal'))
    .description('give a run a signal')
    .argument('<runId>', 'id of the run', runIdArgument)
    .argument('<name>', 'name of the signal', nameArgument)
    .option('--payload <json>', 'what the workflow is given', jsonArgument)
    .option('--key <key>', 'a second signal of that name with the same key is the same signal', keyArgument)
    .action(signal);
  common(program.command('query'))
    .description('ask the workflow of a run')
    .argument('<runId>', 'id of the run', runIdArgument)
    .argument('<name>', 'name of the query', nameArgument)
    .option('--input <json>', 'what the query is given', jsonArgument)
    .action(query);
}

function addSettleCommand(program: Command): void {
  common(program.command('settle'))
    .description('end a wait of a run by hand: a remote task, a token, a child (outwait why lists them)')
    .argument('<runId>', 'id of the run', runIdArgument)
    .argument('<waitId>', 'number of the wait', waitIdArgument)
    .addOption(
      new Option('--output <json>', 'the result that the workflow is given').argParser(jsonArgument).conflicts('error'),
    )
    .option('--error <text>', 'fail the wait', textArgument(4_000))
    .action(settle);
}

interface StartFlags extends CommonFlags {
  readonly input?: JsonValue;
  readonly key?: string;
  readonly id?: string;
  readonly whenRunning?: string;
  readonly whenEnded?: string;
  readonly tag?: Readonly<Record<string, string>>;
  readonly delay?: Duration;
  readonly timeout?: Duration;
  readonly wait?: boolean;
}

async function start(workflow: string, flags: StartFlags): Promise<void> {
  const { input, key, id, whenRunning, whenEnded, tag: tags, delay, timeout } = flags;
  const client = new ApiClient(flags);
  const started = await client.post<{ readonly runId: string; readonly deduplicated?: boolean }>(
    '/runs',
    // JSON leaves out what is undefined.
    { workflow, input, key, id, whenRunning, whenEnded, tags, delay, timeout },
  );
  if (flags.wait !== true) {
    print(flags, started, () => started.runId);
    return;
  }
  // At once, so that whoever gives up waiting has it. JSON is one document, printed at the end.
  if (flags.json !== true) print(flags, started, () => started.runId);
  const run = await waitForEnd(client, started.runId);
  // Both ids, where the run has gone on as another one.
  const isOther = run.runId !== started.runId;
  const answer = isOther ? { ...run, startedRunId: started.runId } : run;
  print(flags, answer, () => {
    const end = run.outcome === undefined ? run.status : formatOutcome(run.outcome);
    return isOther ? `went on as ${run.runId}\n${end}` : end;
  });
  if (run.status !== 'completed') process.exitCode = exitCodes.failed;
}

/** The run at its end; where it goes on as others, the last of them at its end. */
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

/** A request that a run accepts as long as its outcome is open. */
async function ask(flags: CommonFlags, path: string, body: object): Promise<void> {
  const answer = await new ApiClient(flags).post<Accepted>(path, body);
  print(flags, answer, () => (answer.accepted ? 'accepted' : 'not accepted: the run has ended'));
  if (!answer.accepted) process.exitCode = exitCodes.failed;
}

async function signal(
  runId: string,
  name: string,
  flags: CommonFlags & { readonly payload?: JsonValue; readonly key?: string },
): Promise<void> {
  const { payload, key } = flags;
  await ask(flags, `/runs/${runId}/signals/${encodeURIComponent(name)}`, { payload, key });
}

async function query(runId: string, name: string, flags: CommonFlags & { readonly input?: JsonValue }): Promise<void> {
  const { input } = flags;
  const path = `/runs/${runId}/queries/${encodeURIComponent(name)}`;
  const answer = await new ApiClient(flags).post<{ readonly result?: JsonValue }>(path, { input });
  print(flags, answer, () => (answer.result === undefined ? '' : value(answer.result)));
}

async function settle(
  runId: string,
  waitId: string,
  flags: CommonFlags & { readonly output?: JsonValue; readonly error?: string },
  command: Command,
): Promise<void> {
  const { output, error } = flags;
  if (output === undefined && error === undefined) command.error('error: one of --output and --error is needed');
  const body = error === undefined ? { output: { result: output } } : { error };
  const answer = await new ApiClient(flags).post<SettleResult>(`/runs/${runId}/waits/${waitId}/settle`, body);
  print(flags, answer, () => (answer.settled ? 'settled' : `not settled: ${answer.reason}`));
  if (!answer.settled) process.exitCode = exitCodes.failed;
}
