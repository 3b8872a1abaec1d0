import { createHash, timingSafeEqual } from 'node:crypto';
import { EngineError } from '../base/errors.js';
import type { MetricName, Metrics } from '../base/metrics.js';

/** Counts the request as refused when `check` throws, and throws it on. */
export function counted(metrics: Metrics | undefined, name: MetricName, check: () => void): void {
  try {
    check();
  } catch (error) {
    metrics?.put(name, 1);
    throw error;
  }
}

/**
 * `tokens`: one, or several with commas between them, as while one is being replaced.
 * @throws EngineError `UNAUTHORIZED` unless the request carries one of them as its bearer token, and always without any
 */
export function requireBearer(request: Request, tokens: string | undefined): void {
  const given = /^Bearer +([^ ]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  const accepted = (tokens ?? '').split(',').map((token) => token.trim());
  // Digests have equal length, and comparing them tells nothing about the token. An empty one is none.
  if (given === undefined || !accepted.some((token) => token !== '' && timingSafeEqual(sha256(given), sha256(token)))) {
    throw new EngineError('UNAUTHORIZED', 'a valid bearer token is needed');
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Keeps web pages away from a server on the developer's machine: a page of another site is told apart by its Origin, a
 * name that was made to resolve to this machine (DNS rebinding) by the Host header.
 * @throws EngineError `FORBIDDEN`
 */
export function requireLoopback(request: Pick<Request, 'headers'>): void {
  if (!isLoopback(`http://${request.headers.get('host') ?? ''}`))
    throw forbidden('the Host header must name this machine');
  const origin = request.headers.get('origin');
  if (origin !== null && !isLoopback(origin)) throw forbidden('requests of other sites are refused');
  if (request.headers.get('sec-fetch-site') === 'cross-site') throw forbidden('requests of other sites are refused');
}

function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function forbidden(message: string): EngineError {
  return new EngineError('FORBIDDEN', message);
}
