import { defined } from '../base/defined.js';
import { type DestinationStream, pino } from 'pino';
import { type Log, withoutTaskId } from '../base/log.js';
import type { LogLevel } from '../topology/env.js';
import { mappedStack } from './source-maps.js';

/**
 * Creates a log of JSON lines. No line contains a settle token, a bearer token or a URL, whatever callers pass: these
 * are cut out of every text, including those of errors and their causes. The value of a field whose name contains
 * "token", "secret", "password", "authorization", "apikey", "bearer" or "cookie", in any case and with any separators,
 * is left out. The texts of an error that names a remote task are without its id, and stacks have the places of the sources. A field named like one that the log itself writes, or that CloudWatch acts on, gets an underscore at the
 * end of its name.
 */
export function createLog(options: { readonly level: LogLevel; readonly destination?: DestinationStream }): Log {
  const { level, destination = standardOutput } = options;
  const settings = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    messageKey: 'event',
    // Keeps a field named `err` as it is: errors are plain objects by then.
    serializers: { err: (value: unknown) => value },
  };
  const logger = pino(settings, destination);
  const write =
    (level: LogLevel) =>
    (event: string, fields: Record<string, unknown> = {}): void => {
      if (logger.isLevelEnabled(level)) logger[level](readFields(fields), redactText(event));
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

const standardOutput: DestinationStream = { write: (line) => void process.stdout.write(line) };

/**
 * Names not available to fields, which may come from a remote server; CloudWatch turns what is under `_aws` into
 * metrics.
 */
const takenNames: ReadonlySet<string> = new Set(['level', 'time', 'event', '_aws']);

/** Never throws, though an author may throw, or log, an object that does so when it is read. */
function readFields(fields: unknown): object {
  try {
    return withFreeNames(redact(fields, 0));
  } catch {
    return { fields: 'cannot be read' };
  }
}

function withFreeNames(fields: unknown): object {
  return Object.fromEntries(
    Object.entries(fields ?? {}).map(([name, value]) => [takenNames.has(name) ? `${name}_` : name, value]),
  );
}

/** Looked for anywhere in the name of a field, without separators. */
const secretWords = /token|secret|password|authorization|apikey|bearer|cookie/;
/** Looked for as the whole name. */
const contentNames = /^(body|payload|taskid)$/;
const depthMax = 6;
const textMax = 4_000;

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (value instanceof Error) return redactError(value, depth);
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : value;
  if (depth >= depthMax) return '[deep]';
  if (Array.isArray(value)) return value.map((element) => redact(element, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, isSecret(name) ? '[redacted]' : redact(inner, depth + 1)]),
  );
}

function isSecret(field: string): boolean {
  const name = field.replace(/[^A-Za-z]/g, '').toLowerCase();
  return secretWords.test(name) || contentNames.test(name);
}

function redactError(error: Error, depth: number, hidden = taskIdIn(error)): object {
  const { code } = error as { code?: unknown };
  const clean = (text: string): string => redactText(withoutTaskId(text, hidden));
  const cause = (): unknown =>
    error.cause instanceof Error ? redactError(error.cause, depth + 1, hidden) : redact(error.cause, depth + 1);
  return {
    name: error.name,
    ...defined({ code: typeof code === 'string' ? code : undefined }),
    message: clean(error.message),
    ...defined({
      stack: error.stack === undefined ? undefined : clean(mappedStack(error.stack)),
      cause: error.cause === undefined || depth >= depthMax ? undefined : cause(),
    }),
  };
}

/** Returns the id of the remote task that an error, or one of its causes, names in its details. */
function taskIdIn(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > depthMax) return undefined;
  const { details } = error as { details?: { readonly taskId?: unknown } };
  return typeof details?.taskId === 'string' ? details.taskId : taskIdIn(error.cause, depth + 1);
}

/** Settle token: run id, wait id, key id, MAC. The run id may stay, since it grants nothing. */
const settleToken = /([0-9a-f]{32}\.[0-9]{1,9})\.[A-Za-z0-9]{1,16}\.[A-Za-z0-9_-]{20,}/g;
const bearer = /\b(bearer)\s+[^\s"',]+/gi;
// Matches web addresses only: the `file:` URLs of a stack trace are needed to read it.
const url = /\b(https?):\/\/[^\s"'<>)]+/gi;

/** Returns `text` without settle tokens, bearer tokens and web addresses, cut to 4,000 characters. */
export function redactText(text: string): string {
  return text
    .slice(0, textMax)
    .replace(settleToken, '$1.[redacted]')
    .replace(bearer, '$1 [redacted]')
    .replace(url, '$1://[redacted]');
}
