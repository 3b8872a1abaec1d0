import type { ServerResponse } from 'node:http';
import { json, type LoopbackServer, type Received, result, serve } from '../loopback.js';

/**
 * Deviations of the stand-in from a server that protects itself correctly. `{as}` and `{mcp}` stand for the two
 * origins.
 */
export interface ProtectedOptions {
  /** The challenge of a 401; default: with `resource_metadata`. `''`: none. */
  readonly challenge?: string;
  readonly resourceMetadata?: Readonly<Record<string, unknown>>;
  readonly serverMetadata?: Readonly<Record<string, unknown>>;
  /** Returns whether a token lets a request in; default: only the newest does. `403`: it lacks a scope. */
  readonly accepts?: (token: string, count: number) => boolean | 403;
  /** Answers a token request in place of the stand-in, if it returns true. */
  readonly token?: (form: URLSearchParams, response: ServerResponse, count: number) => boolean;
  readonly expiresIn?: number;
}

export interface ProtectedServer {
  /** An MCP server that requires a token. */
  readonly server: LoopbackServer;
  /** Its authorization server. */
  readonly authority: LoopbackServer;
  readonly issuer: string;
  /** Forms of the token requests. */
  readonly forms: URLSearchParams[];
  /** `Authorization` headers of the token requests. */
  readonly proofs: (string | undefined)[];
  /** Paths that were read without a token, in order. */
  readonly paths: string[];
  /** `Authorization` headers of the calls. */
  readonly presented: (string | undefined)[];
}

export async function protectedServer(options: ProtectedOptions = {}): Promise<ProtectedServer> {
  const forms: URLSearchParams[] = [];
  const proofs: (string | undefined)[] = [];
  const paths: string[] = [];
  const presented: (string | undefined)[] = [];
  let tokens = 0;

  const authority = await serve((request, response) => {
    paths.push(`as ${request.path}`);
    if (request.path.includes('/.well-known/')) {
      json(response, {
        issuer,
        token_endpoint: `${issuer}/token`,
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'],
        ...filled(options.serverMetadata),
      });
      return;
    }
    const form = new URLSearchParams(request.text);
    forms.push(form);
    proofs.push(request.headers.authorization);
    if (options.token?.(form, response, forms.length) === true) return;
    json(response, {
      access_token: `canary-token-${++tokens}`,
      token_type: 'Bearer',
      expires_in: options.expiresIn ?? 3_600,
    });
  });
  const issuer = new URL(authority.url).origin;

  const server = await serve((request, response) => {
    if (request.path.includes('/.well-known/')) {
      paths.push(`mcp ${request.path}`);
      json(response, {
        resource: server.url,
        authorization_servers: [issuer],
        scopes_supported: ['tasks.read', 'tasks.write'],
        ...filled(options.resourceMetadata),
      });
      return;
    }
    presented.push(request.headers.authorization);
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const verdict = options.accepts?.(token, presented.length) ?? token === `canary-token-${tokens}`;
    if (verdict === true && token !== '') answer(request, response);
    else refuse(response, verdict === 403 ? 403 : 401);
  });
  const origin = new URL(server.url).origin;

  function filled(given: Readonly<Record<string, unknown>> = {}): object {
    const text = JSON.stringify(given).replaceAll('{as}', issuer).replaceAll('{mcp}', origin);
    return JSON.parse(text) as object;
  }

  function refuse(response: ServerResponse, status: 401 | 403): void {
    const usual = `Bearer realm="x", resource_metadata="${origin}/.well-known/oauth-protected-resource/rpc"`;
    const challenge =
      status === 403
        ? 'Bearer error="insufficient_scope", scope="tasks.write tasks.admin"'
        : (options.challenge ?? usual).replaceAll('{as}', issuer).replaceAll('{mcp}', origin);
    json(response, { error: 'no' }, status, challenge === '' ? {} : { 'www-authenticate': challenge });
  }

  return { server, authority, issuer, forms, proofs, paths, presented };
}

function answer(request: Received, response: ServerResponse): void {
  const isStart = request.body.method === 'tools/call';
  result(
    response,
    request,
    isStart
      ? { resultType: 'task', taskId: 't1', status: 'working', createdAt: '2026-11-29T10:00:00Z', ttlMs: null }
      : { resultType: 'complete', taskId: 't1', status: 'working' },
  );
}
