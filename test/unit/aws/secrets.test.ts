import { readFileSync } from 'node:fs';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { type GetDeps, withTokens } from '../../../lib/aws/get-deps.js';
import { managementAccess } from '../../../lib/aws/management-access.js';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { tokenKeyReader } from '../../../lib/aws/token-key-reader.js';
import { EngineError } from '../../../lib/base/errors.js';
import type { AwsSecrets } from '../../../lib/secrets/aws-secrets.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { aWorld } from '../http/world.js';

const [first, second] = ['A'.repeat(64), 'B'.repeat(64)];
const target = { runId: '0'.repeat(32), waitId: '1' };

/** Creates a Secrets Manager with one secret, under every name that is not in `others`, and a clock. */
function aSecret(text: string | undefined, others: Readonly<Record<string, string>> = {}) {
  const secret = { text, isAway: false, reads: 0 };
  const clock = { atMs: 0, nowMs: () => clock.atMs };
  const aws: AwsSecrets = {
    readParameter: async () => undefined,
    readSecret: async (name) => {
      if (Object.hasOwn(others, name)) return others[name];
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
    // Read again, with the same value.
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
    expect(lines.map(({ event }) => event)).toEqual(['token keys not replaced']);
    expect(JSON.stringify(lines)).not.toContain('base64,');
    expect((lines[0]?.fields?.['error'] as Error).message).toBe('token key 1 must have the form keyId:base64url');
  });

  it('that are not there, or cannot be read, are an error that says neither name nor value', async () => {
    const missing = aReader(undefined);
    await expect(missing.read()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'the secret of the token keys does not exist or is empty',
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
    readFileSync(new URL('../../support/fixtures/aws-events/http-api-v2-get.json', import.meta.url), 'utf8'),
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

  const [one, other, newer] = ['one', 'other', 'newer'].map((name) => `${name}-${'x'.repeat(24)}`) as [
    string,
    string,
    string,
  ];
  const inSecrets = (...names: readonly string[]) =>
    ({ kind: 'token', tokens: names.map((secretId) => ({ kind: 'secret' as const, secretId })) }) as const;

  it('F92 need the token of one of the secrets, so that one can be replaced while the other is used', async () => {
    const { secret, clock, aws } = aSecret(one, { 'outwait/spare': other });
    const api = apiHandler(getDeps, managementAccess(inSecrets('outwait/management', 'outwait/spare'), clock, aws));
    const statusesOf = async (...tokens: string[]) =>
      Promise.all(tokens.map(async (token) => (await api(bearer(token))).statusCode));
    expect(await statusesOf(one, other, newer)).toEqual([200, 200, 401]);
    secret.text = `${newer}\n`;
    clock.atMs = 60_000;
    expect(await statusesOf(one, other, newer)).toEqual([401, 200, 200]);
  });

  it('F92 take a token with a comma as one, and no part of it', async () => {
    const { clock, aws } = aSecret(`${one},${other}`);
    const api = apiHandler(getDeps, managementAccess(inSecrets('outwait/management'), clock, aws));
    const statuses = [`${one},${other}`, one, other, ','].map(async (token) => (await api(bearer(token))).statusCode);
    expect(await Promise.all(statuses)).toEqual([200, 401, 401, 401]);
  });

  it('F92 are refused with the reason while a secret holds a token that is too short', async () => {
    const { secret, clock, aws } = aSecret('short', { 'outwait/spare': other });
    const world = aWorld();
    const api = apiHandler(
      () => world.deps,
      managementAccess(inSecrets('outwait/management', 'outwait/spare'), clock, aws),
    );
    expect([(await api(bearer('short'))).statusCode, (await api(bearer(other))).statusCode]).toEqual([500, 500]);
    expect(world.lines.map(({ fields }) => (fields?.['error'] as Error).message)).toEqual(
      Array(2).fill(
        'the management token in a secret must have at least 24 characters, all of them visible ASCII; it has 5',
      ),
    );
    secret.text = undefined;
    clock.atMs = 60_000;
    expect((await api(bearer(other))).statusCode).toBe(200);
  });

  it('are refused while the token is not there, and answered 503 while it cannot be read', async () => {
    const { secret, clock, aws } = aSecret(undefined);
    const api = apiHandler(getDeps, managementAccess(inSecrets('x'), clock, aws));
    expect((await api(bearer('undefined'))).statusCode).toBe(401);
    secret.isAway = true;
    expect((await api(bearer('x'))).statusCode).toBe(503);
    const without = apiHandler(getDeps, managementAccess(inSecrets(), clock));
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
