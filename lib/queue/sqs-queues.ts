import { SendMessageCommand, type SendMessageCommandInput, type SQSClient } from '@aws-sdk/client-sqs';
import { EngineError } from '../base/errors.js';
import { queueDelayMaxMs } from '../base/limits.js';
import type { Queues, TurnMessage, WorkMessage } from './queue.js';

export interface SqsQueueUrls {
  /** FIFO. */
  readonly turn: string;
  /** Standard. */
  readonly work: string;
}

/** Sends to SQS; receiving is Lambda's. Throws EngineError `INTERNAL` when a queue does not take the message. */
export class SqsQueues implements Queues {
  readonly #client: SQSClient;
  readonly #urls: SqsQueueUrls;

  constructor(client: SQSClient, urls: SqsQueueUrls) {
    this.#client = client;
    this.#urls = urls;
  }

  async sendTurn(message: TurnMessage, dedupId: string): Promise<void> {
    await this.#send('turn', {
      QueueUrl: this.#urls.turn,
      MessageBody: JSON.stringify(message),
      MessageGroupId: message.runId,
      MessageDeduplicationId: dedupId,
    });
  }

  async sendWork(message: WorkMessage, delayMs: number): Promise<void> {
    if (!(delayMs >= 0 && delayMs <= queueDelayMaxMs)) {
      throw new EngineError('INTERNAL', `the work queue takes a delay of 0 to ${queueDelayMaxMs} ms, got ${delayMs}`);
    }
    await this.#send('work', {
      QueueUrl: this.#urls.work,
      MessageBody: JSON.stringify(message),
      DelaySeconds: Math.ceil(delayMs / 1_000),
    });
  }

  async #send(queue: 'turn' | 'work', input: SendMessageCommandInput): Promise<void> {
    try {
      await this.#client.send(new SendMessageCommand(input));
    } catch (error) {
      const reason = error instanceof Error ? error.name : 'unknown';
      throw new EngineError('INTERNAL', `the ${queue} queue did not take a message (${reason})`, { cause: error });
    }
  }
}
