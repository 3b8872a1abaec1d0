// Imported directly: `z.locales` pulls in fifty of them.
import english from 'zod/v4/locales/en.js';
import * as z from 'zod/mini';
import { EngineError } from '../base/errors.js';
import { cutUtf8, type JsonValue } from '../base/json.js';

// The locale with the messages of zod/mini is passed with each call: the configuration of zod is global, and the app's
// workflows may use the same copy.
const { localeError } = english();

const issuesMax = 20;
const issueTextBytes = 200;

/** Parses `value` with `schema`. @throws EngineError `INPUT_INVALID`, with path and expectation of each issue */
export function parseAs<Schema extends z.ZodMiniType>(schema: Schema, value: unknown, what: string): z.infer<Schema> {
  const result = z.safeParse(schema, value, { error: localeError });
  if (result.success) return result.data;
  const issues = result.error.issues
    .slice(0, issuesMax)
    .map(({ path, message }): { path: string; message: string } => ({
      path: cutUtf8(path.map(String).join('.'), issueTextBytes),
      message: cutUtf8(message, issueTextBytes),
    }));
  const [first] = issues;
  const where = first === undefined ? '' : `: ${first.path === '' ? '' : `${first.path}: `}${first.message}`;
  throw new EngineError('INPUT_INVALID', `${what} is not valid${where}`, {
    details: { issues } satisfies Record<string, JsonValue>,
  });
}

/**
 * Parses the query with `schema`. An unknown name is refused, since a mistyped filter would silently list everything;
 * so is a name that is given twice, unless it is in `repeatable`: then its value is a list.
 */
export function parseQuery<Schema extends z.ZodMiniType>(
  schema: Schema,
  query: URLSearchParams,
  repeatable: readonly string[] = [],
): z.infer<Schema> {
  const names = [...query.keys()].filter((name) => !repeatable.includes(name));
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated !== undefined)
    throw new EngineError('INPUT_INVALID', `the query names "${cutUtf8(repeated, issueTextBytes)}" twice`);
  const lists = repeatable.filter((name) => query.has(name)).map((name) => [name, query.getAll(name)] as const);
  return parseAs(schema, { ...Object.fromEntries(query), ...Object.fromEntries(lists) }, 'the query');
}
