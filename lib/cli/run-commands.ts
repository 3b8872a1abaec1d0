import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { JsonValue } from '../base/json.js';
import type { HistoryView, RunList, RunView } from '../operations/read-runs.js';
import { ApiClient, ApiError } from './api-client.js';
import {
  jsonArgument,
  keyArgument,
  runIdArgument,
  textArgument,
  urlArgument,
  wholeNumberArgument,
} from './arguments.js';
import { exitCodes } from './cli-error.js';
import { formatHistory, formatList, formatOutcome, formatRun } from './format.js';

interface CommonFlags {
  readonly url: string;
  readonly json?: boolean;
}

/** Between two looks at a run that is waited for. */
const waitIntervalMs = 300;
/** An engine that restarts is back within this. */
const unreachableMaxMs = 60_000;

export function addRunCommands(program: Command): void {
  common(program.command('start'))
    .description('start a run')
    .argument('<workflow>', 'name of the workflow')
    .option('--input <json>', 'input of the workflow', jsonArgument)
    .option('--key <key>', 'a second start with the same key is the same run', keyArgument)
    .option('--wait', 'wait for its end; the exit code is 1 unless it completes')
    .action(start);
  common(program.command('list'))
    .description('list runs')
    .addOption(
      new Option('--status <status>').choices(['running', 'ending', 'completed', 'failed', 'cancelled', 'terminated']),
    )
    .option('--workflow <name>', 'only runs of this workflow')
    .option('--limit <number>', 'most rows', wholeNumberArgument(1, 100), 20)
    .action(list);
  common(program.command('show'))
    .description('show a run and what it waits for')
    .argument('<runId>', 'id of the run', runIdArgument)
    .action(show);
  common(program.command('history'))
    .description('show the events of a run')
    .argument('<runId>', 'id of the run', runIdArgument)
    .action(history);
  for (const kind of ['cancel', 'terminate'] as const) {
    common(program.command(kind))
      .description(kind === 'cancel' ? 'ask a run to stop; it may clean up' : 'end a run without asking it')
      .argument('<runId>', 'id of the run', runIdArgument)
      .option('--reason <text>', 'kept with the run', textArgument(1_000))
      .action((runId: string, flags: CommonFlags & { readonly reason?: string }) => stop(kind, runId, flags));
  }
}

function common(command: Command): Command {
  return command
    .addOption(
      new Option('--url <url>', 'where the engine listens')
        .env('OUTWAIT_URL')
        .default('http://127.0.0.1:4000')
        .argParser(urlArgument),
    )
    .option('--json', 'print the answer of the engine as one line of JSON');
}

function print(flags: CommonFlags, answer: object, text: () => string): void {
  console.log(flags.json === true ? JSON.stringify(answer) : text());
}

interface StartFlags extends CommonFlags {
  readonly input?: JsonValue;
  readonly key?: string;
  readonly wait?: boolean;
}

async function start(workflow: string, flags: StartFlags): Promise<void> {
  const client = new ApiClient(flags);
  const started = await client.post<{ readonly runId: string; readonly deduplicated?: boolean }>('/runs', {
    workflow,
    ...(flags.input === undefined ? {} : { input: flags.input }),
    ...(flags.key === undefined ? {} : { key: flags.key }),
  });
  if (flags.wait !== true) {
    print(flags, started, () => started.runId);
    return;
  }
  const run = await waitForEnd(client, started.runId);
  print(flags, run, () => `${run.runId}\n${run.outcome === undefined ? run.status : formatOutcome(run.outcome)}`);
  if (run.status !== 'completed') process.exitCode = exitCodes.failed;
}

async function waitForEnd(client: ApiClient, runId: string): Promise<RunView> {
  let unreachableSinceMs: number | undefined;
  for (;;) {
    try {
      const run = await client.get<RunView>(`/runs/${runId}`);
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

async function list(
  flags: CommonFlags & { readonly status?: string; readonly workflow?: string; readonly limit: number },
): Promise<void> {
  const query = new URLSearchParams({
    limit: String(flags.limit),
    ...(flags.status === undefined ? {} : { status: flags.status }),
    ...(flags.workflow === undefined ? {} : { workflow: flags.workflow }),
  });
  const page = await new ApiClient(flags).get<RunList>(`/runs?${query.toString()}`);
  print(flags, page, () => formatList(page));
}

async function show(runId: string, flags: CommonFlags): Promise<void> {
  const run = await new ApiClient(flags).get<RunView>(`/runs/${runId}`);
  print(flags, run, () => formatRun(run));
}

async function history(runId: string, flags: CommonFlags): Promise<void> {
  const view = await new ApiClient(flags).get<HistoryView>(`/runs/${runId}/history`);
  print(flags, view, () => formatHistory(view));
}

async function stop(
  kind: 'cancel' | 'terminate',
  runId: string,
  flags: CommonFlags & { readonly reason?: string },
): Promise<void> {
  const answer = await new ApiClient(flags).post<{ readonly accepted: boolean }>(
    `/runs/${runId}/${kind}`,
    flags.reason === undefined ? {} : { reason: flags.reason },
  );
  print(flags, answer, () => (answer.accepted ? 'accepted' : 'not accepted: the run has ended'));
  if (!answer.accepted) process.exitCode = exitCodes.failed;
}
