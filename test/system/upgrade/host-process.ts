// A program: runs the functions of a deployment whose bundles are in a folder, as Lambda would, on a clock that can be
// advanced. Argument: the folder, as JSON. Lines on standard input are requests, lines on standard output answers.

import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { DeleteMessageCommand, type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { APIGatewayProxyEventV2, SQSBatchResponse, SQSEvent } from 'aws-lambda';

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/** `advanceMs`: advances the clock and sweeps. */
type Request =
  { readonly id: number; readonly event: APIGatewayProxyEventV2 } | { readonly id: number; readonly advanceMs: number };

const { folder } = JSON.parse(process.argv[2] ?? '{}') as { readonly folder: string };

let aheadMs = 0;
const realNow = Date.now.bind(Date);
// Replaced before any bundle is loaded.
Date.now = () => realNow() + aheadMs;

async function load(name: string): Promise<Handler> {
  const module = (await import(pathToFileURL(join(folder, `${name}.mjs`)).href)) as { readonly handler: Handler };
  return module.handler;
}

/** The longest time that any of them may take. */
const context = { getRemainingTimeInMillis: () => 900_000 };
const sqs = new SQSClient({ endpoint: process.env['AWS_ENDPOINT_URL_SQS'] ?? '' });

/** Feeds a function from its queue, one message at a time, for as long as the process lives. */
async function feed(handler: Handler, url: string): Promise<never> {
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MessageSystemAttributeNames: ['All'] }),
    );
    for (const message of Messages) void handle(handler, url, message);
    if (Messages.length === 0) await wait(20);
  }
}

async function handle(handler: Handler, url: string, message: Message): Promise<void> {
  const event = { Records: [recordOf(message)] } as unknown as SQSEvent;
  const { batchItemFailures } = (await handler(event, context)) as SQSBatchResponse;
  if (batchItemFailures.length === 0)
    await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message.ReceiptHandle }));
}

function recordOf({ MessageId, ReceiptHandle, Body, Attributes }: Message): object {
  return { messageId: MessageId, receiptHandle: ReceiptHandle, body: Body, attributes: Attributes ?? {} };
}

const api = await load('api');
const turn = await load('turn');
const poll = await load('poll');
const step = await load('step');
const schedule = await load('schedule');

void feed(turn, process.env['OUTWAIT_TURN_QUEUE_URL'] ?? '');
void feed(poll, process.env['OUTWAIT_WORK_QUEUE_URL'] ?? '');
void feed(step, process.env['OUTWAIT_STEP_QUEUE_URL'] ?? '');
void feed(step, process.env['OUTWAIT_START_QUEUE_URL'] ?? '');
void feed(poll, process.env['OUTWAIT_SLOW_QUEUE_URL'] ?? '');

async function answer(request: Request): Promise<unknown> {
  if ('event' in request) return api(request.event, context);
  aheadMs += request.advanceMs;
  return schedule({ time: new Date(Date.now()).toISOString() }, context);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line) as Request;
  void answer(request).then((result) => {
    process.stdout.write(`\n>${JSON.stringify({ id: request.id, result })}\n`);
  });
});
