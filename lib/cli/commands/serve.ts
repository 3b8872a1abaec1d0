import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import { keyArgument, nameArgument, textArgument, urlArgument } from '../arguments.js';
import { CliError, exitCodes } from '../cli-error.js';
import { type CommonFlags, withJson } from '../common-options.js';
import { sigv4Help } from '../credential.js';
import { endWithReader } from '../endings.js';
import { textFrom } from '../given-json.js';
import { helpNote } from '../help-note.js';
import { print } from '../output.js';
import { AgentClient, serveUrlVariable } from '../serve/agent-client.js';
import { type Following, followTask, partOf } from '../serve/follow-task.js';
import { formatCard, formatNews } from '../serve/format-served.js';
import { newsOfTask } from '../serve/task-news.js';

/** Adds the commands that try served workflows as their callers do, over A2A. */
export function addServeCommands(program: Command): void {
  const serve = program.command('serve').description('try served workflows as callers do, over A2A 1.0');
  ofServed(serve.command('card'))
    .description('show the agent card: interfaces, and skills with what they take')
    .option('--skill <name>', 'the card of this skill alone', nameArgument)
    .action(card);
  ofServed(serve.command('call'))
    .description('send a message, and follow its task to the end: status messages, artifacts, questions')
    .argument('[skill]', 'name of the skill; without it the workflow for messages takes --message', nameArgument)
    .argument('[input]', 'arguments, a JSON object; anything else is sent as text; @file, or - for stdin', textFrom)
    .option('--message <text>', 'text for the workflow that takes messages without a skill')
    .option('--task <taskId>', 'send the --message to this task instead', textArgument(remoteIdMaxBytes))
    .option('--context <id>', 'context of the task', textArgument(remoteIdMaxBytes))
    .option('--key <text>', 'idempotency key: starts with the same key are one task', keyArgument)
    .addOption(answerOption())
    .action(call);
  ofServed(serve.command('watch'))
    .description('follow a task from its beginning to its end, and answer its questions')
    .argument('<taskId>', 'id of the task', textArgument(remoteIdMaxBytes))
    .addOption(answerOption())
    .action(watch);
  serve.addHelpText(
    'after',
    helpNote(
      'The credential is the bearer token in OUTWAIT_MANAGEMENT_TOKEN: a named key with the role call, or the management token. Questions are asked on a terminal, unless --answer has the answer. The exit code is 1 unless the task completes.',
    ),
  );
}

function ofServed(command: Command): Command {
  return withJson(
    command
      .addOption(
        new Option('--url <url>', 'URL under which the workflows are served')
          .env(serveUrlVariable)
          .default(process.env['OUTWAIT_URL'] ?? 'http://127.0.0.1:4000')
          .argParser(urlArgument),
      )
      .option('--sigv4', sigv4Help),
  );
}

function answerOption(): Option {
  return new Option(
    '--answer <text>',
    'answer to a question, text or a JSON object; repeat it for further ones',
  ).argParser((text: string, before: readonly string[] | undefined) => [...(before ?? []), text]);
}

async function card({ skill, ...flags }: CommonFlags & { readonly skill?: string }): Promise<void> {
  const shown = await new AgentClient(flags).card(skill);
  print(flags, shown, (screen) => formatCard(shown, screen));
}

interface FollowFlags extends CommonFlags {
  readonly answer?: readonly string[];
}

interface CallFlags extends FollowFlags {
  readonly message?: string;
  readonly task?: string;
  readonly context?: string;
  readonly key?: string;
}

async function call(skill: string | undefined, input: string | undefined, flags: CallFlags): Promise<void> {
  const { message, task: taskId, context: contextId, key: idempotencyKey } = flags;
  if ((skill === undefined) === (message === undefined) || (taskId !== undefined && message === undefined))
    throw new CliError('expected a skill, or --message <text>', exitCodes.usage);
  const client = new AgentClient(flags);
  // A new task is shown from its beginning, one that goes on from here.
  const after = taskId === undefined ? 1 : newsOfTask(await client.task(taskId)).generation;
  const part = message === undefined ? partOf(input ?? '{}') : { text: message };
  const isText = part['text'] !== undefined;
  const content: JsonObject = isText ? part : { data: { skill: skill ?? '', arguments: part['data'] ?? {} } };
  const ids = defined({ contextId, taskId });
  const task = await client.send({
    params: { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [content], ...ids } },
    // Text can name no skill: the endpoint does.
    ...defined({ skill: isText ? skill : undefined, idempotencyKey }),
  });
  await follow(client, task, { ...flags, after, waitsForOthers: false });
}

async function watch(taskId: string, flags: FollowFlags): Promise<void> {
  const client = new AgentClient(flags);
  await follow(client, await client.task(taskId), { ...flags, after: 1, waitsForOthers: true });
}

type Follow = FollowFlags & Pick<Following, 'after' | 'waitsForOthers'>;

async function follow(client: AgentClient, task: JsonObject, { answer = [], ...flags }: Follow): Promise<void> {
  await endWithReader();
  const { after, waitsForOthers } = flags;
  const json = defined({ json: flags.json });
  const news = newsOfTask(task);
  print(json, task, (screen) => formatNews(news, screen));
  const answers = [...answer];
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY && flags.json !== true;
  const nextAnswer = async () => answers.shift() ?? (isInteractive ? askTerminal() : undefined);
  const { taskId } = news;
  const state = await followTask({ client, taskId, after, nextAnswer, isInteractive, waitsForOthers, ...json });
  if (state !== 'completed') process.exitCode = exitCodes.failed;
}

async function askTerminal(): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question('answer>    ');
  } finally {
    terminal.close();
  }
}
