import { defined } from '../../base/defined.js';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { standIn } from '../../sdk/stand-in.js';
import { awsRequestHandler } from '../../sdk/aws-request-handler.js';
import { storeConnectTimeoutMs, storeRequestAttempts, storeRequestTimeoutMs } from '../../base/limits.js';

export interface DynamoDbClientOptions {
  /** A local stand-in; credentials are then made up. Without it, credentials and region come from the environment. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Attempts of one request, including the first; default 3. */
  readonly maxAttempts?: number;
  /** Longest duration of one whole attempt; default 5,000, and six times as long for a stand-in. */
  readonly requestTimeoutMs?: number;
}

/**
 * How many times as long a stand-in may take. It does one thing after the other, so a burst waits; nothing ends a process
 * on this machine as the end of an invocation would.
 */
const standInPatience = 6;

/** Creates a client that gives up early, so that a turn can still respond in time. */
export function createDynamoDbClient(options: DynamoDbClientOptions = {}): DynamoDBClient {
  const { endpoint, region } = options;
  const patience = endpoint === undefined ? 1 : standInPatience;
  return new DynamoDBClient({
    ...standIn(endpoint),
    ...defined({ region: region ?? (endpoint === undefined ? undefined : 'local') }),
    maxAttempts: options.maxAttempts ?? storeRequestAttempts,
    requestHandler: awsRequestHandler({
      connectMs: storeConnectTimeoutMs * patience,
      requestMs: options.requestTimeoutMs ?? storeRequestTimeoutMs * patience,
    }),
  });
}
