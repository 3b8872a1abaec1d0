// Headers that repeat what the body says (MCP 2026-07-28, Streamable HTTP). Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { headerParamsOf } from '../../remote/mcp/param-headers.js';
import { badRequest, headerMismatch } from './errors.js';

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Returns the value that a header stands for. @throws McpError `-32020` for base64 that is none */
export function decodedHeader(name: string, value: string): string {
  const wrapped = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  if (wrapped === undefined) return value;
  if (!base64.test(wrapped)) throw mismatch(`the header ${name} has base64 that is not valid`);
  const bytes = Buffer.from(wrapped, 'base64');
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) throw mismatch(`the header ${name} is not UTF-8`);
  return text;
}

function mismatch(message: string): Error {
  return badRequest(headerMismatch, message);
}

/** Names of the parameter that `Mcp-Name` repeats, by method. */
const nameParams: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Checks the headers that every request has. @throws McpError `-32020` */
export function checkHeaders(headers: Headers, method: string, params: JsonObject): void {
  if (headers.get('mcp-protocol-version') === null) throw mismatch('the header MCP-Protocol-Version is missing');
  checkHeader(headers, 'Mcp-Method', method);
  const param = Object.hasOwn(nameParams, method) ? nameParams[method] : undefined;
  const name = param === undefined ? undefined : params[param];
  if (typeof name === 'string') checkHeader(headers, 'Mcp-Name', name);
}

function checkHeader(headers: Headers, name: string, expected: string): void {
  const given = headers.get(name);
  if (given === null) throw mismatch(`the header ${name} is missing`);
  if (decodedHeader(name, given.trim()) !== expected) throw mismatch(`the header ${name} differs from the body`);
}

/**
 * Checks the headers that repeat arguments, as the schema of the tool says.
 * @throws McpError `-32020`
 */
export function checkParamHeaders(headers: Headers, inputSchema: JsonObject, args: JsonObject): void {
  const found = headerParamsOf(inputSchema);
  if (found.kind !== 'usable') return;
  for (const { path, header } of found.params) {
    const value = valueAt(args, path);
    const given = headers.get(header);
    if (value === undefined || value === null) {
      if (given !== null) throw mismatch(`the header ${header} repeats an argument that is missing`);
    } else if (given === null) {
      throw mismatch(`the header ${header} is missing`);
    } else if (!isSame(value, decodedHeader(header, given.trim()))) {
      throw mismatch(`the header ${header} differs from its argument`);
    }
  }
}

function valueAt(args: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (value, name) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    args,
  );
}

/** Numbers are compared as numbers. */
function isSame(value: JsonValue, given: string): boolean {
  if (typeof value === 'number') return /^-?\d+(\.0+)?$/.test(given) && Number(given) === value;
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) === given : true;
}
