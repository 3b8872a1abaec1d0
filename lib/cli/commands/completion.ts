import { Argument, type Command } from 'commander';
import { type RunList, statusOf } from '../../operations/views/list-runs.js';
import { ApiClient } from '../api-client.js';
import { type Candidate, complete, type Known } from '../complete.js';
import { completionScripts, type Shell } from '../completion-scripts.js';
import { helpNote } from '../help-note.js';
import { printable } from '../printable.js';

/** A person waits: names of workflows and runs are left out if the engine does not answer by then. */
const askMaxMs = 700;
const runsMax = 100;

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands, options, workflows and runs in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(completionScripts)))
    .addHelpText(
      'after',
      helpNote(
        'To try it: source <(outwait completion bash). The first lines of the script say where a shell finds it.',
      ),
    )
    .action((shell: Shell) => {
      console.log(completionScripts[shell]);
    });
  program
    .command('complete-words', { hidden: true })
    .description('print what completes the last word; for the scripts of outwait completion')
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      const offer = await complete(program, words, fromEngine);
      if (offer === 'files') console.log(':files');
      else for (const { value, description } of offer) console.log(printable(value) + '\t' + printable(description));
    });
}

const fromEngine: Known = {
  workflows: async (url) => [...new Set((await newestRuns(url)).map(({ workflow }) => workflow))].sort(),
  runs: async (url) =>
    (await newestRuns(url)).map((run): Candidate => ({
      value: run.runId,
      description: `${run.workflow}, ${statusOf(run)}`,
    })),
};

/** Returns the newest runs of the engine; none if it does not answer soon. */
async function newestRuns(url: string | undefined): Promise<RunList['runs']> {
  const client = new ApiClient({ url: url ?? process.env['OUTWAIT_URL'] ?? 'http://127.0.0.1:4000', maxMs: askMaxMs });
  try {
    return (await client.get<RunList>(`/runs?limit=${runsMax}`)).runs;
  } catch {
    return [];
  }
}
