import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { lazy } from '../../base/lazy.js';
import { jsonResponse } from '../json-response.js';
import type { A2aVersion } from './call.js';
import { answerHeaders, askedBy, callAt, type Endpoint, streamed, visitOf } from './endpoint.js';
import { A2aError, a2aProblem, type Asked, errorHeaders, rpcError, rpcHttpStatus } from './errors.js';
import { perform } from './perform.js';
import { versionOf } from './read-call.js';
import { readJson } from './read-json.js';
import { isRpcId, rpcIdMaxChars } from '../rpc-id.js';
import { sseEvent, sseHeaders } from '../sse.js';
import type { Wire } from './wire.js';
import { wire10 } from './wire-1.0.js';

const loadWire03 = lazy(() => import('./wire-0.3.js'));

type RpcId = string | number | null;

/** What is known of a request when it fails: its answer names the id and has the form of the revision. */
interface Known {
  id: RpcId;
  version: A2aVersion;
  asked: Asked;
  /** Whether the method answers by a stream of 0.3. */
  isStream03: boolean;
}

/**
 * The methods of 0.3 that stream. Their errors are sent as a stream as well (its chapter 7): its clients show nothing of an
 * error that comes in another way. Those of 1.0 take JSON.
 */
const streamsOf03: ReadonlySet<string> = new Set(['message/stream', 'tasks/resubscribe']);

/** Answers a JSON-RPC request of either revision: the method and the version must agree. Never throws. */
export async function answerRpc(request: Request, endpoint: Endpoint): Promise<Response> {
  const known: Known = { id: null, version: '1.0', asked: 'other', isStream03: false };
  try {
    return await answered(request, endpoint, known);
  } catch (error) {
    const problem = a2aProblem(error, known.asked, endpoint.log);
    const body = { jsonrpc: '2.0', id: known.id, error: rpcError(problem, known.version) };
    const status = rpcHttpStatus(problem);
    if (status === 200 && known.isStream03) return new Response(sseEvent(body), { headers: sseHeaders });
    return jsonResponse(status, body, { headers: errorHeaders(problem) });
  }
}

async function answered(request: Request, endpoint: Endpoint, known: Known): Promise<Response> {
  const admitted = await endpoint.admit();
  const body = await readJson(request, ['application/json']);
  const method = methodIn(body, known);
  const wire = await wireFor(method, versionOf(request));
  known.version = wire.version;
  known.isStream03 = wire.version === '0.3' && streamsOf03.has(method);
  const call = callAt(request, endpoint, wire.version);
  const operation = wire.decode(method, paramsIn(body), call);
  known.asked = askedBy(operation);
  const { visit, stop } = visitOf(request, endpoint, admitted);
  const answer = await perform(operation, visit, wire.version);
  const headers = answerHeaders(call);
  const envelope = (result: JsonValue): JsonObject => ({ jsonrpc: '2.0', id: known.id, result });
  if (answer.kind !== 'stream') return jsonResponse(200, envelope(wire.result(answer, call)), { headers });
  const texts = {
    event: (event: Parameters<Wire['event']>[0]) => envelope(wire.event(event, call)),
    error: (problem: ReturnType<typeof a2aProblem>) =>
      sseEvent({ jsonrpc: '2.0', id: known.id, error: rpcError(problem, wire.version) }),
  };
  return streamed(answer, texts, endpoint, { stop, headers });
}

/** Reads the envelope. @throws A2aError `INVALID_REQUEST` */
function methodIn(body: JsonValue | undefined, known: Known): string {
  if (Array.isArray(body)) throw new A2aError('INVALID_REQUEST', 'A2A has no batches; send one request at a time');
  if (!isJsonObject(body)) throw new A2aError('INVALID_REQUEST', 'the body must be a JSON-RPC request');
  const { jsonrpc, id = null, method } = body;
  if (id !== null && !isRpcId(id))
    throw new A2aError(
      'INVALID_REQUEST',
      `id must be a string of at most ${rpcIdMaxChars} characters, a whole number or null`,
    );
  known.id = id;
  if (jsonrpc !== '2.0') throw new A2aError('INVALID_REQUEST', 'jsonrpc must be "2.0"');
  if (typeof method !== 'string' || method === '') throw new A2aError('INVALID_REQUEST', 'method must be a string');
  return method;
}

/** @throws A2aError `INVALID_PARAMS` */
function paramsIn(body: JsonValue | undefined): JsonObject {
  const { params = {} } = isJsonObject(body) ? body : {};
  if (!isJsonObject(params)) throw new A2aError('INVALID_PARAMS', 'params must be an object');
  return params;
}

/**
 * Returns how a method is written. One URL serves both revisions, whose methods have different names.
 * @throws A2aError `VERSION_NOT_SUPPORTED` for a method of 1.0 in a request that does not say 1.0
 */
async function wireFor(method: string, version: A2aVersion): Promise<Wire> {
  if (version === '1.0') return wire10;
  if (!wire10.methods.has(method)) return (await loadWire03()).wire03;
  throw new A2aError('VERSION_NOT_SUPPORTED', 'this method is of A2A 1.0; send the header A2A-Version: 1.0');
}
