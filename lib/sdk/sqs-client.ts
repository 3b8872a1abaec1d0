import { SQSClient } from '@aws-sdk/client-sqs';
import { awsRequestHandler } from './aws-request-handler.js';
import { standIn } from './stand-in.js';

// As with the store, and with the SDK's own repeats.
const queueConnectTimeoutMs = 1_000;
const queueRequestTimeoutMs = 5_000;
const queueRequestAttempts = 3;

export interface SqsClientOptions {
  /** A stand-in on this machine. Credentials are then made up; without it they and the region come from the environment. */
  readonly endpoint?: string;
  /** Attempts of one request, the first included; default 3. */
  readonly maxAttempts?: number;
  /** Longest wait for the whole of one attempt; default 5,000. */
  readonly requestTimeoutMs?: number;
}

/** A client that gives up early: a message that was not sent is made up for by the sweep, a turn that hangs is not. */
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
