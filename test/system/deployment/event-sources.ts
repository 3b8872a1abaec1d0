import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { z } from 'zod';
import { account } from './account.js';
import type { Lambda } from './lambda.js';
import type { Queue } from './queues.js';
import type { StackResources } from './stack-resources.js';

const mappingProperties = z.strictObject({
  BatchSize: z.int(),
  EventSourceArn: z.string(),
  FunctionName: z.string(),
  FunctionResponseTypes: z.array(z.literal('ReportBatchItemFailures')).default([]),
  MaximumBatchingWindowInSeconds: z.int().default(0),
  ScalingConfig: z.strictObject({ MaximumConcurrency: z.int() }),
});
type Mapping = z.infer<typeof mappingProperties>;

/** Limits of SQS: messages per request, and seconds that a request may wait. */
const receiveMax = 10;
const receiveWaitS = 20;

export interface EventSourceParts {
  readonly lambda: Lambda;
  readonly queues: readonly Queue[];
  /** Returns a client with the rights of a function. */
  readonly clientOf: (reference: string) => SQSClient;
}

/**
 * Feeds functions from queues as the event source mappings of a template say, in the names of the functions. Returns a
 * function that stops it.
 * @throws Error for a mapping that Lambda would refuse
 */
export async function startEventSources(
  resources: StackResources,
  parts: EventSourceParts,
): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const sources = resources.take('AWS::Lambda::EventSourceMapping', mappingProperties).map(({ properties }) => {
    const queue = parts.queues.find(({ arn }) => arn === properties.EventSourceArn);
    if (queue === undefined) throw new Error(`there is no queue ${properties.EventSourceArn}`);
    return new EventSource(properties, queue, parts, stop.signal);
  });
  await Promise.all(sources.map((source) => source.check()));
  const running = sources.map((source) => source.run());
  return async () => {
    stop.abort();
    await Promise.all(running);
  };
}

class EventSource {
  readonly #mapping: Mapping;
  readonly #queue: Queue;
  readonly #lambda: Lambda;
  readonly #client: SQSClient;
  readonly #stop: AbortSignal;
  readonly #inFlight = new Set<Promise<void>>();

  constructor(mapping: Mapping, queue: Queue, { lambda, clientOf }: EventSourceParts, stop: AbortSignal) {
    this.#mapping = mapping;
    this.#queue = queue;
    this.#lambda = lambda;
    this.#client = clientOf(mapping.FunctionName);
    this.#stop = stop;
  }

  /**
   * Checks the queue as Lambda does, which refuses one whose messages become visible while the function may still run.
   */
  async check(): Promise<void> {
    const request = new GetQueueAttributesCommand({ QueueUrl: this.#queue.url, AttributeNames: ['VisibilityTimeout'] });
    const { Attributes: attributes } = await this.#client.send(request);
    const { name, timeoutMs } = this.#lambda.specOf(this.#mapping.FunctionName);
    if (Number(attributes?.VisibilityTimeout) * 1_000 < timeoutMs)
      throw new Error(`${this.#queue.name} hides messages for less than the timeout of ${name}`);
    const isFifo = this.#queue.name.endsWith('.fifo');
    if (isFifo && this.#mapping.MaximumBatchingWindowInSeconds > 0)
      throw new Error(`${this.#queue.name} is a FIFO queue, which has no batching window`);
  }

  async run(): Promise<void> {
    const { MaximumConcurrency: max } = this.#mapping.ScalingConfig;
    // More invocations than replicas would only be throttled.
    const concurrency = Math.min(max, this.#lambda.replicas);
    try {
      while (!this.#stop.aborted) {
        while (this.#inFlight.size >= concurrency) await Promise.race(this.#inFlight);
        const batch = await this.#gather();
        if (batch.length === 0) continue;
        const handling: Promise<void> = this.#handle(batch).finally(() => this.#inFlight.delete(handling));
        this.#inFlight.add(handling);
      }
    } catch (error) {
      if (!this.#stop.aborted) throw error;
    }
    await Promise.allSettled(this.#inFlight);
  }

  async #gather(): Promise<readonly Message[]> {
    const { BatchSize: batchSize, MaximumBatchingWindowInSeconds: windowS } = this.#mapping;
    const batch = [...(await this.#receive(batchSize, receiveWaitS))];
    const untilMs = Date.now() + windowS * 1_000;
    while (batch.length > 0 && batch.length < batchSize && Date.now() < untilMs)
      batch.push(...(await this.#receive(batchSize - batch.length, 1)));
    return batch;
  }

  async #receive(count: number, waitS: number): Promise<readonly Message[]> {
    const request = new ReceiveMessageCommand({
      QueueUrl: this.#queue.url,
      MaxNumberOfMessages: Math.min(count, receiveMax),
      WaitTimeSeconds: waitS,
      MessageSystemAttributeNames: ['All'],
    });
    const { Messages: messages = [] } = await this.#client.send(request, { abortSignal: this.#stop });
    return messages;
  }

  /** Handles a batch. Messages that are not deleted return when their visibility timeout is over. */
  async #handle(batch: readonly Message[]): Promise<void> {
    const result = await this.#lambda.invoke(this.#mapping.FunctionName, toEvent(batch, this.#queue.arn));
    if (!result.ok) return;
    const failed = this.#failedOf(batch, result.value);
    const done = batch.filter((message) => !failed.has(message.MessageId));
    for (let at = 0; at < done.length; at += receiveMax) {
      const entries = done.slice(at, at + receiveMax);
      await this.#client.send(
        new DeleteMessageBatchCommand({
          QueueUrl: this.#queue.url,
          Entries: entries.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle })),
        }),
      );
    }
  }

  #failedOf(batch: readonly Message[], value: unknown): ReadonlySet<string | undefined> {
    if (this.#mapping.FunctionResponseTypes.length === 0) return new Set();
    const { batchItemFailures: failures } = (value ?? {}) as {
      readonly batchItemFailures?: readonly { readonly itemIdentifier: string }[] | null;
    };
    const ids = (failures ?? []).map(({ itemIdentifier }) => itemIdentifier);
    // An id of no message fails the whole batch.
    const isKnown = ids.every((id) => batch.some(({ MessageId }) => MessageId === id));
    return new Set(isKnown ? ids : batch.map(({ MessageId }) => MessageId));
  }
}

/** Returns the event that Lambda makes of messages. */
export function toEvent(messages: readonly Message[], queueArn: string): SQSEvent {
  return {
    Records: messages.map((message): SQSRecord => ({
      messageId: message.MessageId ?? '',
      receiptHandle: message.ReceiptHandle ?? '',
      body: message.Body ?? '',
      attributes: message.Attributes as unknown as SQSRecord['attributes'],
      messageAttributes: {},
      md5OfBody: message.MD5OfBody ?? '',
      eventSource: 'aws:sqs',
      eventSourceARN: queueArn,
      awsRegion: account.region,
    })),
  };
}
