// Tool arguments that are also sent as headers (MCP 2026-07-28, Streamable HTTP, `x-mcp-header`). Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { mcpHeaderValue } from './header-value.js';

/** Argument and the header that repeats it. */
interface HeaderParam {
  readonly path: readonly string[];
  readonly header: string;
}

export type HeaderParams =
  | { readonly kind: 'usable'; readonly params: readonly HeaderParam[] }
  /** The schema breaks a rule, so the tool must not be called. */
  | { readonly kind: 'excluded'; readonly problem: string };

const annotation = 'x-mcp-header';
// RFC 9110 section 5.6.2.
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// Members of a schema that hold values, where an annotation is mere data.
const dataKeywords: readonly string[] = ['default', 'const', 'enum', 'examples'];

/** Returns the annotations of an input schema, or the first problem with them. */
export function headerParamsOf(inputSchema: JsonValue | undefined): HeaderParams {
  const params: HeaderParam[] = [];
  const problem = collect(inputSchema, [], params);
  return problem === undefined ? { kind: 'usable', params } : { kind: 'excluded', problem };
}

/**
 * Collects annotations into `into`. `path` is undefined if a value has no single place: in a list, an alternative, a
 * definition.
 */
function collect(
  schema: JsonValue | undefined,
  path: readonly string[] | undefined,
  into: HeaderParam[],
): string | undefined {
  if (Array.isArray(schema))
    return firstProblem(schema as readonly JsonValue[], (item) => collect(item, undefined, into));
  if (!isJsonObject(schema)) return undefined;
  const own = Object.hasOwn(schema, annotation) ? take(schema, path, into) : undefined;
  if (own !== undefined) return own;
  return firstProblem(Object.entries(schema), ([keyword, value]) => {
    if (keyword === annotation || dataKeywords.includes(keyword)) return undefined;
    if (keyword !== 'properties' || !isJsonObject(value)) return collect(value, undefined, into);
    return firstProblem(Object.entries(value), ([name, property]) =>
      collect(property, path === undefined ? undefined : [...path, name], into),
    );
  });
}

function take(schema: JsonObject, path: readonly string[] | undefined, into: HeaderParam[]): string | undefined {
  const { [annotation]: name, type } = schema;
  if (typeof name !== 'string' || !token.test(name)) return 'an x-mcp-header that is not a token';
  if (path === undefined || path.length === 0)
    return `the x-mcp-header "${name}" on something that is not a property of an object`;
  if (type !== 'string' && type !== 'integer' && type !== 'boolean')
    return `the x-mcp-header "${name}" on a property that is not a string, integer or boolean`;
  const header = `mcp-param-${name.toLowerCase()}`;
  if (into.some((other) => other.header === header)) return `two properties with the x-mcp-header "${name}"`;
  into.push({ path, header });
  return undefined;
}

function firstProblem<Item>(items: readonly Item[], problemOf: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns the headers for these arguments; none for an argument that is missing, null, or not a plain value. */
export function paramHeaders(params: readonly HeaderParam[], args: JsonObject): Readonly<Record<string, string>> {
  const headers = params.map(({ path, header }) => [header, textFor(valueAt(args, path))] as const);
  return Object.fromEntries(headers.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function valueAt(args: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (value, name) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    args,
  );
}

function textFor(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return mcpHeaderValue(value);
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined;
}
