import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, type JWTHeaderParameters, type JWTPayload } from 'jose';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import {
  bearerWebhook,
  defineApp,
  defineWorkflow,
  jwtWebhook,
  secret,
  standardWebhook,
  stripeWebhook,
  mcpServer,
  type HookAuth,
  type HookEvent,
} from '../../../lib/index.js';
import { createGateway } from '../../../lib/local/api-gateway.js';
import { KeySets } from '../../../lib/remote/auth/key-sets.js';
import { GuardedHttpClient } from '../../../lib/remote/http/http.js';
import { SecretReader } from '../../../lib/secrets/secret-reader.js';
import { aClient } from './client.js';
import { anEvent } from './event.js';
import { aWorld, type World } from './world.js';

// Senders that a hook and the relays of two servers know, their keys, and both doors through which they come.

export const audience = 'https://outwait.example.com';
export const issuer = 'https://issuer.example.com';
export const otherIssuer = 'https://other.example.com';

export type Key = ReturnType<typeof aKey>;

/** Creates a key pair for signatures. */
export function aKey(kid: string, kind: 'ec' | 'ed' | 'rsa' = 'ec') {
  const pair =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : kind === 'ed'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const alg = { ec: 'ES256', ed: 'EdDSA', rsa: 'RS256' }[kind];
  return { kid, alg, ...pair, jwk: { ...pair.publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
}

/** A server with a set of keys, which counts its requests. */
export interface KeyServer {
  readonly url: string;
  keys: readonly object[];
  /** Answers instead of the keys, while it is set. */
  instead: { readonly status: number; readonly body?: string; readonly location?: string } | undefined;
  requests: number;
  close(): Promise<void>;
}

export async function aKeyServer(keys: readonly object[]): Promise<KeyServer> {
  const server = createServer((_request, response) => {
    given.requests++;
    const { status, body, location } = given.instead ?? { status: 200 };
    response.statusCode = status;
    if (location !== undefined) response.setHeader('location', location);
    response.end(body ?? JSON.stringify({ keys: given.keys }));
  });
  const given: KeyServer = { url: `${await listening(server)}/jwks`, keys, instead: undefined, requests: 0, close };
  return given;
  function close(): Promise<void> {
    server.closeAllConnections();
    return new Promise((closed) =>
      server.close(() => {
        closed();
      }),
    );
  }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const asks = defineWorkflow<{ server: string }>({
  name: 'asks',
  run: async (ctx, { server }) => ctx.callRemoteTask({ server, tool: 'export', timeout: { hours: 1 } }),
});
const starts = defineWorkflow<{ body: unknown }>({ name: 'starts', run: async (ctx) => ctx.signal('say') });
const beats = defineWorkflow({
  name: 'beats',
  run: async (ctx) => (await ctx.externalToken({ name: 'bank', timeout: { hours: 1 } })).outcome,
});

export const ed = aKey('ed', 'ed');
const publicKeyText = `whpk_${Buffer.from(ed.jwk.x!, 'base64url').toString('base64')}`;
export const values: Record<string, string | undefined> = {
  BEARER: 'canary-relay-token',
  OTHER: 'canary-token-of-another',
  STRIPE: 'whsec_canary_stripe',
  STANDARD: `whsec_${Buffer.from('a canary of Standard Webhooks').toString('base64')}`,
  PUBLIC: publicKeyText,
};

export interface Senders {
  readonly world: World;
  readonly keySets: KeySets;
  /** Token of the wait for a task of this server. */
  tokenFor(server: string): Promise<string>;
}

/** Creates a world with a hook `jwt` and servers whose relays need a proof, each of its kind. */
export function senders(jwksUrl: string, otherUrl: string): Senders {
  const jwt = jwtWebhook({ issuer, jwksUrl, audience });
  const hook = (auth: HookAuth) => ({ auth, workflow: starts, start: ({ body }: HookEvent) => ({ input: { body } }) });
  const server = (relayAuth: HookAuth | readonly HookAuth[]) =>
    mcpServer({ url: 'https://reports.example.com/mcp', relayAuth });
  const app = defineApp({
    workflows: [asks, starts, beats],
    hooks: {
      jwt: hook(jwt),
      standard: hook(standardWebhook({ secret: [secret('STANDARD'), secret('PUBLIC')] })),
    },
    servers: {
      reports: server(jwt),
      other: server(jwtWebhook({ issuer: otherIssuer, jwksUrl: otherUrl, audience })),
      plain: server(bearerWebhook({ secret: secret('BEARER') })),
      plain2: server(bearerWebhook({ secret: secret('OTHER') })),
      stripe: server(stripeWebhook({ secret: secret('STRIPE') })),
      standard: server(standardWebhook({ secret: [secret('STANDARD'), secret('PUBLIC')] })),
      any: server([bearerWebhook({ secret: secret('BEARER') }), jwt]),
      open: mcpServer({ url: 'https://open.example.com/mcp' }),
    },
  });
  const world = aWorld();
  const { clock } = world.deps;
  const keySets = new KeySets({ http: new GuardedHttpClient({ allowLoopback: true }), clock });
  const aws = { readParameter: () => Promise.resolve(undefined), readSecret: () => Promise.resolve(undefined) };
  const secrets = new SecretReader({ clock, readSecret: (name) => values[name], aws });
  Object.assign(world.deps, { app, keySets, secrets });
  return {
    world,
    keySets,
    async tokenFor(name) {
      const client = aClient(world);
      const { body } = await client.ask('POST', '/runs', { body: { workflow: 'asks', input: { server: name } } });
      await world.runTurns();
      return world.deps.tokens.settleToken({ runId: (body as { runId: string }).runId, waitId: '1' });
    },
  };
}

export interface Request {
  readonly path: string;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}
export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}
export type Door = (world: World, request: Request) => Promise<Reply>;

const json = { 'content-type': 'application/json' };

const throughLambda =
  (base64: boolean): Door =>
  async (world, { path, body, headers }) => {
    const event = anEvent({
      method: 'POST',
      path,
      // The gateway joins what comes twice.
      headers: Object.fromEntries(
        Object.entries({ ...json, ...headers }).map(([name, value]) => [name, [value].flat().join(',')]),
      ),
      body: body.toString(),
    });
    const sent = base64 ? { body: Buffer.from(body).toString('base64'), isBase64Encoded: true } : {};
    const reply = await apiHandler(() => world.deps, { byAuthorizer: true })({ ...event, ...sent });
    return { status: reply.statusCode!, text: reply.body!, headers: reply.headers ?? {} };
  };

/** Sends the request to a server of local mode. */
const throughLocalServer: Door = async (world, { path, body, headers }) => {
  const server = createGateway(
    apiHandler(() => world.deps, { loopbackOnly: true }),
    world.deps.log,
  );
  const url = await listening(server);
  try {
    return await new Promise<Reply>((resolve, reject) => {
      const sent = httpRequest(`${url}${path}`, {
        method: 'POST',
        headers: { ...json, ...headers },
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => {
          resolve({
            status: response.statusCode!,
            text: Buffer.concat(pieces).toString(),
            headers: response.headers,
          });
        });
      });
      sent.end(body);
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

export const doors: readonly (readonly [string, Door])[] = [
  ['an event of API Gateway', throughLambda(false)],
  ['an event of API Gateway in base64', throughLambda(true)],
  ['the local server', throughLocalServer],
];

export const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

export interface Signed {
  readonly claims?: JWTPayload;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly without?: readonly string[];
  readonly key?: KeyObject | Uint8Array;
}

/** Signs a token as the issuer does, with what is changed. */
export async function aJwt(key: Key, atMs: number, { claims, header, without = [], key: other }: Signed = {}) {
  const now = Math.floor(atMs / 1_000);
  const payload: JWTPayload = { iss: issuer, aud: audience, iat: now, exp: now + 300, jti: 'jti-1', ...claims };
  const kept = Object.fromEntries(Object.entries(payload).filter(([name]) => !without.includes(name)));
  return new SignJWT(kept).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(other ?? key.privateKey);
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Signs a request as Stripe does. */
export function stripeHeaders(body: string, atMs: number, key = values['STRIPE']!) {
  const at = Math.floor(atMs / 1_000);
  return { 'stripe-signature': `t=${at},v1=${createHmac('sha256', key).update(`${at}.${body}`).digest('hex')}` };
}

/** Signs a request by Standard Webhooks, with a secret or with the private key. */
export function standardHeaders(
  body: string | Buffer,
  atMs: number,
  given: Partial<{ id: string; v1a: boolean; secret: string }> = {},
) {
  const { id = 'msg_1', v1a = false, secret: text = values['STANDARD']! } = given;
  const at = Math.floor(atMs / 1_000);
  const signed = Buffer.concat([Buffer.from(`${id}.${at}.`), Buffer.from(body)]);
  const signature = v1a
    ? `v1a,${signBytes(null, signed, ed.privateKey).toString('base64')}`
    : `v1,${createHmac('sha256', Buffer.from(text.replace('whsec_', ''), 'base64'))
        .update(signed)
        .digest('base64')}`;
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature };
}
