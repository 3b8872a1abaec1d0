// The fate of a write, read from a failed request of the SDK: applied, not applied, or not known.

import { defined } from '../../base/defined.js';
import { DynamoDBServiceException, type TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { EngineError } from '../../base/errors.js';
import type { TransactResult } from '../table.js';
import { fromAttributes } from './attributes.js';

/**
 * Collects over all attempts of one write whether one of them ended without a definite answer. The last error alone
 * does not say: a first attempt may have been applied and its reply lost, and only the repeat throttled.
 */
export interface Fate {
  unknown: boolean;
}

/** A middleware of the SDK that sees the end of each attempt. */
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

// The request never left: nobody listened, or the name of the host is not known.
const unsentCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

/** True for a failure after which the attempt has surely changed nothing. */
function isDefinite(error: unknown): boolean {
  if (error instanceof DynamoDBServiceException) {
    const status = error.$metadata.httpStatusCode ?? 500;
    // The transaction of this very token is still being worked on: it may yet be applied.
    if (error.name === 'TransactionInProgressException') return false;
    return status >= 400 && status < 500 && status !== 408;
  }
  return unsentCodes.includes((error as NodeJS.ErrnoException).code ?? '');
}

export function isConflict(error: unknown): boolean {
  return error instanceof DynamoDBServiceException && error.name === 'TransactionConflictException';
}

// Reasons that hold for this moment only; another attempt may pass.
const passingReasons = ['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'];

/** The answer in the reasons of a cancelled transaction, or 'conflict' when it is not fixed yet. Throws for a bug of ours. */
export function cancelledResult(error: TransactionCanceledException): TransactResult | 'conflict' {
  const reasons = error.CancellationReasons ?? [];
  const codes = reasons.map((reason) => reason.Code ?? 'None');
  const bug = codes.find((code) => !['None', 'ConditionalCheckFailed', ...passingReasons].includes(code));
  if (bug !== undefined) throw invalid(bug, reasons.find((reason) => reason.Code === bug)?.Message);
  // Beside a passing reason another one tells only a part: whose condition held is not known.
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

/** Our error for one of the SDK. It carries no text of the SDK that can hold a URL or a stored value. */
export function storeError(error: unknown, fate: Fate): EngineError {
  if (error instanceof EngineError) return error;
  const name = nameOf(error);
  if (fate.unknown) return new EngineError('STORE_RESULT_UNKNOWN', `a write got no answer (${name})`, detailsOf(error));
  if (name === 'ValidationException') return invalid(name, (error as Error).message);
  return new EngineError('STORE_UNAVAILABLE', `the table does not answer (${name})`, detailsOf(error));
}

export function conflictError(fate: Fate): EngineError {
  return fate.unknown
    ? new EngineError('STORE_RESULT_UNKNOWN', 'a write got no answer, and its repeats met other transactions')
    : new EngineError('STORE_UNAVAILABLE', 'the items are being written by other transactions');
}

/** The code of a system error, which says more than its name, or the name of an error of the service. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return (error as NodeJS.ErrnoException).code ?? error.name;
}

function invalid(name: string, message = ''): EngineError {
  if (/item size|4MB limit/i.test(message))
    return new EngineError('PAYLOAD_TOO_LARGE', 'an item or a transaction is too large');
  // A complaint of this form quotes the request.
  const safe = message.includes("Value '") ? '' : `: ${message.slice(0, 200)}`;
  return new EngineError('INTERNAL', `the table refuses the request as malformed (${name}${safe})`);
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
