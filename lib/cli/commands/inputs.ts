import { defined } from '../../base/defined.js';
import { type Command, Option } from 'commander';
import { inputIdOf } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { RemoteAnswer } from '../../history/remote-question.js';
import type { AnswerResult } from '../../operations/requests/answer-question.js';
import type { QuestionView } from '../../operations/views/question-view.js';
import { ApiClient } from '../api-client.js';
import { inputIdArgument, textArgument, wholeNumberArgument } from '../arguments.js';
import { CliError, exitCodes } from '../cli-error.js';
import { common, type CommonFlags } from '../common-options.js';
import { formatInputs } from '../format.js';
import { jsonOption } from '../given-json.js';
import { print } from '../output.js';
import { resolveRun } from '../resolve-run.js';

/** Adds the commands for people who answer questions of runs. */
export function addInputCommands(program: Command): void {
  common(program.command('inputs'))
    .description('list the questions that wait for a person')
    .option('--limit <number>', 'maximum number of rows', wholeNumberArgument(1, 100), 20)
    .option('--cursor <text>', 'cursor of the previous page', textArgument(2_048))
    .action(list);
  common(program.command('answer'))
    .description('answer a question, once')
    .argument('<inputId>', 'id of the question', inputIdArgument)
    .addOption(jsonOption('--content <json>', 'accept, with this content'))
    .addOption(new Option('--accept', 'accept without content').conflicts('content'))
    .addOption(new Option('--decline', 'decline to answer').conflicts(['content', 'accept']))
    .addOption(
      new Option('--cancel', 'dismiss the question without a choice').conflicts(['content', 'accept', 'decline']),
    )
    .action(answer);
}

interface ListFlags extends CommonFlags {
  readonly limit: number;
  readonly cursor?: string;
}

async function list(flags: ListFlags): Promise<void> {
  const query = new URLSearchParams({
    limit: String(flags.limit),
    ...defined({ cursor: flags.cursor }),
  });
  const page = await new ApiClient(flags).get<{ readonly inputs: readonly QuestionView[]; readonly cursor?: string }>(
    `/inputs?${query.toString()}`,
  );
  print(flags, page, (screen) => formatInputs(page, screen));
}

interface AnswerFlags extends CommonFlags {
  readonly content?: JsonValue;
  readonly accept?: boolean;
  readonly decline?: boolean;
  readonly cancel?: boolean;
}

async function answer(reference: string, flags: AnswerFlags): Promise<void> {
  const given = answerOf(flags);
  const client = new ApiClient(flags);
  const dot = reference.lastIndexOf('.');
  const inputId = inputIdOf(await resolveRun(client, reference.slice(0, dot), flags), reference.slice(dot + 1));
  const result = await client.post<AnswerResult>(`/inputs/${inputId}`, given);
  print(flags, result, () => (result.answered ? 'answered' : `not answered: ${result.reason}`));
  if (!result.answered) process.exitCode = exitCodes.failed;
}

function answerOf({ content, accept, decline, cancel }: AnswerFlags): RemoteAnswer {
  if (content !== undefined) return { action: 'accept', content };
  if (accept === true) return { action: 'accept' };
  if (decline === true) return { action: 'decline' };
  if (cancel === true) return { action: 'cancel' };
  throw new CliError('expected --content <json>, --accept, --decline or --cancel', exitCodes.usage);
}
