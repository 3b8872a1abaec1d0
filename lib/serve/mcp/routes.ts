import { randomUUID } from 'node:crypto';
import { EngineError, hasCode } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { Log } from '../../base/log.js';
import type { Clock } from '../../base/time.js';
import type { AnyWorkflow } from '../../workflow/context.js';
import type { ServeConfig } from '../../workflow/serve.js';
import type { Admitted } from '../admitted.js';
import { jsonResponse } from '../json-response.js';
import type { OpenedStream, OpenStream } from '../open-streams.js';
import { readJson } from '../read-json.js';
import { realTimer, sseEvent, sseResponse, type Timer } from '../sse.js';
import { stopOf } from '../stop-of.js';
import type { Answer, McpEndpoint, RpcId, Visit } from './call.js';
import { aiCatalog, challengeOf, resourceMetadata, serverCard } from './discovery.js';
import { badRequest, internalError, invalidRequest, mcpError, McpError, parseError, rpcError } from './errors.js';
import { keepAliveMs, requestMaxBytes, streamMaxMs } from '../limits.js';
import { batchMax, promptMaxMs, streamRetrySeconds, waitMaxMs } from './limits.js';
import { answerLegacy } from './methods-2025.js';
import { answerModern } from './methods-2026-07-28.js';
import { legacyVersionOf, type Message, messageIn, modernCall, notServed } from './read-call.js';

export interface McpOptions {
  readonly serve: ServeConfig;
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  /**
   * Returns what the caller of a request may reach, by its credential; `arrival` is what the request came with besides
   * itself. @throws EngineError `UNAUTHORIZED`, `FORBIDDEN`
   */
  readonly admit: (request: Request, arrival: unknown) => Promise<Admitted> | Admitted;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a digest that only this deployment can make. */
  readonly seal: (text: string) => string;
  /** Origins whose pages may send requests, besides its own. Default none. */
  readonly allowedOrigins?: readonly string[];
  /** Longest time in which a call is answered with its result, for clients without tasks. Default 20 s. */
  readonly promptMaxMs?: number;
  /** Time after which a stream ends, to be opened again. Default 3 minutes. */
  readonly streamMaxMs?: number;
  /** Interval of the comments of a quiet stream. Default 15 s. */
  readonly keepAliveMs?: number;
  /** Default: the timers of the process. */
  readonly timer?: Timer;
  /** Default: random UUIDs. */
  readonly newId?: () => string;
}

/** How long clients and proxies may keep a document. */
const documentMaxAgeSeconds = 3_600;
/** What a stream needs beyond its limit of time to end with a response. */
const graceMs = 5_000;

export type McpRoutes = (request: Request, arrival: unknown) => Promise<Response>;

/** Creates the doors of MCP as a function from Request to Response. It never throws. */
export function createMcpRoutes(options: McpOptions): McpRoutes {
  const endpoint: McpEndpoint = {
    ...{ serve: options.serve, workflows: options.workflows, clock: options.clock, log: options.log },
    timer: options.timer ?? realTimer,
    newId: options.newId ?? randomUUID,
    seal: options.seal,
    promptMaxMs: options.promptMaxMs ?? promptMaxMs,
    waitMaxMs,
    streamMaxMs: options.streamMaxMs ?? streamMaxMs,
    keepAliveMs: options.keepAliveMs ?? keepAliveMs,
  };
  return async (request, arrival) => {
    const { pathname, origin } = new URL(request.url);
    // Without a configured URL, that of the request.
    const baseUrl = (options.serve.agent.url ?? origin).replace(/\/+$/, '');
    if (pathname !== '/mcp') return documentResponse(request, pathname, { baseUrl, serve: options.serve });
    const known: { id: RpcId | null } = { id: null };
    try {
      if (request.method !== 'POST')
        throw new EngineError('METHOD_NOT_ALLOWED', 'the route takes POST', { details: { allow: 'POST' } });
      checkOrigin(request, baseUrl, options.allowedOrigins ?? []);
      const { tasks, openStream } = await options.admit(request, arrival);
      return await answered(request, { tasks, openStream, endpoint, known });
    } catch (error) {
      return errorResponse(mcpError(error, options.log, challengeOf(options.serve, baseUrl)), known.id);
    }
  };
}

