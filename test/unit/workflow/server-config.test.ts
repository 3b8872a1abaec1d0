import { defineApp, mcpServer, secret, ssmParameter, type ServerAuth, type ServerLimits } from 'outwait';
import { describe, expect, it } from 'vitest';
import { secretsOf } from '../../../lib/workflow/server-auth.js';
import { effectiveLimits } from '../../../lib/workflow/server-limits.js';

const url = 'https://reports.example.com/mcp';
const define = (config: { readonly auth?: unknown; readonly limits?: unknown }): void =>
  void defineApp({ workflows: [], servers: { reports: mcpServer({ url, ...(config as object) }) } });

const client = { clientId: 'a', clientSecret: secret('A') };

it.each([
  [{ dedupes: 'false' }, 'servers.reports.dedupes must be true or false, got "false"'],
  [{ allowPrivateAddresses: 0 }, 'servers.reports.allowPrivateAddresses must be true or false, got 0'],
  [{ probeByContext: 'no' }, 'servers.reports.probeByContext must be true or false, got "no"'],
  [{ extendedCard: null }, 'servers.reports.extendedCard must be true or false, got null'],
])('the option %j of a server is refused, not taken for true', (option, message) => {
  expect(() => {
    define(option as object);
  }).toThrow(message);
});

it.each([{ minutes: 10 }, { days: 30 }])('a task may be stale after %j', (staleAfter) => {
  expect(() => {
    define({ staleAfter } as object);
  }).not.toThrow();
});

it.each([
  [{ minutes: 9, seconds: 59 }, 'servers.reports.staleAfter must be at least 10 minutes'],
  [{}, 'servers.reports.staleAfter must be a duration such as { minutes: 5 }, got {}'],
  [{ hours: -1 }, 'servers.reports.staleAfter'],
  [600, 'servers.reports.staleAfter'],
  ['1h', 'servers.reports.staleAfter'],
  [null, 'servers.reports.staleAfter must be a duration such as { minutes: 5 }, got null'],
])('a task cannot be stale after %j', (staleAfter, message) => {
  let thrown: unknown;
  try {
    define({ staleAfter } as object);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) as string });
});

describe('credentials of a server', () => {
  it.each([
    {},
    { bearer: 'text' },
    { bearer: secret('A'), headers: { 'x-key': ssmParameter('/a') } },
    { oauth: client },
    { oauth: { ...client, issuer: 'https://a.example/t', scopes: ['a:b', 'c/d'] }, headers: { a: 'b' } },
    { oauth: { clientId: 'a', privateKey: { key: secret('K'), algorithm: 'EdDSA' } } },
    { sigv4: { service: 'execute-api', region: 'eu-central-1' } },
  ])('takes %j', (auth) => {
    expect(() => {
      define({ auth });
    }).not.toThrow();
  });

  it.each([
    [{ bearer: 'canary', oauth: client }, 'auth must have one of bearer, oauth and sigv4, got bearer and oauth'],
    [{ bearer: '' }, 'auth: a secret is empty'],
    [
      { bearer: 7 },
      'auth: a secret must be a string, or come from secret(), ssmParameter() or secretsManager() with a name',
    ],
    [{ headers: { a: { secret: 'OLD' } } }, 'auth: a secret must be a string, or come from'],
    [{ bearer: secret('') }, 'auth: a secret must be a string, or come from'],
    [{ oauth: { clientId: 'a' } }, 'auth.oauth must have exactly one of clientSecret and privateKey'],
    [{ oauth: { ...client, clientId: '' } }, 'auth.oauth.clientId must be a non-empty string'],
    [
      { oauth: { clientId: 'a', privateKey: { key: 'canary', algorithm: 'HS256' } } },
      'auth.oauth.privateKey.algorithm must be one of ES256, ES384, RS256, PS256, EdDSA',
    ],
    [{ oauth: { ...client, issuer: 'https://canary:canary@a.example' } }, 'auth.oauth.issuer must be an http(s) URL'],
    [{ oauth: { ...client, tokenUrl: 'a.example/token' } }, 'auth.oauth.tokenUrl must be an http(s) URL'],
    [{ oauth: { ...client, scopes: ['a b'] } }, 'auth.oauth.scopes must be strings without spaces or quotes'],
    [{ sigv4: { service: 'Execute API', region: 'x' } }, 'auth.sigv4 must have a service and a region'],
  ])('refuses %j', (auth, message) => {
    let thrown: unknown;
    try {
      define({ auth });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(String(thrown)).toContain(`servers.reports.${message}`);
    expect(String(thrown)).not.toContain('canary');
  });

  it('names all secrets that it refers to', () => {
    const auth: ServerAuth = {
      headers: { a: secret('A') },
      oauth: { clientId: 'c', privateKey: { key: secret('K'), algorithm: 'ES256' } },
    };
    expect(secretsOf(auth)).toEqual([secret('A'), secret('K')]);
    expect(secretsOf({})).toEqual([]);
  });
});

describe('limits of a server', () => {
  it.each([
    [{ concurrency: 0 }, 'limits.concurrency must be a whole number from 1 to 256, got 0'],
    [{ concurrency: 257 }, 'limits.concurrency must be a whole number from 1 to 256, got 257'],
    [{ perMinute: 1.5 }, 'limits.perMinute must be a whole number from 1, got 1.5'],
    [{ perMinute: '60' }, 'limits.perMinute must be a whole number from 1, got 60'],
    [{ breaker: { failures: 0 } }, 'limits.breaker.failures must be a whole number from 1 to 10000, got 0'],
    [{ breaker: { openFor: { minutes: 6 } } }, 'limits.breaker.openFor must be from 1 second to 5 minutes'],
    [{ breaker: { openFor: { milliseconds: 1 } } }, 'limits.breaker.openFor must be from 1 second to 5 minutes'],
    [{ breaker: { openFor: {} } }, 'limits.breaker.openFor must be a duration such as'],
  ])('refuses %j', (limits, message) => {
    expect(() => {
      define({ limits });
    }).toThrow(message);
  });

  it.each<readonly [ServerLimits | undefined, object]>([
    [undefined, { failures: 10, openForMs: 30_000 }],
    [{ breaker: { failures: 3 } }, { failures: 3, openForMs: 30_000 }],
    [{ breaker: { openFor: { seconds: 5 } } }, { failures: 10, openForMs: 5_000 }],
  ])('of %j makes the breaker %j', (limits, breaker) => {
    expect(effectiveLimits(limits)).toEqual({ concurrency: undefined, perMinute: undefined, breaker });
  });

  it('without a breaker has none', () => {
    expect(effectiveLimits({ breaker: false, concurrency: 2 })).toEqual({
      concurrency: 2,
      perMinute: undefined,
      breaker: undefined,
    });
  });
});
