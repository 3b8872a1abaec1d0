import * as z from 'zod/mini';
import { EngineError } from '../base/errors.js';
import { isRunId, type RunId } from '../base/ids.js';
import { type JsonValue, utf8Bytes } from '../base/json.js';
import { idempotencyKeyMaxBytes } from '../base/limits.js';

// The bodies and queries of the management API. Strict: an unknown field is refused, since it was meant to do something.

/** Any JSON; a field of this type must be there. */
const json = z.custom<JsonValue>((value: unknown) => value !== undefined, 'must be there');

const key = z.string().check(
  z.minLength(1),
  z.refine((text) => utf8Bytes(text) <= idempotencyKeyMaxBytes, `must be at most ${idempotencyKeyMaxBytes} bytes`),
);

export const startBody = z.strictObject({
  workflow: z.string().check(z.minLength(1), z.maxLength(64)),
  input: z.optional(z.custom<JsonValue>()),
  key: z.optional(key),
});

export const keyHeader = key;

export const stopBody = z.strictObject({
  /** Stored and shown; not interpreted. */
  reason: z.optional(z.string().check(z.maxLength(1_000))),
  /** A repeat with the same id is accepted and changes nothing. */
  requestId: z.optional(
    z.string().check(z.regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')),
  ),
});

export const completeBody = z.strictObject({
  output: z.strictObject({
    result: json,
    isError: z.optional(z.boolean()),
    /** The same in the spelling of other relays. */
    is_error: z.optional(z.boolean()),
  }),
});

export const failBody = z.strictObject({
  error: z.string().check(z.minLength(1)),
  retryable: z.optional(z.boolean()),
});

/** Most rows of a page of `GET /runs`; also the default is here. */
const pageMax = 100;
const pageDefault = 20;

export const listQuery = z.strictObject({
  status: z.optional(z.enum(['running', 'ending', 'completed', 'failed', 'cancelled', 'terminated'])),
  workflow: z.optional(z.string().check(z.minLength(1), z.maxLength(64))),
  limit: z._default(
    z.pipe(
      z.string().check(z.regex(/^[1-9][0-9]{0,2}$/, `must be a whole number from 1 to ${pageMax}`)),
      z.pipe(z.transform(Number), z.number().check(z.maximum(pageMax))),
    ),
    pageDefault,
  ),
  cursor: z.optional(z.string().check(z.minLength(1), z.maxLength(2_048))),
});

export const noQuery = z.strictObject({});
export const externalQuery = z.strictObject({ run: z.string() });

/** A run id that has the form of one. @throws EngineError `RUN_NOT_FOUND`, the same as for an id that no run has */
export function runIdFrom(text: string): RunId {
  if (!isRunId(text)) throw new EngineError('RUN_NOT_FOUND', 'no run has this id');
  return text;
}
