import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import { cutUtf8, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { failureTextBytes, remoteErrorTextBytes, remoteStateMaxChars } from '../../base/limits.js';
import type { RemoteEnd, RemoteQuestion } from '../transport.js';

/** Secrets shorter than this are not redacted in texts of a remote: they would match by chance. */
const secretMinChars = 4;

/** Reply of a transport, or a part of one, that may contain text from the server. */
export interface Reply {
  readonly kind?: string;
  readonly error?: StoredError;
  readonly note?: string;
  readonly state?: string;
  readonly end?: RemoteEnd;
  readonly questions?: readonly RemoteQuestion[];
}

/**
 * Returns `reply` with all `secrets` and `addresses` redacted in its error, note and state, and these texts then cut. A
 * server can put what it was sent into the text of a failure, and errors are stored and shown. In questions only
 * `secrets` are redacted: a question may link to a page of the same server. Results are the author's data and stay as
 * they are, and so does the state that comes with a question before a start: it goes back to the server as it came.
 */
export function redacted<Kind extends Reply>(
  reply: Kind,
  secrets: readonly string[],
  addresses: readonly string[] = [],
): Kind {
  const redact = without([...secrets, ...addresses]);
  const { kind, error, note, state, end, questions } = reply;
  return {
    ...reply,
    ...defined({
      error: error === undefined ? undefined : redactError(error, redact, remoteErrorTextBytes),
      note: note === undefined ? undefined : cutUtf8(redact(note), remoteErrorTextBytes),
      state:
        state === undefined || (kind !== 'working' && kind !== 'started')
          ? undefined
          : cutUtf8(redact(state), remoteStateMaxChars),
      end: end?.kind === 'failed' ? { ...end, error: redactError(end.error, redact, failureTextBytes) } : undefined,
      questions:
        questions === undefined ? undefined : questions.map((question) => redactQuestion(question, without(secrets))),
    }),
  };
}

/** Returns `text` with all `secrets` redacted. */
export function redactText(text: string, secrets: readonly string[]): string {
  return without(secrets)(text);
}

function without(secrets: readonly string[]): Redact {
  const longestFirst = [...new Set(secrets)]
    .filter((secret) => secret.length >= secretMinChars)
    .sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text);
}

/** Keeps the key as it is: the answer goes back under it. */
function redactQuestion({ key, kind, ...texts }: RemoteQuestion, redact: Redact): RemoteQuestion {
  return { ...(redactObject(texts, redact) as Omit<RemoteQuestion, 'key' | 'kind'>), key, kind };
}

type Redact = (text: string) => string;

function redactError(error: StoredError, redact: Redact, maxBytes: number): StoredError {
  const details = error.details === undefined ? {} : { details: redactObject(error.details, redact) };
  return { ...error, message: cutUtf8(redact(error.message), maxBytes), ...details };
}

function redactObject(object: JsonObject, redact: Redact): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [redact(key), redactValue(value, redact)]));
}

function redactValue(value: JsonValue, redact: Redact): JsonValue {
  if (typeof value === 'string') return redact(value);
  if (isJsonObject(value)) return redactObject(value, redact);
  return Array.isArray(value) ? (value as readonly JsonValue[]).map((item) => redactValue(item, redact)) : value;
}
