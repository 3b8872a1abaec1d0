import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { isRpcId, rpcIdMaxChars } from '../rpc-id.js';
import { type Call, legacyVersions, type LegacyVersion, modern, type RpcId } from './call.js';
import { badRequest, headerMismatch, invalidParams, invalidRequest, unsupportedVersion } from './errors.js';
import { checkHeaders } from './headers.js';

const meta = (name: string): string => `io.modelcontextprotocol/${name}`;

/** A message as it came. Without an id it is a notification; without a method a response, which nobody has asked for. */
export interface Message {
  readonly id: RpcId | undefined;
  readonly method: string | undefined;
  readonly params: JsonObject;
  readonly meta: JsonObject;
}

/** Reads the envelope. @throws McpError `-32600`, `-32602` */
export function messageIn(body: JsonValue | undefined, known: { id: RpcId | null }): Message {
  if (!isJsonObject(body)) throw badRequest(invalidRequest, 'the body must be a JSON-RPC request');
  const { jsonrpc, id, method, params = {} } = body;
  const isResponse = method === undefined && (body['result'] !== undefined || body['error'] !== undefined);
  if (id !== undefined && !isRpcId(id) && !isResponse)
    throw badRequest(invalidRequest, `id must be a string of at most ${rpcIdMaxChars} characters, or a whole number`);
  const knownId = isRpcId(id) ? id : undefined;
  if (knownId !== undefined && !isResponse) known.id = knownId;
  if (jsonrpc !== '2.0') throw badRequest(invalidRequest, 'jsonrpc must be "2.0"');
  if (isResponse) return { id: knownId, method: undefined, params: {}, meta: {} };
  if (typeof method !== 'string' || method === '') throw badRequest(invalidRequest, 'method must be a string');
  if (!isJsonObject(params)) throw badRequest(invalidParams, 'params must be an object');
  const { _meta: given = {} } = params;
  if (!isJsonObject(given)) throw badRequest(invalidParams, '_meta must be an object');
  const { progressToken } = given;
  if (typeof progressToken === 'string' && progressToken.length > rpcIdMaxChars)
    throw badRequest(invalidParams, `progressToken must be at most ${rpcIdMaxChars} characters`);
  return { id: knownId, method, params, meta: given };
}

/**
 * Returns the revision of the requests that begin with `initialize`; undefined for a request that stands for itself, or
 * says that it does. Without a version it is 2025-03-26, whose clients send none.
 */
export function legacyVersionOf(headers: Headers, message: Message | undefined): LegacyVersion | undefined {
  const given = headers.get('mcp-protocol-version')?.trim();
  if (message?.meta[meta('protocolVersion')] !== undefined) return undefined;
  if (given === undefined) return headers.has('mcp-method') ? undefined : '2025-03-26';
  return legacyVersions.find((version) => version === given);
}

/**
 * Reads a request of 2026-07-28 and checks that its headers and its body agree, in this order: headers, fields of `_meta`,
 * version.
 * @throws McpError `-32020`, `-32602`, `-32022`
 */
export function modernCall(message: Message & { readonly id: RpcId; readonly method: string }, headers: Headers): Call {
  const { id, method, params, meta: given } = message;
  checkHeaders(headers, method, params);
  const version = given[meta('protocolVersion')];
  const capabilities = given[meta('clientCapabilities')];
  if (typeof version !== 'string') throw badRequest(invalidParams, `_meta must have ${meta('protocolVersion')}`);
  if (!isJsonObject(capabilities)) throw badRequest(invalidParams, `_meta must have ${meta('clientCapabilities')}`);
  if (headers.get('mcp-protocol-version')?.trim() !== version)
    throw badRequest(headerMismatch, 'the header MCP-Protocol-Version differs from the body');
  if (version !== modern) throw notServed(version);
  return { version, id, method, params, meta: given, capabilities, headers };
}

/** Creates the error for a revision that is not served in this way. */
export function notServed(requested: string): Error {
  return badRequest(unsupportedVersion, 'this version of MCP is not supported', {
    supported: [modern],
    requested,
  });
}
