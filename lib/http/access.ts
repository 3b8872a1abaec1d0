import { createHash, timingSafeEqual } from 'node:crypto';
import { EngineError } from '../base/errors.js';
import { isLocalhost } from '../base/host-reach.js';
import type { Metrics, PlainMetricName } from '../base/metrics.js';

/** Returns what `check` returns; if it throws, counts the request as refused and rethrows. */
export function counted<Checked>(metrics: Metrics | undefined, name: PlainMetricName, check: () => Checked): Checked {
  try {
    return check();
  } catch (error) {
    metrics?.put(name, 1);
    throw error;
  }
}

/** @throws EngineError `UNAUTHORIZED` unless the request's bearer token is one of `tokens`; always if there are none */
export function requireBearer(request: Request, tokens: readonly string[]): void {
  const given = /^Bearer +([^ ]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  // Digests have equal length, and comparing them reveals nothing about the token. An empty token never matches.
  if (given === undefined || !tokens.some((token) => token !== '' && timingSafeEqual(sha256(given), sha256(token)))) {
    throw unauthorized();
  }
}

/**
 * Returns the bearer token of a relay. Several Authorization headers arrive as one, joined by a comma, which is in no
 * token.
 * @throws EngineError `UNAUTHORIZED` if there is none, or not exactly one
 */
export function bearerOf(request: Request): string {
  const given = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (given === undefined) throw unauthorized();
  return given;
}

function unauthorized(): EngineError {
  return new EngineError('UNAUTHORIZED', 'a valid bearer token is needed');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Keeps web pages away from a server on the developer's machine. The Origin reveals a page from another host or port,
 * the Host header a name that was made to resolve to this machine (DNS rebinding). Returns the origin of a page that is
 * allowed by `allowedOrigins`, otherwise undefined.
 * @throws EngineError `FORBIDDEN`
 */
export function requireLoopback(
  { headers }: Pick<Request, 'headers'>,
  allowedOrigins: readonly string[] = [],
): string | undefined {
  const host = `http://${headers.get('host') ?? ''}`;
  const own = URL.canParse(host) ? new URL(host) : undefined;
  if (own === undefined || !isLocalhost(own.hostname)) throw forbidden('the Host header must name this machine');
  const origin = headers.get('origin');
  if (origin !== null && allowedOrigins.includes(origin)) return origin;
  // Images and scripts are requested without an Origin. `none`: the address was typed by a person.
  const site = headers.get('sec-fetch-site') ?? 'none';
  if ((origin !== null && origin !== own.origin) || (site !== 'none' && site !== 'same-origin'))
    throw forbidden('a page of another host or port may not send requests; --allow-origin allows one');
  return undefined;
}

/** Returns true for a preflight: a browser asks what a page of another origin may send. */
export function isPreflight({ method, headers }: Pick<Request, 'method' | 'headers'>): boolean {
  return method === 'OPTIONS' && headers.has('access-control-request-method');
}

/** Answers a preflight of an allowed origin. */
export function preflightAnswer(origin: string): Response {
  const headers = {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'authorization, content-type, idempotency-key',
    // Needed by a page of a public site to reach a server of a private network.
    'access-control-allow-private-network': 'true',
    'access-control-max-age': '600',
    vary: 'origin',
  };
  return new Response(null, { status: 204, headers });
}

/** Lets a page of `origin` read the response. */
export function readableFor(origin: string, { headers }: Response): void {
  headers.set('access-control-allow-origin', origin);
  headers.set('access-control-expose-headers', 'retry-after');
  headers.set('vary', 'origin');
}

function forbidden(message: string): EngineError {
  return new EngineError('FORBIDDEN', message);
}
