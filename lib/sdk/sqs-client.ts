import { SQSClient } from '@aws-sdk/client-sqs';
import { awsRequestHandler } from './aws-request-handler.js';
import { standIn } from './stand-in.js';

// Same limits as for the store, with the SDK's own retries.
const queueConnectTimeoutMs = 1_000;
const queueRequestTimeoutMs = 5_000;
const queueRequestAttempts = 3;

export interface SqsClientOptions {
  /**
   * Endpoint of a stand-in on this machine, with made-up credentials. Without it, credentials and region come from the
   * environment.
   */
  readonly endpoint?: string;
  /** Attempts for one request, including the first; default 3. */
  readonly maxAttempts?: number;
  /** Time limit of one whole attempt; default 5,000. */
  readonly requestTimeoutMs?: number;
}

/**
 * Returns a client that gives up early: the sweep makes up for a message that was not sent, but not for a turn that
 * hangs.
 */
export function createSqsClient(options: SqsClientOptions = {}): SQSClient {
  const { endpoint } = options;
  return new SQSClient({
    ...standIn(endpoint),
    maxAttempts: options.maxAttempts ?? queueRequestAttempts,
    requestHandler: awsRequestHandler({
      connectMs: queueConnectTimeoutMs,
      requestMs: options.requestTimeoutMs ?? queueRequestTimeoutMs,
    }),
  });
}
