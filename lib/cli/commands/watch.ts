import type { Command } from 'commander';
import type { RunExplanation } from '../../operations/views/explain-run.js';
import type { RunNews } from '../../operations/views/follow-run.js';
import { ApiClient } from '../api-client.js';
import { getWhenThere } from '../next-run.js';
import { runArgument, runIdHelp } from '../arguments.js';
import { common, type CommonFlags } from '../common-options.js';
import { endWithReader } from '../endings.js';
import { formatHeldUp } from '../format.js';
import { EventLines } from '../format-events.js';
import { print, printText, screenOfOutput } from '../output.js';
import { resolveRun } from '../resolve-run.js';

/** Long-polling time in seconds: a route of a deployment must respond within 30. */
const waitS = 20;

export function addWatchCommand(program: Command): void {
  common(program.command('watch'))
    .description(
      'follow a run, and the runs that it continues as, until the end: its events, and the progress of its remote tasks',
    )
    .argument('<runId>', runIdHelp, runArgument)
    .action(watch);
}

async function watch(reference: string, flags: CommonFlags): Promise<void> {
  await endWithReader();
  const client = new ApiClient(flags);
  const runId = await resolveRun(client, reference, flags);
  let watched = runId;
  let after = 0;
  let lines = new EventLines(screenOfOutput());
  let said = '';
  for (;;) {
    // Read at once what is there, so that a run that does nothing yet says why without a wait.
    const path = `/runs/${watched}/events?after=${after}&wait=${said === '' && after === 0 ? 0 : waitS}`;
    const news = await (watched === runId ? client.get<RunNews>(path) : getWhenThere<RunNews>(client, path));
    after = news.nextAfter;
    if (news.events.length + news.progress.length > 0) {
      print(flags, news, () => lines.news(news));
    }
    if (news.nextRunId !== undefined) {
      if (flags.json !== true) printText(() => `continued as ${news.nextRunId ?? ''}`);
      watched = news.nextRunId;
      after = 0;
      said = '';
      lines = new EventLines(screenOfOutput());
    } else if (news.status !== 'running' && news.status !== 'ending') return;
    else if (news.events.length === 0) said = await sayWhatHoldsUp(client, flags, watched, said);
  }
}

/** Prints what keeps a run from going on, such as a delay, if that has changed. JSON has the news alone. */
async function sayWhatHoldsUp(client: ApiClient, flags: CommonFlags, runId: string, said: string): Promise<string> {
  if (flags.json === true) return 'nothing';
  const run = await client.get<RunExplanation>(`/runs/${runId}/why`);
  // Compared without the times, which pass.
  const key = JSON.stringify([run.blocked?.message, run.pausedUntilMs, run.startAtMs, run.afterRunId]);
  if (key === said) return said;
  const text = formatHeldUp(run, screenOfOutput());
  if (text !== '') printText(() => text);
  return key;
}
