import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { awsRequestHandler } from './aws-request-handler.js';
import { standIn } from './stand-in.js';

const busConnectTimeoutMs = 1_000;
const busRequestTimeoutMs = 3_000;
/** Attempts of the SDK for one request: a later turn makes up for what is not published. */
const busRequestAttempts = 2;

export interface EventBridgeClientOptions {
  /** A stand-in on this machine. Credentials are then made up; without it they and the region come from the environment. */
  readonly endpoint?: string;
  /** Attempts of one request, the first included; default 2. */
  readonly maxAttempts?: number;
  /** Longest wait for the whole of one attempt; default 3,000. */
  readonly requestTimeoutMs?: number;
}

/** A client that gives up early: what was not published is published by a later turn, and a turn that hangs holds its run. */
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
