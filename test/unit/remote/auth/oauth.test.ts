import { setImmediate as eventLoop } from 'node:timers/promises';
import { createLocalJWKSet, exportJWK, exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../../lib/base/time.js';
import { createCredentials } from '../../../../lib/remote/auth/create-credentials.js';
import type { HttpClient } from '../../../../lib/remote/http/http.js';
import type { PollReply, RemoteTaskTransport } from '../../../../lib/remote/transport.js';
import { createTransports } from '../../../../lib/remote/wiring/transports.js';
import { mcpServer } from '../../../../lib/workflow/app.js';
import { type OAuthClient, secret } from '../../../../lib/workflow/server-auth.js';
import { closeAll, httpClient, json, nowMs, serve, transportDeps } from '../loopback.js';
import { protectedServer, type ProtectedServer } from './authorization-server.js';

afterEach(closeAll);

const handle = { server: 'reports', protocol: 'mcp', wire: '2026-07-28', taskId: 't1' } as const;
const clientSecret = 'canary-secret-é:1';

interface Caller {
  readonly transport: RemoteTaskTransport;
  readonly clock: { atMs: number };
  readonly logged: unknown[];
}

function caller({ server }: Pick<ProtectedServer, 'server'>, oauth: Partial<OAuthClient> = {}): Caller {
  const clock = { atMs: nowMs };
  const logged: unknown[] = [];
  const note = (...line: unknown[]): void => void logged.push(line);
  const time: Clock = { nowMs: () => clock.atMs };
  const deps = transportDeps(httpClient(), {
    clock: time,
    readSecret: () => clientSecret,
    log: { debug: note, info: note, warn: note, error: note },
  });
  const proof = oauth.privateKey === undefined ? { clientSecret: secret('CLIENT_SECRET') } : {};
  const auth = { oauth: { clientId: 'outwait', ...proof, ...oauth } };
  return {
    transport: createTransports({ reports: mcpServer({ url: server.url, auth }) }, deps).get('reports'),
    clock,
    logged,
  };
}

function problem(reply: PollReply): string | undefined {
  return 'error' in reply ? `${reply.error.code}: ${reply.error.message}` : undefined;
}

describe('an OAuth client', () => {
  it('MCP-76, GB-28: a 401 leads over both metadata documents to a token, and to one repeat', async () => {
    const world = await protectedServer();
    const { transport } = caller(world);
    expect((await transport.get(handle)).kind).toBe('working');
    expect(world.presented).toEqual([undefined, 'Bearer canary-token-1']);
    expect(world.paths).toEqual([
      'mcp /.well-known/oauth-protected-resource/rpc',
      'as /.well-known/oauth-authorization-server',
      'as /token',
    ]);
    expect(Object.fromEntries(world.forms[0] ?? [])).toEqual({
      grant_type: 'client_credentials',
      resource: world.server.url,
      scope: 'tasks.read tasks.write',
    });
    // RFC 6749 section 2.3.1: form-encoded, then base64.
    expect(world.proofs).toEqual([`Basic ${Buffer.from('outwait:canary-secret-%C3%A9%3A1').toString('base64')}`]);
    expect(world.server.received.filter(({ body }) => body.method === 'tasks/get').map(({ body }) => body.id)).toEqual([
      'id-1',
      'id-2',
    ]);
  });

  it('MCP-76: a second 401 is final, after two requests', async () => {
    const world = await protectedServer({ accepts: () => false });
    const { transport } = caller(world);
    expect(problem(await transport.get(handle))).toBe('REMOTE_UNREACHABLE: the server answered with status 401');
    expect(world.presented).toHaveLength(2);
  });

  it('the well-known places are tried where the challenge names none, the path first', async () => {
    const world = await protectedServer({ challenge: 'Bearer' });
    expect((await caller(world).transport.get(handle)).kind).toBe('working');
    expect(world.paths[0]).toBe('mcp /.well-known/oauth-protected-resource/rpc');
  });

  it('the scopes of the challenge come before those of the metadata', async () => {
    const world = await protectedServer({
      challenge: 'Basic realm="a, b", Bearer resource_metadata="{mcp}/.well-known/x", scope="only.this"',
    });
    expect((await caller(world).transport.get(handle)).kind).toBe('working');
    expect(world.forms[0]?.get('scope')).toBe('only.this');
    expect(world.paths[0]).toBe('mcp /.well-known/x');
  });

  it.each([
    ['the issuer differs', { serverMetadata: { issuer: 'https://other.example' } }, 'names another issuer'],
    ['the resource differs', { resourceMetadata: { resource: '{mcp}/other' } }, 'names another resource'],
    [
      'the resource is on another origin',
      { resourceMetadata: { resource: 'https://other.example/rpc' } },
      'another resource',
    ],
    [
      'no authorization server is named',
      { resourceMetadata: { authorization_servers: [] } },
      'no authorization server',
    ],
    [
      'the token endpoint has user info',
      { serverMetadata: { token_endpoint: 'https://a:b@as.example/token' } },
      'must be an https URL',
    ],
    [
      'the metadata of the server are at a cloud address',
      { challenge: 'Bearer resource_metadata="http://169.254.169.254/latest"' },
      'the address of the server is not allowed',
    ],
    [
      'the authorization server is at a private address',
      { resourceMetadata: { authorization_servers: ['https://10.0.0.1'] } },
      'the address of the server is not allowed',
    ],
    [
      'the token endpoint is at a private address',
      { serverMetadata: { token_endpoint: 'https://192.168.1.1/token' } },
      'the address of the server is not allowed',
    ],
    ['the metadata are no JSON', { challenge: 'Bearer resource_metadata="{mcp}/rpc"' }, 'of the server was not found'],
  ])('MCP-77: no secret is sent when %s', async (_name, options, text) => {
    const world = await protectedServer(options);
    const { transport, logged } = caller(world);
    const said = problem(await transport.get(handle));
    expect(said).toMatch(/^CONFIG_INVALID: /);
    expect(said).toContain(text);
    expect(world.forms).toEqual([]);
    expect(JSON.stringify([said, logged])).not.toMatch(/canary|127\.0\.0\.1|169\.254|192\.168|example/);
  });

  it('MCP-77: metadata over plain http are refused for a server that is called over https', async () => {
    const requests: string[] = [];
    const http = {
      send: async ({ url }: { readonly url: string }) => {
        requests.push(new URL(url).pathname);
        const headers = { 'www-authenticate': 'Bearer resource_metadata="http://reports.example/prm"' };
        return { kind: 'reply', status: 401, headers, text: '' } as const;
      },
    };
    const auth = { oauth: { clientId: 'a', clientSecret: 'canary' } };
    const servers = { reports: mcpServer({ url: 'https://reports.example/rpc', auth }) };
    const reply = await createTransports(servers, transportDeps(http)).get('reports').get(handle);
    expect(problem(reply)).toBe(
      'CONFIG_INVALID: cannot get an access token: the metadata of the server must be at an https URL',
    );
    expect(requests).toEqual(['/rpc']);
  });

  it('an authorization server that changes is not shown the secret', async () => {
    const other = await protectedServer();
    let named = '{as}';
    const world = await protectedServer({
      expiresIn: 60,
      resourceMetadata: {
        get authorization_servers() {
          return [named];
        },
      },
      token: (_form, response, count) => {
        if (count < 2) return false;
        json(response, { error: 'invalid_client' }, 401);
        return true;
      },
    });
    const { transport, clock } = caller(world);
    expect((await transport.get(handle)).kind).toBe('working');
    named = other.issuer;
    clock.atMs += 61_000;
    expect(problem(await transport.get(handle))).toMatch(/status 401 \(invalid_client\)$/);
    const said = problem(await transport.get(handle));
    expect(said).toBe(
      'CONFIG_INVALID: cannot get an access token: the server names another authorization server than before',
    );
    expect(other.forms).toEqual([]);
  });

  it('MCP-78: a 403 for its scope widens the scope once; a second one is final', async () => {
    const world = await protectedServer({
      accepts: (_token, count) => (count === 1 ? false : 403),
    });
    const { transport } = caller(world, { scopes: ['tasks.read'] });
    expect(problem(await transport.get(handle))).toBe('REMOTE_UNREACHABLE: the server answered with status 403');
    expect(world.forms.map((form) => form.get('scope'))).toEqual(['tasks.read', 'tasks.read tasks.write tasks.admin']);
    expect(world.presented).toEqual([undefined, 'Bearer canary-token-1', 'Bearer canary-token-2']);
    expect(problem(await transport.get(handle))).toBe('REMOTE_UNREACHABLE: the server answered with status 403');
    expect(world.forms).toHaveLength(2);
  });

  it('MCP-78: a scope that the authorization server does not give is not asked for again', async () => {
    const world = await protectedServer({
      accepts: (_token, count) => (count === 2 ? 403 : count > 2),
      token: (form, response) => {
        const isTooMuch = form.get('scope')?.includes('tasks.admin') ?? false;
        if (isTooMuch) json(response, { error: 'invalid_scope' }, 400);
        return isTooMuch;
      },
    });
    const { transport } = caller(world, { scopes: ['tasks.read'] });
    expect(problem(await transport.get(handle))).toContain('answered with status 400 (invalid_scope)');
    expect(await transport.get(handle)).toMatchObject({ kind: 'working' });
    expect(world.forms.at(-1)?.get('scope')).toBe('tasks.read');
  });

  it('a scope that is missing while a token with less is asked for is asked for after it', async () => {
    const forms: string[] = [];
    const held: (() => void)[] = [];
    const http: HttpClient = {
      async send({ body = '' }) {
        forms.push(new URLSearchParams(body).get('scope') ?? '');
        await new Promise<void>((release) => held.push(release));
        const text = JSON.stringify({
          access_token: `canary-token-${forms.length}`,
          token_type: 'Bearer',
          expires_in: 600,
        });
        return { kind: 'reply', status: 200, headers: {}, text };
      },
    };
    const deps = transportDeps(http, { readSecret: () => clientSecret });
    const oauth = {
      clientId: 'outwait',
      clientSecret: secret('S'),
      tokenUrl: 'https://as.example/token',
      scopes: ['a'],
    };
    const credentials = createCredentials({ url: 'https://reports.example/mcp', auth: { oauth } }, deps);
    const request = { url: 'https://reports.example/mcp', headers: {} };
    const first = credentials.present(request);
    const refusal = { status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="b"' } };
    while (held.length < 1) await eventLoop();
    const older = { kind: 'ready', headers: { authorization: 'Bearer older' }, secrets: [] } as const;
    const renewed = credentials.renew(refusal, older);
    held[0]!();
    await first;
    while (held.length < 2) await eventLoop();
    held[1]!();
    expect(await renewed).toEqual({ kind: 'renewed' });
    expect(forms).toEqual(['a', 'a b']);
    expect(await credentials.present(request)).toMatchObject({ headers: { authorization: 'Bearer canary-token-2' } });
  });

  it('a 403 for anything else is final', async () => {
    const server = await serve((_, response) => {
      json(response, {}, 403, { 'www-authenticate': 'Bearer error="invalid_token"' });
    });
    const world = await protectedServer();
    const { transport } = caller({ server }, { tokenUrl: `${world.issuer}/token` });
    expect(problem(await transport.get(handle))).toBe('REMOTE_UNREACHABLE: the server answered with status 403');
    expect(server.received).toHaveLength(1);
  });

  it('MCP-79: a token is replaced shortly before it expires, and asked for once by many calls', async () => {
    const world = await protectedServer({ expiresIn: 600 });
    const { transport, clock } = caller(world, { issuer: world.issuer });
    await Promise.all(Array.from({ length: 5 }, () => transport.get(handle)));
    expect([world.forms.length, new Set(world.presented)]).toEqual([1, new Set(['Bearer canary-token-1'])]);
    clock.atMs += 539_000;
    await transport.get(handle);
    expect(world.forms).toHaveLength(1);
    clock.atMs += 2_000;
    await Promise.all(Array.from({ length: 5 }, () => transport.get(handle)));
    expect([world.forms.length, world.presented.at(-1)]).toEqual([2, 'Bearer canary-token-2']);
  });

  it('MCP-79: a token that was revoked is replaced with one repeat of each call', async () => {
    const revoked = new Set<string>();
    const world = await protectedServer({ accepts: (token) => !revoked.has(token) });
    const { transport } = caller(world, { issuer: world.issuer });
    await transport.get(handle);
    revoked.add('canary-token-1');
    const replies = await Promise.all([transport.get(handle), transport.get(handle)]);
    expect(replies.map(({ kind }) => kind)).toEqual(['working', 'working']);
    expect(world.forms).toHaveLength(2);
  });

  it('a token that cannot be replaced is used until it expires', async () => {
    const world = await protectedServer({
      expiresIn: 600,
      accepts: (token) => token === 'canary-token-1',
      token: (_form, response, count) => {
        if (count === 1) return false;
        json(response, { error: 'server_error' }, 503);
        return true;
      },
    });
    const { transport, clock } = caller(world, { issuer: world.issuer });
    await transport.get(handle);
    clock.atMs += 560_000;
    expect((await transport.get(handle)).kind).toBe('working');
    clock.atMs += 41_000;
    expect(problem(await transport.get(handle))).toBe(
      'REMOTE_UNREACHABLE: the authorization server answered with status 503',
    );
  });

  it('with a token URL no metadata are read, and resource and audience are as configured', async () => {
    const world = await protectedServer();
    const oauth = {
      tokenUrl: `${world.issuer}/token`,
      resource: 'https://api.example/',
      audience: 'reports',
      scopes: ['a'],
    };
    expect((await caller(world, oauth).transport.get(handle)).kind).toBe('working');
    expect(world.paths).toEqual(['as /token']);
    expect(Object.fromEntries(world.forms[0] ?? [])).toEqual({
      grant_type: 'client_credentials',
      resource: 'https://api.example/',
      scope: 'a',
      audience: 'reports',
    });
  });

  it('the secret goes into the form where the authorization server wants it there', async () => {
    const world = await protectedServer({
      serverMetadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
    });
    expect((await caller(world, { issuer: world.issuer }).transport.get(handle)).kind).toBe('working');
    expect(world.proofs).toEqual([undefined]);
    expect(world.forms[0]?.get('client_secret')).toBe(clientSecret);
  });

  it.each(['PEM', 'PEM in one line', 'JWK'])(
    'a private key as %s signs an assertion for the issuer (RFC 7523)',
    async (form) => {
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
      const pem = await exportPKCS8(privateKey);
      const key =
        form === 'JWK'
          ? JSON.stringify(await exportJWK(privateKey))
          : form === 'PEM'
            ? pem
            : pem.replaceAll('\n', '\\n');
      const world = await protectedServer();
      const oauth = { privateKey: { key, algorithm: 'ES256', keyId: 'k7' } } as const;
      expect((await caller(world, oauth).transport.get(handle)).kind).toBe('working');
      const sent = world.forms[0];
      expect(world.proofs).toEqual([undefined]);
      expect(sent?.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k7', alg: 'ES256' }] });
      const { payload, protectedHeader } = await jwtVerify(sent?.get('client_assertion') ?? '', keys, {
        issuer: 'outwait',
        subject: 'outwait',
        audience: world.issuer,
        currentDate: new Date(nowMs),
        requiredClaims: ['exp', 'iat', 'jti'],
      });
      expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'k7' });
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60);
    },
  );

  it('an invalid private key is refused without being shown', async () => {
    const world = await protectedServer();
    const { transport, logged } = caller(world, { privateKey: { key: 'canary-key', algorithm: 'ES256' } });
    const said = problem(await transport.get(handle));
    expect(said).toMatch(/^CONFIG_INVALID: cannot get an access token: the private key must be PKCS #8/);
    expect(JSON.stringify([said, logged])).not.toContain('canary');
  });

  it.each([
    [
      'an error text that holds the secret',
      400,
      { error: clientSecret, error_description: clientSecret },
      'CONFIG_INVALID',
      'status 400',
    ],
    ['invalid_scope', 400, { error: 'invalid_scope' }, 'CONFIG_INVALID', 'status 400 (invalid_scope)'],
    ['a redirect', 302, {}, 'CONFIG_INVALID', 'status 302'],
    ['429', 429, {}, 'REMOTE_UNREACHABLE', 'status 429'],
    ['no token', 200, { token_type: 'Bearer' }, 'REMOTE_UNREACHABLE', 'returned no access token'],
    [
      'a token with a line end',
      200,
      { access_token: 'a\nb', token_type: 'Bearer' },
      'REMOTE_UNREACHABLE',
      'no access token',
    ],
    [
      'a token of another type',
      200,
      { access_token: 'a', token_type: 'DPoP' },
      'CONFIG_INVALID',
      'a type other than Bearer',
    ],
  ])('an authorization server that answers with %s', async (_name, status, body, code, text) => {
    const world = await protectedServer({
      token: (_form, response) => {
        json(response, body, status);
        return true;
      },
    });
    const { transport, logged } = caller(world, { issuer: world.issuer });
    const said = problem(await transport.get(handle));
    expect(said).toContain(`${code}: `);
    expect(said).toContain(text);
    expect(JSON.stringify([said, logged])).not.toMatch(/canary|127\.0\.0\.1/);
    expect(world.presented).toEqual([]);
  });

  it('a start that cannot get a token is repeated when that may pass, and refused when not', async () => {
    const request = { kind: 'tool', tool: 'x', arguments: {} } as const;
    for (const [status, kind] of [
      [503, 'retry'],
      [400, 'refused'],
    ] as const) {
      const world = await protectedServer({
        token: (_form, response) => {
          json(response, {}, status);
          return true;
        },
      });
      const { transport } = caller(world, { issuer: world.issuer });
      expect((await transport.start({ request, idempotencyKey: 'k' })).kind).toBe(kind);
      expect(world.presented).toEqual([]);
    }
  });
});
