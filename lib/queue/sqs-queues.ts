import type { SQSClient } from '@aws-sdk/client-sqs';
import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import { queueDelayMaxMs } from '../base/limits.js';
import {
  groupOf,
  queueOf,
  type Queues,
  type StartMessage,
  type StepMessage,
  type TurnMessage,
  type WorkMessage,
} from './queue.js';
import { type OutgoingMessage, SqsBatches } from './sqs-batches.js';

export interface SqsQueueUrls {
  /** FIFO. */
  readonly turn: string;
  /** Standard. */
  readonly work: string;
  /** Standard. */
  readonly step: string;
  /** Standard. */
  readonly start: string;
  /** Standard. */
  readonly slow: string;
}

/**
 * Sends to SQS; Lambda receives. Messages that are sent at the same time share requests. Throws EngineError `INTERNAL`
 * if a queue does not take the message.
 */
export class SqsQueues implements Queues {
  readonly #turn: SqsBatches;
  readonly #work: SqsBatches;
  readonly #step: SqsBatches;
  readonly #start: SqsBatches;
  readonly #slow: SqsBatches;

  constructor(client: SQSClient, urls: SqsQueueUrls) {
    this.#turn = new SqsBatches(client, urls.turn);
    this.#work = new SqsBatches(client, urls.work);
    this.#step = new SqsBatches(client, urls.step);
    this.#start = new SqsBatches(client, urls.start);
    this.#slow = new SqsBatches(client, urls.slow);
  }

  async sendTurn(message: TurnMessage, dedupId: string): Promise<void> {
    await send('turn', this.#turn, {
      MessageBody: JSON.stringify(message),
      MessageGroupId: message.runId,
      MessageDeduplicationId: dedupId,
    });
  }

  async sendWork(message: WorkMessage, delayMs: number): Promise<void> {
    const queue = queueOf(message);
    const batches = queue === 'slow' ? this.#slow : this.#work;
    await sendDelayed(queue, batches, { message, groupId: groupOf(message) }, delayMs);
  }

  async sendStep(message: StepMessage, delayMs: number): Promise<void> {
    await sendDelayed('step', this.#step, { message }, delayMs);
  }

  async sendStart(message: StartMessage, delayMs: number): Promise<void> {
    await sendDelayed('start', this.#start, { message }, delayMs);
  }
}

async function sendDelayed(
  queue: Exclude<keyof SqsQueueUrls, 'turn'>,
  batches: SqsBatches,
  {
    message,
    groupId,
  }: { readonly message: WorkMessage | StepMessage | StartMessage; readonly groupId?: string | undefined },
  delayMs: number,
): Promise<void> {
  if (!(delayMs >= 0 && delayMs <= queueDelayMaxMs)) {
    throw new EngineError('INTERNAL', `the ${queue} queue takes a delay of 0 to ${queueDelayMaxMs} ms, got ${delayMs}`);
  }
  await send(queue, batches, {
    MessageBody: JSON.stringify(message),
    DelaySeconds: Math.ceil(delayMs / 1_000),
    // Makes a standard queue fair: a group with many messages in flight does not delay those of the others.
    ...defined({ MessageGroupId: groupId }),
  });
}

async function send(queue: keyof SqsQueueUrls, batches: SqsBatches, message: OutgoingMessage): Promise<void> {
  try {
    await batches.send(message);
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown';
    throw new EngineError('INTERNAL', `the ${queue} queue did not take a message (${reason})`, { cause: error });
  }
}
