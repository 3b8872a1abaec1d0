import { createHash } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { EngineError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { lazy } from '../../base/lazy.js';
import type { Log } from '../../base/log.js';
import type { Clock } from '../../base/time.js';
import type { AnyWorkflow } from '../../workflow/context.js';
import type { ServeConfig } from '../../workflow/serve.js';
import type { Admitted } from '../admitted.js';
import { jsonResponse } from '../json-response.js';
import { realTimer, type Timer } from '../sse.js';
import { admittedToSkill } from './admitted-to-skill.js';
import type { A2aVersion } from './call.js';
import { agentCard, extensionsOf, hasExtendedCard } from './card.js';
import type { Endpoint } from './endpoint.js';
import { a2aProblem, errorHeaders, httpErrorBody } from './errors.js';
import { answerRpc } from './json-rpc-door.js';
import { keepAliveMs, streamMaxMs } from '../limits.js';
import { blockMaxMs } from './limits.js';
import { versionOf } from './read-call.js';

export interface A2aOptions {
  readonly serve: ServeConfig;
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  /**
   * Returns what the caller of a request may reach, by its credential; `arrival` is what the request came with besides
   * itself. @throws EngineError `UNAUTHORIZED`, `FORBIDDEN`
   */
  readonly admit: (request: Request, arrival: unknown) => Promise<Admitted> | Admitted;
  /** Whether news of tasks are pushed, so that `admit` returns push configs. */
  readonly pushes: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Signs cards of 1.0. Default: they are not signed. */
  readonly sign?: (card: JsonObject) => Promise<JsonObject>;
  /** Returns the keys that sign pushes (RFC 7517). Default: there is no such route. */
  readonly jwks?: () => JsonObject;
  /** Longest wait of a blocking message. Default 25 s. */
  readonly blockMaxMs?: number;
  /** Time after which a stream ends, to be opened again. Default 3 minutes. */
  readonly streamMaxMs?: number;
  /** Interval of the comments of a quiet stream. Default 15 s. */
  readonly keepAliveMs?: number;
  /** Default: the timers of the process. */
  readonly timer?: Timer;
}

const loadHttpJson = lazy(() => import('./http-json-door.js'));

/** How long clients and proxies may keep a card. */
const cardMaxAgeSeconds = 3_600;
/** How long receivers may keep the keys: shorter than a key is in front before it signs. */
const keysMaxAgeSeconds = 300;

/**
 * Creates the doors of A2A as a function from Request to Response: cards, JSON-RPC of 1.0 and 0.3, HTTP+JSON of 1.0; for
 * one agent with all skills, and for one with each.
 */
export function createA2aRoutes(options: A2aOptions): Hono {
  const app = new Hono();
  app.onError((error) => refused(error, options.log));
  app.notFound(() => refused(new EngineError('ROUTE_NOT_FOUND', 'there is no such route'), options.log));
  const { jwks } = options;
  if (jwks !== undefined)
    app.get('/.well-known/jwks.json', () =>
      jsonResponse(200, jwks(), { headers: { 'cache-control': `public, max-age=${keysMaxAgeSeconds}` } }),
    );
  for (const prefix of ['', '/agents/:skill']) {
    app.get(`${prefix}/.well-known/agent-card.json`, (context) => cardResponse(context, options));
    // HTTP clients that join a path to a base URL put a slash between them.
    const rpcPaths = [`${prefix}/a2a`, `${prefix}/a2a/`];
    app.on('POST', rpcPaths, (context) => answerRpc(context.req.raw, endpointOf(context, options)));
    app.all(`${prefix}/a2a/rest/*`, async (context) => {
      const { pathname } = new URL(context.req.url);
      const path = pathname.slice(pathname.indexOf('/a2a/rest') + '/a2a/rest'.length);
      const { answerHttpJson } = await loadHttpJson();
      return answerHttpJson(context.req.raw, path, endpointOf(context, options));
    });
    app.all(`${prefix}/.well-known/agent-card.json`, () => methodNotAllowed('GET, HEAD', options.log));
    for (const path of rpcPaths) app.all(path, () => methodNotAllowed('POST', options.log));
  }
  return app;
}

function refused(error: unknown, log: Log): Response {
  const problem = a2aProblem(error, 'other', log);
  return jsonResponse(problem.http, httpErrorBody(problem), { headers: errorHeaders(problem) });
}

function methodNotAllowed(allow: string, log: Log): Response {
  return refused(new EngineError('METHOD_NOT_ALLOWED', `the route takes ${allow}`, { details: { allow } }), log);
}

/** Returns the skill in the path, if any. @throws EngineError `ROUTE_NOT_FOUND` */
function skillIn(context: Context, { skills = {} }: ServeConfig): string | undefined {
  const skill = context.req.param('skill');
  if (skill === undefined || Object.hasOwn(skills, skill)) return skill;
  throw noAgent();
}

function noAgent(): EngineError {
  return new EngineError('ROUTE_NOT_FOUND', 'there is no such agent');
}

function endpointOf(context: Context, options: A2aOptions): Endpoint {
  const { serve, clock, log } = options;
  const skill = context.req.param('skill');
  const admit = async (): Promise<Admitted> => {
    const admitted = await options.admit(context.req.raw, context.env as unknown);
    // Judged now: strangers must not tell a skill that the card does not show from one that is not there.
    skillIn(context, serve);
    return skill === undefined ? admitted : admittedToSkill(admitted, skill);
  };
  const hasMore = hasExtendedCard(serve, skill);
  return {
    // At the endpoint of the workflow for messages, data are content of these.
    skill: skill === serve.onMessage ? undefined : skill,
    extensionUris: extensionsOf(serve),
    extensions: serve.agent.extensions ?? [],
    extendedCard: hasMore
      ? (version) => signed(cardFor(context, options, { version, reader: 'callers' }), version, options)
      : undefined,
    admit,
    clock,
    log,
    timer: options.timer ?? realTimer,
    blockMaxMs: options.blockMaxMs ?? blockMaxMs,
    streamMaxMs: options.streamMaxMs ?? streamMaxMs,
    keepAliveMs: options.keepAliveMs ?? keepAliveMs,
  };
}

interface CardFor {
  readonly version: A2aVersion;
  readonly reader: 'public' | 'callers';
}

function cardFor(context: Context, options: A2aOptions, { version, reader }: CardFor): JsonObject {
  const { serve, workflows, pushes } = options;
  const skill = skillIn(context, serve);
  // Without a configured URL, that of the request.
  const baseUrl = (serve.agent.url ?? new URL(context.req.url).origin).replace(/\/+$/, '');
  return agentCard({ serve, workflows, baseUrl, pushes, reader, skill }, version);
}

async function signed(card: JsonObject, version: A2aVersion, { sign }: A2aOptions): Promise<JsonObject> {
  return sign !== undefined && version === '1.0' ? sign(card) : card;
}

/** Responds with the public card, or 304 to a client that has it. */
async function cardResponse(context: Context, options: A2aOptions): Promise<Response> {
  const { serve } = options;
  const skill = skillIn(context, serve);
  if (skill !== undefined && serve.skills?.[skill]?.listed === 'callers') throw noAgent();
  const version = versionOf(context.req.raw);
  const card = cardFor(context, options, { version, reader: 'public' });
  // Covers the card without its signatures, which may differ each time.
  const etag = `"${createHash('sha256').update(JSON.stringify(card)).digest('base64url').slice(0, 27)}"`;
  const headers = {
    etag,
    // A card that names the host of its request is for that client alone.
    'cache-control': serve.agent.url === undefined ? 'no-store' : `public, max-age=${cardMaxAgeSeconds}`,
    vary: 'A2A-Version',
  };
  if (isKnown(etag, context.req.header('if-none-match'))) return new Response(null, { status: 304, headers });
  return jsonResponse(200, await signed(card, version, options), { headers });
}

function isKnown(etag: string, ifNoneMatch: string | undefined): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}
