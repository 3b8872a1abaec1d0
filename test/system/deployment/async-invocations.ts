import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Lambda } from './lambda.js';
import type { Queue } from './queues.js';
import type { FunctionError } from './replica.js';
import type { StackResources } from './stack-resources.js';

const configProperties = z.strictObject({
  FunctionName: z.string(),
  // Of the function itself, or the name of an alias.
  Qualifier: z.string(),
  MaximumEventAgeInSeconds: z.int(),
  MaximumRetryAttempts: z.int(),
  DestinationConfig: z.strictObject({ OnFailure: z.strictObject({ Destination: z.string() }) }),
});

/** Lambda waits so long before it repeats an event whose function has failed, once and twice. */
const retryDelaysMs = [60_000, 120_000];

export interface AsyncParts {
  readonly lambda: Lambda;
  readonly queues: readonly Queue[];
  /** A client with the rights of a function. */
  readonly clientOf: (reference: string) => SQSClient;
  /** In place of those of Lambda. */
  readonly retryDelaysMs?: readonly number[];
}

/** Hands events over to functions without waiting for an answer, and repeats what fails, as a template says. */
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

  /** Returns at once: the event is Lambda's from now on. */
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

  /** In the name of the function. */
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

/** What events must be led to for the configuration to be theirs. */
function targetOf(
  { FunctionName: name, Qualifier: qualifier }: z.infer<typeof configProperties>,
  lambda: Lambda,
): string {
  const { arn } = lambda.specOf(name);
  return qualifier === '$LATEST' ? arn : `${arn}:${qualifier}`;
}
