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
  /** Longest duration of one whole attempt; default 5,000. */
  readonly requestTimeoutMs?: number;
}

/** Creates a client that gives up early, so that a turn can still respond in time. */
export function createDynamoDbClient(options: DynamoDbClientOptions = {}): DynamoDBClient {
  const { endpoint, region } = options;
  return new DynamoDBClient({
    ...standIn(endpoint),
    ...defined({ region: region ?? (endpoint === undefined ? undefined : 'local') }),
    maxAttempts: options.maxAttempts ?? storeRequestAttempts,
    requestHandler: awsRequestHandler({
      connectMs: storeConnectTimeoutMs,
      requestMs: options.requestTimeoutMs ?? storeRequestTimeoutMs,
    }),
  });
}
