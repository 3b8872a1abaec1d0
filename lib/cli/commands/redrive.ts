import { type Command, Option } from 'commander';
import { envNames } from '../../topology/env.js';
import { urlArgument, wholeNumberArgument } from '../arguments.js';
import { CliError, exitCodes } from '../cli-error.js';
import { withJson } from '../common-options.js';
import type { Screen } from '../screen.js';
import { formatTable } from '../table.js';
import { helpNote } from '../help-note.js';
import { print } from '../output.js';

const queues = {
  turn: envNames.turnQueueUrl,
  work: envNames.workQueueUrl,
  step: envNames.stepQueueUrl,
  start: envNames.startQueueUrl,
  slow: envNames.slowQueueUrl,
} as const;
type QueueName = keyof typeof queues;
const queueNames = Object.keys(queues) as readonly QueueName[];

interface Flags {
  readonly queue?: QueueName;
  readonly dryRun?: boolean;
  readonly limit: number;
  readonly sqsEndpoint?: string;
  readonly json?: boolean;
}

export interface Redriven {
  readonly queue: string;
  /** Approximate number of messages in its dead-letter queue. */
  readonly deadLetters: number;
  readonly moved: number;
}

export function addRedriveCommand(program: Command): void {
  withJson(program.command('redrive'))
    .description('move messages from the dead-letter queues of a deployment on AWS back into its queues')
    .addOption(new Option('--queue <name>', 'only messages of this queue').choices(queueNames))
    .option('--dry-run', 'only count the messages')
    .option('--limit <number>', 'maximum number of messages per queue', wholeNumberArgument(1, 100_000), 1_000)
    .addOption(new Option('--sqs-endpoint <url>', 'use an SQS stand-in instead of AWS').argParser(urlArgument))
    .addHelpText(
      'after',
      helpNote(
        `The URLs of the queues are read from ${Object.values(queues).join(', ')}, credentials and region as by the AWS SDK. No run needs this: the sweep does the work of a lost message within a minute.`,
      ),
    )
    .action(redriveQueues);
}

async function redriveQueues(flags: Flags): Promise<void> {
  const named = flags.queue === undefined ? queueNames : [flags.queue];
  const urls = named.map((queue) => ({ queue, url: urlOf(queue) }));
  // Loaded here, so that the other commands start fast.
  const { createSqsClient } = await import('../../sdk/sqs-client.js');
  const { findDeadLetters, redrive } = await import('../../queue/redrive.js');
  const client = createSqsClient(flags.sqsEndpoint === undefined ? {} : { endpoint: flags.sqsEndpoint });
  const redriven: Redriven[] = [];
  try {
    for (const { queue, url } of urls) {
      try {
        const { url: from, count: deadLetters } = await findDeadLetters(client, url);
        const moved = flags.dryRun === true ? 0 : await redrive(client, { from, to: url, limit: flags.limit });
        redriven.push({ queue, deadLetters, moved });
      } catch (error) {
        throw new CliError(`${queue} queue: ${reasonOf(error)}`, exitCodes.failed);
      }
    }
  } finally {
    client.destroy();
  }
  print(flags, { queues: redriven }, (screen) => formatRedriven(redriven, screen));
}

function urlOf(queue: QueueName): string {
  const name = queues[queue];
  const url = process.env[name] ?? '';
  if (!URL.canParse(url))
    throw new CliError(
      `${name} must be the URL of the ${queue} queue, but is ${url === '' ? 'not set' : 'not a URL'}`,
      exitCodes.usage,
    );
  return url;
}

/** Returns the reason without messages of the SDK, which contain addresses and account numbers. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return error.name === 'EngineError' ? error.message : `SQS refused the request or cannot be reached (${error.name})`;
}

function formatRedriven(queues: readonly Redriven[], screen: Screen): string {
  return formatTable(
    [
      ['QUEUE', 'DEAD LETTERS', 'MOVED'],
      ...queues.map(({ queue, deadLetters, moved }) => [queue, String(deadLetters), String(moved)]),
    ],
    screen,
  );
}
