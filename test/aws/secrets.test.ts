import { readFileSync } from 'node:fs';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type GetDeps, withTokens } from '../../lib/aws/get-deps.js';
import { managementAccess } from '../../lib/aws/management-access.js';
import { apiHandler } from '../../lib/aws/api-handler.js';
import { tokenKeyReader } from '../../lib/aws/token-keys.js';
import { EngineError } from '../../lib/base/errors.js';
import type { AwsSecrets } from '../../lib/remote/auth/aws-secrets.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { aWorld } from '../http/world.js';

const [first, second] = ['A'.repeat(64), 'B'.repeat(64)];
const target = { runId: '0'.repeat(32), waitId: '1' };

/** Secrets Manager with one secret, and a clock. */
function aSecret(text: string | undefined) {
  const secret = { text, isAway: false, reads: 0 };
  const clock = { atMs: 0, nowMs: () => clock.atMs };
  const aws: AwsSecrets = {
    readParameter: async () => undefined,
    readSecret: async () => {
      secret.reads++;
      if (secret.isAway)
        throw new EngineError('REMOTE_UNREACHABLE', 'a secret of the server cannot be read (Throttled)');
      return secret.text;
    },
  };
  return { secret, clock, aws };
}

describe('token keys in a secret (B136)', () => {
  function aReader(text: string | undefined) {
    const { secret, clock, aws } = aSecret(text);
    const { lines, deps } = aWorld();
    const read = tokenKeyReader({ kind: 'secret', secretId: 'outwait/tokens' }, { clock, log: deps.log, aws });
    return { secret, clock, lines, read };
  }

  it('may be one key alone, as Secrets Manager generates it', async () => {
    const { read } = aReader(first);
    const keys = await read();
    expect(keys.settleToken(target)).toContain('.k1.');
    expect(keys.settleToken(target)).toBe(
      new TokenKeys([{ keyId: 'k1', secret: Buffer.from(first, 'base64url') }]).settleToken(target),
    );
  });

  it('are read again after a minute, without a deployment, and old tokens go on counting', async () => {
    const { secret, clock, read } = aReader(first);
    const before = await read();
    secret.text = `k2:${second},k1:${first}`;
    clock.atMs = 59_999;
    expect(await read()).toBe(before);
    expect(secret.reads).toBe(1);
    clock.atMs = 60_000;
    const after = await read();
    expect(after.settleToken(target)).toContain('.k2.');
    expect(after.parseSettleToken(before.settleToken(target))).toEqual(target);
    // Read again, and the same.
    clock.atMs = 120_000;
    expect(await read()).toBe(after);
    expect(secret.reads).toBe(3);
  });

  it('stay what they were while the secret cannot be read, or holds no keys, which is logged without its text', async () => {
    const { secret, clock, lines, read } = aReader(first);
    const before = await read();
    secret.isAway = true;
    clock.atMs = 60_000;
    expect(await read()).toBe(before);
    secret.isAway = false;
    secret.text = 'k2:not base64';
    clock.atMs = 120_000;
    expect(await read()).toBe(before);
    expect(lines.map(({ event }) => event)).toEqual(['keys not replaced']);
    expect(JSON.stringify(lines)).not.toContain('base64,');
    expect((lines[0]?.fields?.['error'] as Error).message).toBe('token key 1 must have the form keyId:base64url');
  });

  it('that are not there, or cannot be read, are an error that says neither name nor value', async () => {
    const missing = aReader(undefined);
    await expect(missing.read()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'the secret of the token keys is not there, or empty',
    });
    const away = aReader(first);
    away.secret.isAway = true;
    await expect(away.read()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'a secret of the deployment cannot be read',
    });
  });
});

describe('dependencies', () => {
  it('are the same for as long as the token keys are', async () => {
    const { deps } = aWorld();
    const [one, two] = [first, second].map((key) => new TokenKeys([{ keyId: 'k1', secret: Buffer.from(key) }]));
    let tokens = one!;
    const getDeps = withTokens(() => ({ deps, readTokens: async () => tokens }));
    const before = await getDeps();
    expect(await getDeps()).toBe(before);
    tokens = two!;
    const after = await getDeps();
    expect(after).not.toBe(before);
    expect([before.tokens, after.tokens]).toEqual([one, two]);
    expect(after.store).toBe(before.store);
  });
});

describe('management requests', () => {
  const get = JSON.parse(
    readFileSync(new URL('../fixtures/aws-events/http-api-v2-get.json', import.meta.url), 'utf8'),
  ) as APIGatewayProxyEventV2;
  const event = (headers: Record<string, string> = {}, rawPath = '/runs'): APIGatewayProxyEventV2 => ({
    ...get,
    routeKey: `ANY ${rawPath}`,
    rawPath,
    rawQueryString: '',
    headers,
  });
  const bearer = (token: string) => event({ authorization: `Bearer ${token}` });
  const getDeps: GetDeps = () => aWorld().deps;

  it('need one of the tokens in the secret, so that one can be replaced while it is used', async () => {
    const { secret, clock, aws } = aSecret('old');
    const options = managementAccess(
      { kind: 'token', token: { kind: 'secret', secretId: 'outwait/management' } },
      clock,
      aws,
    );
    const api = apiHandler(getDeps, options);
    const statusOf = async (token: string) => (await api(bearer(token))).statusCode;
    expect([await statusOf('old'), await statusOf('new')]).toEqual([200, 401]);
    secret.text = 'new, old';
    clock.atMs = 60_000;
    expect([await statusOf('old'), await statusOf('new')]).toEqual([200, 200]);
    secret.text = 'new';
    clock.atMs = 120_000;
    expect([await statusOf('old'), await statusOf('new'), await statusOf('new,old')]).toEqual([401, 200, 401]);
  });

  it('are refused while the token is not there, and answered 503 while it cannot be read', async () => {
    const { secret, clock, aws } = aSecret(undefined);
    const access = { kind: 'token', token: { kind: 'secret', secretId: 'x' } } as const;
    const api = apiHandler(getDeps, managementAccess(access, clock, aws));
    expect((await api(bearer('undefined'))).statusCode).toBe(401);
    secret.isAway = true;
    expect((await api(bearer('x'))).statusCode).toBe(503);
    const without = apiHandler(getDeps, managementAccess({ kind: 'token', token: undefined }, clock));
    expect((await without(bearer('undefined'))).statusCode).toBe(401);
  });

  it('are served after an authorizer of the gateway, and refused where none has looked at them', async () => {
    const { clock } = aSecret(undefined);
    const api = apiHandler(getDeps, managementAccess({ kind: 'authorizer' }, clock));
    const plain = event();
    const passed = {
      ...plain,
      requestContext: { ...plain.requestContext, authorizer: { iam: { accountId: '111111111111' } } },
    };
    expect((await api(passed)).statusCode).toBe(200);
    expect((await api(plain)).statusCode).toBe(401);
    const notAsked = { ...plain, requestContext: { ...plain.requestContext, authorizer: null } };
    expect((await api(notAsked)).statusCode).toBe(401);
    expect((await api(bearer('anything'))).statusCode).toBe(401);
    expect((await api(event({}, '/healthz'))).statusCode).toBe(200);
  });
});
