import { defined } from './defined.js';
import {
  isEngineError,
  propertyOf,
  type EngineErrorCode,
  type StoredError,
  storedError,
  toStoredError,
} from './errors.js';
import { cutUtf8, type JsonObject, type JsonValue } from './json.js';

// What is kept of the errors that an author's code throws, and of their causes.

const depthMax = 4;
const partsMax = 8;
/** Errors that are described together: causes and parts multiply. */
const errorsMax = 16;
const fieldsMax = 16;
/** Fields of a cause or a part. */
const innerFieldsMax = 4;
const fieldNameMax = 64;
const textMaxBytes = 256;
/** Fields with such a name may hold what must not be stored. */
const secretNames = /token|secret|password|authorization|apikey|bearer|cookie/i;

/**
 * Returns the stored form of what an author's code has thrown, with `fallback` as code. An error of outwait keeps its own.
 * `details` has the fields of the error that are plain values, its causes and, for an AggregateError, its parts, each with
 * name and message, and `at`, where it was thrown. Nested objects are left out: clients of HTTP keep requests there, with
 * their credentials. Never throws.
 */
export function storedThrown(thrown: unknown, fallback: EngineErrorCode, at?: string): StoredError {
  const stored = toStoredError(thrown, fallback);
  if (isEngineError(thrown)) return stored;
  // The name stands beside the details.
  const { message, name: _, ...more } = described(thrown);
  const details = { ...more, ...defined({ at }) };
  return {
    ...storedError(stored.code, isObject(thrown) && !(thrown instanceof Error) ? message : stored.message),
    ...defined({ name: stored.name, details: Object.keys(details).length === 0 ? undefined : details }),
  };
}

interface Described extends JsonObject {
  readonly message: string;
}

/** Describes an error, or any thrown value, for `details`. Never throws. */
export function described(thrown: unknown, depth = 0, left = { count: errorsMax }): Described {
  left.count--;
  const { message } = toStoredError(thrown, 'WORKFLOW_FAILED');
  const fields = fieldsOf(thrown, depth === 0 ? fieldsMax : innerFieldsMax);
  const isDeep = depth === depthMax;
  const cause = isDeep ? undefined : propertyOf(thrown, 'cause');
  const errors = isDeep ? undefined : propertyOf(thrown, 'errors');
  const inner = (each: unknown): JsonObject => described(each, depth + 1, left);
  const name = thrown instanceof Error ? propertyOf(thrown, 'name') : undefined;
  return {
    message:
      thrown instanceof Error || !isObject(thrown)
        ? cutUtf8(message, textMaxBytes)
        : `thrown: ${JSON.stringify(fields)}`,
    ...defined({
      name: typeof name === 'string' && name !== 'Error' ? cutUtf8(name.toWellFormed(), textMaxBytes) : undefined,
      fields: Object.keys(fields).length === 0 ? undefined : fields,
      cause: cause === undefined || left.count <= 0 ? undefined : inner(cause),
      errors: Array.isArray(errors)
        ? errors.slice(0, partsMax).flatMap((part) => (left.count > 0 ? inner(part) : []))
        : undefined,
    }),
  };
}

function isObject(thrown: unknown): thrown is object {
  return typeof thrown === 'object' && thrown !== null;
}

/** Returns the own fields that are plain values, or lists of such. An error of outwait has `code` and plain `details`. */
function fieldsOf(thrown: unknown, max: number): JsonObject {
  if (!isObject(thrown)) return {};
  try {
    const fields = Object.keys(thrown)
      .filter(
        (name) =>
          name.length <= fieldNameMax &&
          !['name', 'message', 'stack', 'cause', 'errors'].includes(name) &&
          !secretNames.test(name),
      )
      .map((name) => [name, plain(propertyOf(thrown, name))] as const)
      .filter(([, value]) => value !== undefined);
    return Object.fromEntries(fields.slice(0, max)) as JsonObject;
  } catch {
    return {};
  }
}

function plain(value: unknown): JsonValue | undefined {
  if (typeof value === 'string') return cutUtf8(value.toWellFormed(), textMaxBytes);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (!Array.isArray(value)) return undefined;
  const all = value.slice(0, partsMax).map((each: unknown) => (Array.isArray(each) ? undefined : plain(each)));
  return all.every((each) => each !== undefined) ? all : undefined;
}
