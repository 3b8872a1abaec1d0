import type { StoredError } from '../base/errors.js';
import { cutUtf8, isJsonObject, type JsonObject, type JsonValue } from '../base/json.js';
import { failureTextBytes, remoteErrorTextBytes, scrubMinChars } from '../base/limits.js';
import type { AnswerReply, CancelReply, FindReply, PollReply, StartReply } from './transport.js';

export type Reply = StartReply | PollReply | CancelReply | AnswerReply | FindReply;

/**
 * `reply` with every one of `secrets` taken out of its error, and the text then cut. A server can put what it was sent
 * into the text of a failure, and errors are stored and shown. Results are the author's data and stay as they are.
 */
export function scrubbed<Kind extends Reply>(reply: Kind, secrets: readonly string[]): Kind {
  const longestFirst = secrets.filter((secret) => secret.length >= scrubMinChars).sort((a, b) => b.length - a.length);
  const scrub = (text: string): string =>
    longestFirst.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text);
  if ('error' in reply) return { ...reply, error: scrubError(reply.error, scrub, remoteErrorTextBytes) };
  if ('end' in reply && reply.end.kind === 'failed') {
    return { ...reply, end: { ...reply.end, error: scrubError(reply.end.error, scrub, failureTextBytes) } };
  }
  return reply;
}

type Scrub = (text: string) => string;

function scrubError(error: StoredError, scrub: Scrub, maxBytes: number): StoredError {
  const details = error.details === undefined ? {} : { details: scrubObject(error.details, scrub) };
  return { ...error, message: cutUtf8(scrub(error.message), maxBytes), ...details };
}

function scrubObject(object: JsonObject, scrub: Scrub): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [scrub(key), scrubValue(value, scrub)]));
}

function scrubValue(value: JsonValue, scrub: Scrub): JsonValue {
  if (typeof value === 'string') return scrub(value);
  if (isJsonObject(value)) return scrubObject(value, scrub);
  return Array.isArray(value) ? (value as readonly JsonValue[]).map((item) => scrubValue(item, scrub)) : value;
}
