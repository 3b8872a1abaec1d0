import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Lambda } from './lambda.js';
import type { Queue } from './queues.js';
import type { FunctionError } from './replica.js';
import type { StackResources } from './stack-resources.js';

const configProperties = z.strictObject({
  FunctionName: z.string(),
  // `$LATEST` or the name of an alias.
  Qualifier: z.string(),
  MaximumEventAgeInSeconds: z.int(),
  MaximumRetryAttempts: z.int(),
  DestinationConfig: z.strictObject({ OnFailure: z.strictObject({ Destination: z.string() }) }),
});

/** Delays of Lambda before it repeats an event whose function has failed once and twice. */
const retryDelaysMs = [60_000, 120_000];

export interface AsyncParts {
  readonly lambda: Lambda;
  readonly queues: readonly Queue[];
  /** Returns a client with the rights of a function. */
  readonly clientOf: (reference: string) => SQSClient;
  /** Replaces the delays of Lambda. */
  readonly retryDelaysMs?: readonly number[];
}

/** Delivers events to functions without waiting for an answer, and repeats failed ones, as a template says. */
export class AsyncInvocations {
  readonly #parts: AsyncParts;
  readonly #configs: ReadonlyMap<string, z.infer<typeof configProperties>>;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(resources: StackResources, parts: AsyncParts) {
    this.#parts = parts;
    this.#configs = new Map(
      resources
        .take('AWS::Lambda::EventInvokeConfig', configProperties)
        .map(({ properties }) => [targetOf(properties, parts.lambda), properties]),
    );
  }

  /** Returns at once; Lambda is responsible for the event from then on. */
  put(reference: string, event: unknown): void {
    const running: Promise<void> = this.#deliver(reference, event)
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted) throw error;
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  async #deliver(reference: string, event: unknown): Promise<void> {
    const config = this.#configs.get(reference);
    if (config === undefined) throw new Error(`nothing says how often events of ${reference} are repeated`);
    const { MaximumRetryAttempts: retries, MaximumEventAgeInSeconds: maxAgeS } = config;
    const delaysMs = this.#parts.retryDelaysMs ?? retryDelaysMs;
    const atMs = Date.now();
    let invocations = 0;
    for (;;) {
      const result = await this.#parts.lambda.invoke(reference, event);
      invocations += 1;
      if (result.ok) return;
      const delayMs = delaysMs[invocations - 1] ?? 0;
      if (invocations > retries || Date.now() + delayMs - atMs > maxAgeS * 1_000)
        return this.#putAside(reference, config.DestinationConfig.OnFailure.Destination, event, result.error);
      await delay(delayMs, undefined, { signal: this.#stop.signal });
    }
  }

  /** Sends the event to its destination in the name of the function. */
  async #putAside(reference: string, destination: string, event: unknown, error: FunctionError): Promise<void> {
    const queue = this.#parts.queues.find(({ arn }) => arn === destination);
    if (queue === undefined) throw new Error(`there is no queue ${destination}`);
    const record = {
      version: '1.0',
      requestContext: { functionArn: reference, condition: 'RetriesExhausted' },
      requestPayload: event,
      responsePayload: error,
    };
    await this.#parts
      .clientOf(reference)
      .send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: JSON.stringify(record) }));
  }
}

/** Returns the reference by which events reach the function or alias of a configuration. */
function targetOf(
  { FunctionName: name, Qualifier: qualifier }: z.infer<typeof configProperties>,
  lambda: Lambda,
): string {
  const { arn } = lambda.specOf(name);
  return qualifier === '$LATEST' ? arn : `${arn}:${qualifier}`;
}
