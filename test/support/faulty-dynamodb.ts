// Faults of the network and of DynamoDB, between the SDK with its retries and the server.

import { Readable } from 'node:stream';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

export type StoreFault =
  /** Applied; the reply is lost with the connection. */
  | 'lostAck'
  /** The caller sees a timeout; the request is applied when `applyLate` is called. */
  | 'lateApply'
  /** The connection breaks before the request is sent. */
  | 'drop'
  /** Refused by the server before the write. */
  | 'throttle'
  /** Another transaction holds an item. */
  | 'conflict'
  /** 500, not applied. */
  | 'serverError';

/** An HTTP request of the SDK, the first try or a retry. */
export interface StoreRequest {
  readonly operation: 'GetItem' | 'PutItem' | 'UpdateItem' | 'Query' | 'TransactWriteItems' | (string & {});
  /** 1 for the first try. */
  readonly attempt: number;
  readonly body: string;
}

/** Called once per request, in order; `undefined` lets the request through. */
export type FaultPlan = (request: StoreRequest) => StoreFault | undefined;

export interface FaultyDynamoDb {
  /** Every request so far, with the fault that it met. */
  readonly requests: readonly (StoreRequest & { readonly fault: StoreFault | undefined })[];
  /** Sends the requests held back by `lateApply`, in order; returns their HTTP status codes. */
  applyLate(): Promise<number[]>;
}

/** Plans one fault per request, in order; later requests pass. */
export function scripted(...faults: readonly (StoreFault | undefined)[]): FaultPlan {
  let next = 0;
  return () => faults[next++];
}

/** Plans each fault with its own probability; `fraction` is a seeded source of [0, 1). */
export function randomly(fraction: () => number, rates: Partial<Record<StoreFault, number>>): FaultPlan {
  return () => {
    let left = fraction();
    for (const [fault, rate] of Object.entries(rates)) {
      if (left < rate) return fault as StoreFault;
      left -= rate;
    }
    return undefined;
  };
}

/** The part of the SDK's HTTP types that is used here; they belong to a package that we do not depend on. */
interface HttpRequest {
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}
interface HttpResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body?: AsyncIterable<unknown>;
}
interface HttpHandler {
  handle(request: HttpRequest, options?: object): Promise<{ response: HttpResponse }>;
}

/** Applies `plan` to every request that `client` sends from now on. */
export function injectFaults(client: DynamoDBClient, plan: FaultPlan): FaultyDynamoDb {
  const inner = client.config.requestHandler as HttpHandler;
  const requests: (StoreRequest & { fault: StoreFault | undefined })[] = [];
  const late: HttpRequest[] = [];

  const handle: HttpHandler['handle'] = async (request, options) => {
    const seen = toStoreRequest(request.headers, request.body);
    const fault = plan(seen);
    requests.push({ ...seen, fault });
    switch (fault) {
      case undefined:
        return inner.handle(request, options);
      case 'lostAck':
        await drained((await inner.handle(request)).response);
        throw brokenConnection();
      case 'drop':
        throw brokenConnection();
      case 'lateApply':
        late.push(request);
        throw Object.assign(new Error('the request timed out'), { name: 'TimeoutError' });
      case 'throttle':
        return { response: failure(400, { __type: 'ThrottlingException', message: 'slow down' }) };
      case 'conflict':
        return { response: failure(400, conflictBody(seen)) };
      case 'serverError':
        return { response: failure(500, { __type: 'InternalServerError', message: 'try again' }) };
    }
  };
  // The rest of the handler stays, since the SDK also asks it for its settings and to close its sockets.
  client.config.requestHandler = Object.assign(Object.create(inner) as typeof client.config.requestHandler, { handle });

  return {
    requests,
    async applyLate() {
      const statuses: number[] = [];
      for (const request of late.splice(0)) {
        const { response } = await inner.handle(request);
        await drained(response);
        statuses.push(response.statusCode);
      }
      return statuses;
    },
  };
}

function toStoreRequest(headers: Record<string, string>, body: unknown): StoreRequest {
  return {
    operation: headers['x-amz-target']?.split('.')[1] ?? 'unknown',
    attempt: Number(/attempt=(\d+)/.exec(headers['amz-sdk-request'] ?? '')?.[1] ?? 1),
    body: typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array),
  };
}

function brokenConnection(): Error {
  return Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' });
}

function conflictBody({ operation, body }: StoreRequest): object {
  if (operation !== 'TransactWriteItems') return { __type: 'TransactionConflictException', message: 'in conflict' };
  const { TransactItems: items } = JSON.parse(body) as { TransactItems: unknown[] };
  return {
    __type: 'TransactionCanceledException',
    Message: 'cancelled',
    CancellationReasons: items.map((_, index) => ({ Code: index === 0 ? 'TransactionConflict' : 'None' })),
  };
}

function failure(statusCode: number, body: object): HttpResponse {
  const text = JSON.stringify(body);
  return {
    statusCode,
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'fault' },
    body: Readable.from([Buffer.from(text)]),
  };
}

async function drained({ body = Readable.from([]) }: HttpResponse): Promise<void> {
  const chunks = body[Symbol.asyncIterator]();
  while ((await chunks.next()).done !== true);
}
