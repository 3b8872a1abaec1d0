// Meaning of the answer to `server/discover` for the revision that a server speaks. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { discoveryAgeMaxMs } from '../../base/limits.js';
import type { Exchange } from '../rpc/exchange.js';
import { remoteError } from '../rpc/remote-error.js';
import { saysNothing, type FailedExchange } from '../rpc/failed-exchange.js';
import { unready, type Unready } from './dialect.js';
import { earlierVersions } from './wire-2025-11-25.js';
import {
  dedupesExtension,
  headerMismatchCode,
  mcpWire,
  methodUnknownCode,
  missingCapabilityCode,
  tasksExtension,
  versionUnsupportedCode,
} from './wire-2026-07-28.js';

/** Shortest time for which discovery is cached; the server's own time counts between this and `discoveryAgeMaxMs`. */
const discoveryAgeMinMs = 60_000;

export type Discovery =
  /** `ageMs`: how long the server's statements are believed. */
  | { readonly kind: 'modern'; readonly dedupes: boolean; readonly tasks: boolean; readonly ageMs: number }
  | { readonly kind: 'legacy' }
  /** The server does not know the method: its answer to `initialize` decides. */
  | { readonly kind: 'method_unknown' }
  /** The server refuses the revision but lists it: ask again, once. */
  | { readonly kind: 'again' }
  /**
   * The answer does not name the revision, or there is no common one. `isUnclear`: it may concern the named session,
   * which does not exist, and then the server's answer to `initialize` decides.
   */
  | (Unready & { readonly isUnclear?: true });

/**
 * Decides from the answer which revision the server speaks:
 *
 * | answer | verdict |
 * |---|---|
 * | a result whose `supportedVersions` has 2026-07-28 | modern |
 * | any other result | legacy |
 * | -32022 | the best common revision of `data.supported`; if none: permanent failure |
 * | -32020, -32021 | modern, but something in between alters our requests: permanent failure |
 * | -32601 | `initialize` decides |
 * | anything under 401 or 403, an unusable reply | `initialize` decides; if refused too: unknown |
 * | anything under 408, 425, 429, 3xx, 5xx; no connection, no answer | unknown |
 * | every other 4xx or JSON-RPC error | legacy |
 */
export function readDiscovery(exchange: Exchange): Discovery {
  switch (exchange.kind) {
    case 'result':
      return readResult(exchange.result);
    case 'rpc_error':
      return saysNothing(exchange.status) ? nothing(exchange) : readError(exchange);
    case 'http_error':
      return saysNothing(exchange.status) ? nothing(exchange) : { kind: 'legacy' };
    case 'not_sent':
    case 'no_answer':
    case 'unusable':
      return nothing(exchange);
  }
}

function nothing(exchange: FailedExchange): Discovery {
  const failure = unready(exchange);
  const isUnclear = 'status' in exchange ? [401, 403].includes(exchange.status) : exchange.kind === 'unusable';
  return isUnclear ? { ...failure, isUnclear } : failure;
}

function readResult(result: JsonValue): Discovery {
  if (!isJsonObject(result)) return { kind: 'legacy' };
  const { supportedVersions, ttlMs } = result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(mcpWire)) return { kind: 'legacy' };
  const { extensions } = objectIn(result['capabilities']);
  const ageMs = typeof ttlMs === 'number' && Number.isFinite(ttlMs) ? ttlMs : 0;
  return {
    kind: 'modern',
    dedupes: Object.hasOwn(objectIn(extensions), dedupesExtension),
    tasks: Object.hasOwn(objectIn(extensions), tasksExtension),
    ageMs: Math.min(Math.max(ageMs, discoveryAgeMinMs), discoveryAgeMaxMs),
  };
}

function readError(error: Extract<Exchange, { kind: 'rpc_error' }>): Discovery {
  switch (error.code) {
    case versionUnsupportedCode: {
      const supported = supportedIn(error.data);
      if (supported === undefined) return { kind: 'legacy' };
      if (supported.includes(mcpWire)) return { kind: 'again' };
      if (supported.some((version) => earlierVersions.includes(version))) return { kind: 'legacy' };
      const problem = `the server speaks MCP ${supported.join(', ')}, but outwait speaks ${[mcpWire, ...earlierVersions].join(', ')}`;
      return { kind: 'unready', permanent: true, error: remoteError('REMOTE_START_REFUSED', problem) };
    }
    case headerMismatchCode:
    case missingCapabilityCode: {
      const problem = `the server speaks MCP ${mcpWire} but does not receive requests as they were sent, perhaps because a proxy drops headers: ${error.message}`;
      const details = { status: error.status, code: error.code };
      return { kind: 'unready', permanent: true, error: remoteError('CONFIG_INVALID', problem, details) };
    }
    case methodUnknownCode:
      return { kind: 'method_unknown' };
    default:
      return { kind: 'legacy' };
  }
}

/**
 * Whether a call of the newer revision was rejected in the way of older servers that have not looked at it: with no
 * JSON-RPC reply, or with an error of the SDK that names no request.
 */
export function isOlder(exchange: Exchange): exchange is Extract<Exchange, { kind: 'http_error' | 'rpc_error' }> {
  if (exchange.kind === 'http_error') return [400, 404, 405, 406, 415].includes(exchange.status);
  if (exchange.kind !== 'rpc_error' || exchange.status !== 400) return false;
  const { code, message, unaddressed = false } = exchange;
  return (
    (code === -32600 || (code === -32000 && unaddressed)) && /session|not initialized|protocol version/i.test(message)
  );
}

/** Returns `data.supported` of -32022, or undefined if there is no such list. */
export function supportedIn(data: JsonValue | undefined): readonly string[] | undefined {
  const { supported } = objectIn(data);
  if (!Array.isArray(supported)) return undefined;
  return (supported as readonly JsonValue[]).filter((version) => typeof version === 'string').slice(0, 20);
}

function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
