import { EngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';
import { jsonResponse } from '../json-response.js';
import { answerHeaders, askedBy, callAt, type Endpoint, streamed, visitOf } from './endpoint.js';
import { A2aError, a2aProblem, type A2aProblem, type Asked, errorHeaders, httpErrorBody } from './errors.js';
import type { StreamEvent } from './operation.js';
import { jsonName } from './params.js';
import { perform } from './perform.js';
import { versionOf } from './read-call.js';
import { readJson } from './read-json.js';
import { sseEvent } from '../sse.js';
import { wire10 } from './wire-1.0.js';

const mediaType = 'application/a2a+json';

/**
 * Answers a request of A2A 1.0 over HTTP+JSON; `path` is what follows the door's own path, as it came. Never throws.
 */
export async function answerHttpJson(request: Request, path: string, endpoint: Endpoint): Promise<Response> {
  const known: { asked: Asked } = { asked: 'other' };
  try {
    return await answered(request, path, endpoint, known);
  } catch (error) {
    const problem = a2aProblem(error, known.asked, endpoint.log);
    // Not of the type of results, which A2A recommends since 1.0.1: the Go SDK reads no error of that type.
    return jsonResponse(problem.http, httpErrorBody(problem), { headers: errorHeaders(problem) });
  }
}

async function answered(
  request: Request,
  path: string,
  endpoint: Endpoint,
  known: { asked: Asked },
): Promise<Response> {
  const { method, params } = requested(request.method, path);
  const admitted = await endpoint.admit();
  if (versionOf(request) !== '1.0')
    throw new A2aError('VERSION_NOT_SUPPORTED', 'HTTP+JSON is of A2A 1.0 here; send the header A2A-Version: 1.0');
  const given = request.method === 'POST' ? await readJson(request, ['application/json', mediaType]) : undefined;
  const body = given === undefined ? {} : given;
  if (!isJsonObject(body)) throw new A2aError('INVALID_PARAMS', 'the body must be an object');
  const call = callAt(request, endpoint, '1.0');
  const operation = wire10.decode(method, { ...body, ...queryOf(request), ...params }, call);
  known.asked = askedBy(operation);
  const { visit, stop } = visitOf(request, endpoint, admitted);
  const answer = await perform(operation, visit, '1.0');
  const headers = answerHeaders(call);
  if (answer.kind !== 'stream') return jsonResponse(200, wire10.result(answer, call), { mediaType, headers });
  const texts = {
    event: (event: StreamEvent) => wire10.event(event, call),
    error: (problem: A2aProblem) => sseEvent(httpErrorBody(problem), { type: 'error' }),
  };
  return streamed(answer, texts, endpoint, { stop, headers });
}

/** A request in the words of JSON-RPC. */
interface Requested {
  readonly method: string;
  readonly params: JsonObject;
}

type Methods = Readonly<Partial<Record<'GET' | 'POST' | 'DELETE', string>>>;

/**
 * Returns the method that a path stands for, with the parameters in it.
 * @throws EngineError `ROUTE_NOT_FOUND`, `METHOD_NOT_ALLOWED`
 */
function requested(httpMethod: string, path: string): Requested {
  const { methods, params } = resourceAt(path);
  const method = Object.hasOwn(methods, httpMethod) ? methods[httpMethod as keyof Methods] : undefined;
  if (method !== undefined) return { method, params };
  const allow = Object.keys(methods).join(', ');
  throw new EngineError('METHOD_NOT_ALLOWED', `the route takes ${allow}`, { details: { allow } });
}

function resourceAt(path: string): { readonly methods: Methods; readonly params: JsonObject } {
  const [first, second, third, fourth, ...more] = path.split('/').slice(1).map(decoded);
  const fixed = second === undefined && first !== undefined ? fixedPaths[first] : undefined;
  if (fixed !== undefined && Object.hasOwn(fixedPaths, first ?? '')) return { methods: fixed, params: {} };
  if (first === 'tasks' && second !== undefined && more.length === 0) {
    if (third === undefined) return taskAt(second);
    if (third === 'pushNotificationConfigs') {
      if (fourth === undefined)
        return {
          methods: { GET: 'ListTaskPushNotificationConfigs', POST: 'CreateTaskPushNotificationConfig' },
          params: { taskId: second },
        };
      return {
        methods: { GET: 'GetTaskPushNotificationConfig', DELETE: 'DeleteTaskPushNotificationConfig' },
        params: { taskId: second, id: fourth },
      };
    }
  }
  throw new EngineError('ROUTE_NOT_FOUND', 'there is no such route');
}

const fixedPaths: Readonly<Record<string, Methods>> = {
  'message:send': { POST: 'SendMessage' },
  'message:stream': { POST: 'SendStreamingMessage' },
  tasks: { GET: 'ListTasks' },
  extendedAgentCard: { GET: 'GetExtendedAgentCard' },
};

/** A verb follows the id of a task after a colon. The table of the protocol says POST for it, its proto file GET. */
function taskAt(segment: string): { readonly methods: Methods; readonly params: JsonObject } {
  const [, id = segment, verb] = /^(.*):(cancel|subscribe)$/.exec(segment) ?? [];
  if (verb === 'cancel') return { methods: { POST: 'CancelTask' }, params: { id } };
  if (verb === 'subscribe') return { methods: { POST: 'SubscribeToTask', GET: 'SubscribeToTask' }, params: { id } };
  return { methods: { GET: 'GetTask' }, params: { id } };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new EngineError('ROUTE_NOT_FOUND', 'there is no such route');
  }
}

/** Parameters of the query that are not texts. */
const numbers: ReadonlySet<string> = new Set(['historyLength', 'pageSize']);
const booleans: ReadonlySet<string> = new Set(['includeArtifacts']);

function queryOf(request: Request): JsonObject {
  const query = [...new URL(request.url).searchParams];
  const named = query.map(([name, text]) => [jsonName(name), text] as const);
  return Object.fromEntries(named.map(([name, text]) => [name, valueOf(name, text)]));
}

/** Leaves what is not of its type as it is, for the schema to refuse. */
function valueOf(name: string, text: string): string | number | boolean {
  if (numbers.has(name) && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (booleans.has(name) && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}
