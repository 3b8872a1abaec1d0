import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { awsRequestHandler } from './aws-request-handler.js';
import { standIn } from './stand-in.js';

const busConnectTimeoutMs = 1_000;
const busRequestTimeoutMs = 3_000;
/** Attempts by the SDK for one request: a later turn publishes what was not published. */
const busRequestAttempts = 2;

export interface EventBridgeClientOptions {
  /**
   * Endpoint of a stand-in on this machine, with made-up credentials. Without it, credentials and region come from the
   * environment.
   */
  readonly endpoint?: string;
  /** Attempts for one request, including the first; default 2. */
  readonly maxAttempts?: number;
  /** Time limit of one whole attempt; default 3,000. */
  readonly requestTimeoutMs?: number;
}

/**
 * Returns a client that gives up early: a later turn publishes what was not published, while a turn that hangs holds
 * its run.
 */
export function createEventBridgeClient(options: EventBridgeClientOptions = {}): EventBridgeClient {
  const { endpoint } = options;
  return new EventBridgeClient({
    ...standIn(endpoint),
    maxAttempts: options.maxAttempts ?? busRequestAttempts,
    requestHandler: awsRequestHandler({
      connectMs: busConnectTimeoutMs,
      requestMs: options.requestTimeoutMs ?? busRequestTimeoutMs,
    }),
  });
}
