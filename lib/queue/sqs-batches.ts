import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import pLimit from 'p-limit';

/** Most messages of one request to SQS. */
export const batchMax = 10;
const requestsInParallel = 8;

/** A message of a queue. */
export type OutgoingMessage = Omit<SendMessageBatchRequestEntry, 'Id'>;

interface Waiting {
  readonly message: OutgoingMessage;
  readonly sent: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Sends to one queue. Messages sent at the same time share requests of up to 10; a single one is sent by itself. Each
 * send resolves if the queue has taken that very message and rejects if it has not, whatever happened to the others in
 * its request.
 */
export class SqsBatches {
  readonly #client: SQSClient;
  readonly #url: string;
  readonly #limit = pLimit(requestsInParallel);
  #waiting: Waiting[] = [];

  constructor(client: SQSClient, url: string) {
    this.#client = client;
    this.#url = url;
  }

  send(message: OutgoingMessage): Promise<void> {
    return new Promise((sent, failed) => {
      this.#waiting.push({ message, sent, failed });
      if (this.#waiting.length > 1) return;
      // Messages sent before this callback runs join the batch.
      setImmediate(() => {
        this.#flush();
      });
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += batchMax) {
      const batch = waiting.slice(at, at + batchMax);
      void this.#limit(() => this.#sendBatch(batch));
    }
  }

  async #sendBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const [only] = batch;
      if (batch.length === 1 && only !== undefined) {
        await this.#client.send(new SendMessageCommand({ QueueUrl: this.#url, ...only.message }));
        only.sent();
        return;
      }
      const { Successful = [], Failed = [] } = await this.#client.send(
        new SendMessageBatchCommand({
          QueueUrl: this.#url,
          Entries: batch.map(({ message }, at) => ({ Id: String(at), ...message })),
        }),
      );
      const taken = new Set(Successful.map(({ Id }) => Id));
      const reasons = new Map(Failed.map(({ Id, Code }) => [Id, Code]));
      batch.forEach(({ sent, failed }, at) => {
        const id = String(at);
        if (taken.has(id)) sent();
        else failed(Object.assign(new Error('not taken'), { name: reasons.get(id) ?? 'NotAnswered' }));
      });
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}
