import { defined } from '../../base/defined.js';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { standIn } from '../../sdk/stand-in.js';
import { awsRequestHandler } from '../../sdk/aws-request-handler.js';
import { storeConnectTimeoutMs, storeRequestAttempts, storeRequestTimeoutMs } from '../../base/limits.js';

export interface DynamoDbClientOptions {
  /** A stand-in on this machine. Credentials are then made up; without it they and the region come from the environment. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Attempts of one request, the first included; default 3. */
  readonly maxAttempts?: number;
  /** Longest wait for the whole of one attempt; default 5,000. */
  readonly requestTimeoutMs?: number;
}

/** A client that gives up early, so that a turn can still answer within its time. */
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
