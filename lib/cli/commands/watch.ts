import type { Command } from 'commander';
import type { RunNews } from '../../operations/views/follow-run.js';
import { ApiClient } from '../api-client.js';
import { getWhenThere } from '../next-run.js';
import { runIdArgument } from '../arguments.js';
import { common, type CommonFlags } from '../common-options.js';
import { formatNews } from '../format.js';
import { print } from '../output.js';

/** Long-polling time in seconds: a route of a deployment must respond within 30. */
const waitS = 20;

export function addWatchCommand(program: Command): void {
  common(program.command('watch'))
    .description(
      'follow a run, and the runs that it continues as, until the end: its events, and the progress of its remote tasks',
    )
    .argument('<runId>', 'id of the run', runIdArgument)
    .action(watch);
}

async function watch(runId: string, flags: CommonFlags): Promise<void> {
  const client = new ApiClient(flags);
  let watched = runId;
  let after = 0;
  for (;;) {
    const path = `/runs/${watched}/events?after=${after}&wait=${waitS}`;
    const news = await (watched === runId ? client.get<RunNews>(path) : getWhenThere<RunNews>(client, path));
    after = news.nextAfter;
    if (news.events.length + news.progress.length > 0) print(flags, news, () => formatNews(news));
    if (news.nextRunId !== undefined) {
      watched = news.nextRunId;
      after = 0;
    } else if (news.status !== 'running' && news.status !== 'ending') return;
  }
}