/** Keeps pages of other origins away (DNS rebinding). @throws EngineError `FORBIDDEN` */
function checkOrigin({ headers, url }: Request, baseUrl: string, allowed: readonly string[]): void {
  const origin = headers.get('origin');
  const own = [new URL(url).origin, new URL(baseUrl).origin];
  if (origin === null || own.includes(origin) || allowed.includes(origin)) return;
  throw new EngineError('FORBIDDEN', 'pages of this origin may not send requests');
}

interface Place {
  readonly serve: ServeConfig;
  readonly baseUrl: string;
}

function documentResponse({ method }: Request, path: string, { serve, baseUrl }: Place): Response {
  const [document, mediaType] = documentAt(path, serve, baseUrl) ?? [];
  if (document === undefined) return jsonResponse(404, { error: 'there is no such document' });
  if (method !== 'GET' && method !== 'HEAD')
    return jsonResponse(405, { error: 'the route takes GET' }, { headers: { allow: 'GET, HEAD' } });
  return jsonResponse(200, document, {
    mediaType: mediaType ?? 'application/json',
    headers: {
      // A document that names the host of its request is for that client alone.
      'cache-control': serve.agent.url === undefined ? 'no-store' : `public, max-age=${documentMaxAgeSeconds}`,
      // Public, and without credentials: pages of registries read it.
      'access-control-allow-origin': '*',
    },
  });
}

function documentAt(
  path: string,
  serve: ServeConfig,
  baseUrl: string,
): readonly [JsonObject | undefined, string?] | undefined {
  switch (path) {
    case '/.well-known/oauth-protected-resource':
    case '/.well-known/oauth-protected-resource/mcp':
      return [resourceMetadata(serve, baseUrl)];
    case '/mcp/server-card':
    case '/.well-known/mcp/server-card.json':
      return [serverCard(serve, baseUrl), 'application/mcp-server-card+json'];
    case '/.well-known/ai-catalog.json':
      return [aiCatalog(serve, baseUrl), 'application/ai-catalog+json'];
    default:
      return undefined;
  }
}

interface Post extends Pick<Visit, 'tasks' | 'endpoint'> {
  readonly openStream: OpenStream | undefined;
  readonly known: { id: RpcId | null };
}

async function answered(request: Request, post: Post): Promise<Response> {
  const body = await readJson(request, {
    mediaTypes: ['application/json'],
    maxBytes: requestMaxBytes,
    refusal: (fault, message) =>
      fault === 'media_type'
        ? new McpError(invalidRequest, message, { http: 415 })
        : badRequest(fault === 'syntax' ? parseError : invalidRequest, message),
  });
  if (Array.isArray(body)) return batch(body as readonly JsonValue[], request, post);
  const stop = stopOf(request);
  const message = messageIn(body, post.known);
  const answer = await answerTo(message, request.headers, { ...post, signal: stop.signal });
  if (answer === undefined) return new Response(null, { status: 202 });
  if (answer.kind === 'result')
    return jsonResponse(200, { jsonrpc: '2.0', id: message.id ?? null, result: answer.result });
  const place = answer.isLong === true ? await placeFor(post, stop) : undefined;
  return streamResponse(answer.messages, post, { stop, place });
}

/** Answers a message by its revision; undefined for a notification, or for the response to a request that nobody sent. */
async function answerTo(message: Message, headers: Headers, visit: Visit): Promise<Answer | undefined> {
  const { id, method } = message;
  const legacy = legacyVersionOf(headers, message);
  if (method === undefined) {
    if (legacy === undefined)
      throw badRequest(invalidRequest, 'the server sends no requests, so it takes no responses');
    return undefined;
  }
  if (id === undefined) return undefined;
  if (legacy !== undefined || (method === 'initialize' && !isModern(headers, message))) {
    const version = legacy ?? '2025-11-25';
    return answerLegacy({ ...message, version, id, method, capabilities: {}, headers }, visit);
  }
  const version = headers.get('mcp-protocol-version')?.trim();
  // A client of some other revision that begins with `initialize`.
  if (version !== undefined && version !== '2026-07-28' && !isModern(headers, message)) throw notServed(version);
  return answerModern(modernCall({ ...message, id, method }, headers), visit);
}

