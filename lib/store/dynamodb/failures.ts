// The fate of a write, read from a failed request of the SDK: applied, not applied, or unknown.

import { defined } from '../../base/defined.js';
import { DynamoDBServiceException, type TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { EngineError } from '../../base/errors.js';
import type { TransactResult } from '../table.js';
import { fromAttributes } from './attributes.js';

/**
 * Collects over all attempts of one write whether any of them ended without a definite answer. The last error does not
 * show it: a first attempt may have been applied and its reply lost, and only the retry throttled.
 */
export interface Fate {
  unknown: boolean;
}

/** Returns a middleware for the SDK that sees the end of each attempt. */
export function watchAttempts(fate: Fate) {
  return <Args, Result>(next: (args: Args) => Promise<Result>) =>
    async (args: Args): Promise<Result> => {
      try {
        return await next(args);
      } catch (error) {
        if (!isDefinite(error)) fate.unknown = true;
        throw error;
      }
    };
}

// The request was never sent: nothing was listening, or the host name is unknown.
const unsentCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

/** Returns true for a failure after which the attempt has surely changed nothing. */
function isDefinite(error: unknown): boolean {
  if (error instanceof DynamoDBServiceException) {
    const status = error.$metadata.httpStatusCode ?? 500;
    // The transaction with this token is still in progress: it may yet be applied.
    if (error.name === 'TransactionInProgressException') return false;
    return status >= 400 && status < 500 && status !== 408;
  }
  return unsentCodes.includes((error as NodeJS.ErrnoException).code ?? '');
}

export function isConflict(error: unknown): boolean {
  return error instanceof DynamoDBServiceException && error.name === 'TransactionConflictException';
}

// Reasons that hold only for this moment; another attempt may succeed.
const passingReasons = ['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'];

/** Returns the result of a cancelled transaction, or 'conflict' if it is not final. Throws for a bug of ours. */
export function cancelledResult(error: TransactionCanceledException): TransactResult | 'conflict' {
  const reasons = error.CancellationReasons ?? [];
  const codes = reasons.map((reason) => reason.Code ?? 'None');
  const bug = codes.find((code) => !['None', 'ConditionalCheckFailed', ...passingReasons].includes(code));
  if (bug !== undefined) throw invalid(bug, reasons.find((reason) => reason.Code === bug)?.Message);
  // Next to a passing reason the others are incomplete: it is unknown whose condition held.
  if (codes.some((code) => passingReasons.includes(code))) return 'conflict';
  if (!codes.includes('ConditionalCheckFailed')) throw invalid('TransactionCanceledException', 'no reason given');
  return {
    ok: false,
    refused: reasons.map((reason) =>
      reason.Code === 'ConditionalCheckFailed'
        ? { old: reason.Item === undefined ? undefined : fromAttributes(reason.Item) }
        : undefined,
    ),
  };
}

/** Converts an error of the SDK to ours. It carries no text of the SDK that can hold a URL or a stored value. */
export function storeError(error: unknown, fate: Fate): EngineError {
  if (error instanceof EngineError) return error;
  const name = nameOf(error);
  if (fate.unknown) return new EngineError('STORE_RESULT_UNKNOWN', `a write got no answer (${name})`, detailsOf(error));
  if (name === 'ValidationException') return invalid(name, (error as Error).message);
  return new EngineError('STORE_UNAVAILABLE', `the table does not answer (${name})`, detailsOf(error));
}

export function conflictError(fate: Fate): EngineError {
  return fate.unknown
    ? new EngineError(
        'STORE_RESULT_UNKNOWN',
        'a write got no answer, and its retries conflicted with other transactions',
      )
    : new EngineError('STORE_UNAVAILABLE', 'the items are being written by other transactions');
}

/** Returns the code of a system error, which says more than its name, or the name of an error of the service. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return (error as NodeJS.ErrnoException).code ?? error.name;
}

function invalid(name: string, message = ''): EngineError {
  if (/item size|4MB limit/i.test(message))
    return new EngineError('PAYLOAD_TOO_LARGE', 'an item or a transaction is too large');
  // A message of this form quotes the request.
  const safe = message.includes("Value '") ? '' : `: ${message.slice(0, 200)}`;
  return new EngineError('INTERNAL', `the table refused the request as malformed (${name}${safe})`);
}

function detailsOf(error: unknown) {
  if (!(error instanceof DynamoDBServiceException)) return {};
  const { requestId, httpStatusCode, attempts } = error.$metadata;
  return {
    details: {
      ...defined({ requestId, status: httpStatusCode, attempts }),
    },
  };
}
