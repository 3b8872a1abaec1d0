import * as z from 'zod/mini';
import { EngineError } from '../base/errors.js';
import { isRunId, type RunId } from '../base/ids.js';
import { type JsonValue, utf8Bytes } from '../base/json.js';
import {
  followMaxMs,
  historyPageEvents,
  idempotencyKeyMaxBytes,
  remoteIdMaxBytes,
  requestIdMaxChars,
  signalNameMaxChars,
  tagNameMaxChars,
  tagsMax,
  tagValueMaxChars,
} from '../base/limits.js';
import { type NameLength, nameProblem } from '../base/name.js';
import { type Duration, durationMaxMs, durationToMs } from '../base/time.js';
import { listStatuses } from '../operations/views/list-runs.js';

// Bodies and queries of the management API. Strict: an unknown field is refused, since it was meant to do something.

/** Any JSON, but required. */
const json = z.custom<JsonValue>((value: unknown) => value !== undefined, 'is required');

/** A name given from outside; one rule for all of them. */
const name = (length: NameLength) =>
  z.string().check(
    z.check(({ value, issues }) => {
      const message = nameProblem(value, length);
      if (message !== undefined) issues.push({ code: 'custom', input: value, message });
    }),
  );

const key = name({ maxBytes: idempotencyKeyMaxBytes });

/** Key of a signal: part of the key of its item, next to the name. */
const signalKey = name({ maxChars: requestIdMaxChars }).check(
  z.refine((text) => utf8Bytes(text) <= idempotencyKeyMaxBytes, `must be at most ${idempotencyKeyMaxBytes} bytes`),
);

const lengthOfTime = z.optional(z.number().check(z.nonnegative()));
const duration = z.strictObject({
  days: lengthOfTime,
  hours: lengthOfTime,
  minutes: lengthOfTime,
  seconds: lengthOfTime,
  milliseconds: lengthOfTime,
});

export const startBody = z.strictObject({
  workflow: z.string().check(z.minLength(1), z.maxLength(64)),
  input: z.optional(z.custom<JsonValue>()),
  key: z.optional(key),
  /** The caller's own id: at most one run of the workflow with this id is under way. Excludes `key`. */
  id: z.optional(key),
  /** Policies for a run with this id that is under way, and for one that has ended. */
  whenRunning: z.optional(z.enum(['useExisting', 'fail', 'terminate'])),
  whenEnded: z.optional(z.enum(['startNew', 'useExisting', 'fail'])),
  /** Runs of the workflow with this key are under way one at a time. */
  concurrencyKey: z.optional(key),
  /** The run starts after this delay. */
  delay: z.optional(duration),
  /** The run fails unless it ends within this time from its start. */
  timeout: z.optional(duration),
  tags: z.optional(
    z
      .record(name({ maxChars: tagNameMaxChars }), z.string().check(z.maxLength(tagValueMaxChars)))
      .check(z.refine((tags) => Object.keys(tags).length <= tagsMax, `must be at most ${tagsMax} tags`)),
  ),
  /** Where the end of the run is told. */
  callback: z.optional(z.strictObject({ url: z.string(), secret: z.string() })),
  /** Requires `key`: starts the run of the key, or finds it, and sends it this signal. */
  signal: z.optional(
    z.strictObject({
      name: name({ maxChars: signalNameMaxChars }),
      payload: z.optional(z.custom<JsonValue>()),
      key: z.optional(signalKey),
    }),
  ),
});

export const keyHeader = key;