function isModern(headers: Headers, { meta }: Message): boolean {
  return headers.has('mcp-method') || meta['io.modelcontextprotocol/protocolVersion'] !== undefined;
}

/**
 * Answers a batch, which only 2025-03-26 has: each message by itself, one after the other. All of them together wait as
 * long as the tool that waits: a function that is ended would take the handles of what it has started along.
 */
async function batch(messages: readonly JsonValue[], { headers, signal }: Request, post: Post): Promise<Response> {
  if (legacyVersionOf(headers, undefined) !== '2025-03-26' || messages.length === 0 || messages.length > batchMax)
    throw badRequest(invalidRequest, 'send one request at a time');
  const responses: JsonObject[] = [];
  const { endpoint } = post;
  const untilMs = endpoint.clock.nowMs() + endpoint.waitMaxMs;
  for (const given of messages) {
    const known: { id: RpcId | null } = { id: null };
    try {
      const message = withoutProgress(messageIn(given, known));
      if (message.method === 'initialize') throw badRequest(invalidRequest, 'initialize is not part of a batch');
      const leftMs = Math.max(0, untilMs - endpoint.clock.nowMs());
      const inTime = { ...endpoint, promptMaxMs: Math.min(endpoint.promptMaxMs, leftMs), waitMaxMs: leftMs };
      const answer = await answerTo(message, headers, { ...post, endpoint: inTime, signal });
      if (answer?.kind === 'result') responses.push({ jsonrpc: '2.0', id: known.id, result: answer.result });
    } catch (error) {
      // A credential that is refused, or a store that fails, concerns the whole batch.
      if (hasCode(error, 'STORE_UNAVAILABLE')) throw error;
      responses.push({ jsonrpc: '2.0', id: known.id, error: rpcError(mcpError(error, endpoint.log)) });
    }
  }
  return responses.length === 0 ? new Response(null, { status: 202 }) : jsonResponse(200, responses);
}

/** A batch is answered as a whole, so there is no stream for progress. */
function withoutProgress(message: Message): Message {
  const { progressToken: _, ...meta } = message.meta;
  return { ...message, meta };
}

/** Takes a place for a stream. @throws McpError `-32603` if as many are open as there may be */
async function placeFor({ openStream }: Post, stop: AbortController): Promise<OpenedStream | undefined> {
  if (openStream === undefined) return undefined;
  const end = (): void => {
    stop.abort();
  };
  const place = await openStream({ signal: stop.signal, end });
  if (place !== undefined) return place;
  const headers = { 'retry-after': String(streamRetrySeconds) };
  throw new McpError(internalError, 'as many streams are open as there may be: read the task by tasks/get', {
    ...{ http: 503, headers },
  });
}

function streamResponse(
  messages: AsyncGenerator<JsonObject, undefined>,
  { endpoint, known }: Post,
  { stop, place }: { readonly stop: AbortController; readonly place: OpenedStream | undefined },
): Response {
  const { timer, keepAliveMs: intervalMs, streamMaxMs: maxMs, log } = endpoint;
  const events = eventsOf(messages, known.id, log);
  return sseResponse(events, {
    timer,
    keepAliveMs: intervalMs,
    streamMaxMs: maxMs + graceMs,
    stop,
    place,
    headers: {},
  });
}

/** Writes messages as events. An error in the midst of them is the response. */
async function* eventsOf(
  messages: AsyncGenerator<JsonObject, undefined>,
  id: RpcId | null,
  log: Log,
): AsyncGenerator<string, undefined> {
  try {
    for await (const message of messages) yield sseEvent(message);
  } catch (error) {
    yield sseEvent({ jsonrpc: '2.0', id, error: rpcError(mcpError(error, log)) });
  }
  return undefined;
}

function errorResponse(error: McpError, id: RpcId | null): Response {
  const { http, headers } = error;
  return jsonResponse(http, { jsonrpc: '2.0', id, error: rpcError(error) }, { headers });
}