export const stopBody = z.strictObject({
  /** Stored and shown; not interpreted. */
  reason: z.optional(z.string().check(z.maxLength(1_000))),
  /** A repeat with the same id is accepted and has no effect. */
  requestId: z.optional(
    z.string().check(z.regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')),
  ),
});

export const emptyBody = z.strictObject({});

export const signalBody = z.strictObject({
  payload: z.optional(z.custom<JsonValue>()),
  /** Signals of one name with the same key are deduplicated. */
  key: z.optional(signalKey),
});

export const queryBody = z.strictObject({ input: z.optional(z.custom<JsonValue>()) });

const output = z.strictObject({
  result: json,
  isError: z.optional(z.boolean()),
  /** Spelling of other relays. */
  is_error: z.optional(z.boolean()),
});

export const completeBody = z.strictObject({ output });

export const failBody = z.strictObject({
  error: z.string().check(z.minLength(1)),
  retryable: z.optional(z.boolean()),
});

/** In seconds, as other systems of this kind have it. */
export const heartbeatBody = z.strictObject({ extendBySeconds: z.number().check(z.positive()) });

/** Settlement of a wait by an operator: a result or an error. */
export const settleBody = z.union([completeBody, failBody]);

/** Largest and default page of `GET /runs`. */
const pageMax = 100;
const pageDefault = 20;

/** A workflow, a slash and an own id. */
const matchMaxChars = 64 + 1 + idempotencyKeyMaxBytes;

const wholeNumber = (max: number, pattern: RegExp, from: number) =>
  z.pipe(
    z.string().check(z.regex(pattern, `must be a whole number from ${from} to ${max}`)),
    z.pipe(z.transform(Number), z.number().check(z.maximum(max))),
  );

export const listQuery = z.strictObject({
  status: z.optional(z.enum(listStatuses)),
  workflow: z.optional(z.string().check(z.minLength(1), z.maxLength(64))),
  /** Finds what a person means, instead of listing: part of a run id, or an own id. */
  match: z.optional(z.string().check(z.minLength(1), z.maxLength(matchMaxChars))),
  /** `name:value`; if given more than once, all must match. */
  tag: z.optional(
    z
      .array(z.string().check(z.regex(/^[^:]{1,64}:[^]{0,256}$/, 'must have the form name:value')))
      .check(z.maxLength(tagsMax)),
  ),
  limit: z._default(wholeNumber(pageMax, /^[1-9][0-9]{0,2}$/, 1), pageDefault),
  cursor: z.optional(z.string().check(z.minLength(1), z.maxLength(2_048))),
});

/** Seconds. */
const waitSeconds = z.optional(wholeNumber(followMaxMs / 1_000, /^(0|[1-9][0-9]?)$/, 0));

export const resultQuery = z.strictObject({ wait: waitSeconds });

export const eventsQuery = z.strictObject({
  after: z.optional(wholeNumber(999_999_999, /^(0|[1-9][0-9]{0,8})$/, 0)),
  wait: waitSeconds,
});

export const inputsQuery = z.strictObject({
  limit: z._default(wholeNumber(pageMax, /^[1-9][0-9]{0,2}$/, 1), pageDefault),
  cursor: z.optional(z.string().check(z.minLength(1))),
});

export const remoteTasksQuery = z.strictObject({
  orphaned: z.optional(z.enum(['true', 'false'])),
  server: z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
  stale: z.optional(z.enum(['true', 'false'])),
  /** Seconds, up to 10 years. */
  staleAfter: z.optional(wholeNumber(durationMaxMs / 1_000, /^[1-9][0-9]{0,8}$/, 1)),
  limit: z._default(wholeNumber(pageMax, /^[1-9][0-9]{0,2}$/, 1), pageDefault),
  after: z.optional(z.string().check(z.minLength(1), z.maxLength(2_048))),
});

export const remoteTaskQuery = z.strictObject({
  taskId: z.string().check(z.minLength(1), z.maxLength(remoteIdMaxBytes)),
});

export const answerBody = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('accept'), content: z.optional(z.custom<JsonValue>()) }),
  z.strictObject({ action: z.literal('decline') }),
  z.strictObject({ action: z.literal('cancel') }),
]);

export const historyQuery = z.strictObject({
  after: z.optional(wholeNumber(999_999_999, /^(0|[1-9][0-9]{0,8})$/, 0)),
  limit: z.optional(wholeNumber(historyPageEvents, /^[1-9][0-9]{0,3}$/, 1)),
});

export const noQuery = z.strictObject({});

const idOfOthers = z.optional(z.string().check(z.minLength(1), z.maxLength(remoteIdMaxBytes)));

export const externalQuery = z
  .strictObject({
    run: z.optional(z.string()),
    after: z.optional(z.string().check(z.minLength(1))),
    server: idOfOthers,
    taskId: idOfOthers,
  })
  .check(
    z.refine(({ run, after }) => run === undefined || after === undefined, 'takes run or after, not both'),
    // Two servers may use the same id.
    z.refine(({ server, taskId }) => taskId === undefined || server !== undefined, 'takes taskId only with server'),
  );

/** Checks the form of a run id. @throws EngineError `RUN_NOT_FOUND`, the same as for an id that no run has */
export function runIdFrom(text: string): RunId {
  if (!isRunId(text)) throw new EngineError('RUN_NOT_FOUND', 'no run has this id');
  return text;
}

/** @throws EngineError `INPUT_INVALID` that names `what` */
export function durationFrom(given: z.infer<typeof duration>, what: string): number {
  try {
    return durationToMs(given as Duration, what);
  } catch (error) {
    throw new EngineError('INPUT_INVALID', error instanceof TypeError ? error.message : `${what} is not a duration`);
  }
}

/**
 * Parses `name:value` texts. A repeated name is refused, since it could match nothing.
 * @throws EngineError `INPUT_INVALID`
 */
export function tagsFrom(texts: readonly string[]): Readonly<Record<string, string>> {
  const tags = new Map<string, string>();
  for (const text of texts) {
    const colon = text.indexOf(':');
    const name = text.slice(0, colon);
    if (tags.has(name)) throw new EngineError('INPUT_INVALID', `the query asks for tag "${name}" twice`);
    tags.set(name, text.slice(colon + 1));
  }
  return Object.fromEntries(tags);
}
