import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../lib/aws/metrics.js';
import { defineApp, jwtWebhook, mcpServer } from '../../../lib/index.js';
import { aClient, startedRun } from './client.js';
import {
  aJwt,
  aKey,
  aKeyServer,
  audience,
  bearer,
  issuer,
  type KeyServer,
  otherIssuer,
  senders,
  type Senders,
  sha256,
  stripeHeaders,
} from './senders.js';

// What a server may require of relays besides the token.

const key = aKey('k1');
const otherKey = aKey('other');
let issuerKeys: KeyServer;
let otherKeys: KeyServer;
let given: Senders;

beforeAll(async () => {
  issuerKeys = await aKeyServer([key.jwk]);
  otherKeys = await aKeyServer([otherKey.jwk]);
});
afterAll(async () => {
  await issuerKeys.close();
  await otherKeys.close();
});
beforeEach(() => {
  issuerKeys.requests = 0;
  given = senders(issuerKeys.url, otherKeys.url);
});

const done = { output: { result: 1 } };
const text = JSON.stringify(done);
const refused = { code: 'UNAUTHORIZED', message: 'the sender is not known here' };
const jwt = (signed: Parameters<typeof aJwt>[2] = {}) => aJwt(key, given.world.clock.atMs, signed);
const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  aClient(given.world).ask('POST', `/activities/external/${path}`, { body, headers });

async function settlementOf(token: string): Promise<unknown> {
  await given.world.runTurns();
  const { body } = await aClient(given.world).ask('GET', `/runs/${token.split('.')[0]!}/history`);
  const { events } = body as { events: { type: string; settlement?: object }[] };
  return events.find(({ type }) => type === 'TokenSettled')?.settlement;
}

describe('the proof of a relay', () => {
  it('is on record with the settlement', async () => {
    const token = await given.tokenFor('reports');
    await ask(`${token}/complete`, done, bearer(await jwt({ claims: { jti: 'call-7' } })));
    expect(await settlementOf(token)).toMatchObject({ by: 'relay', proof: 'jwt call-7' });
    const plain = await given.tokenFor('plain');
    await ask(`${plain}/fail`, { error: 'no rows' }, bearer('canary-relay-token'));
    expect(await settlementOf(plain)).toMatchObject({ by: 'relay', proof: 'bearer' });
  });

  it('is not needed where the server requires none, and is not recorded', async () => {
    const token = await given.tokenFor('open');
    expect((await ask(`${token}/complete`, done)).body).toEqual({ settled: true });
    expect(await settlementOf(token)).not.toHaveProperty('proof');
  });

  it('is not needed for a wait that is for no server', async () => {
    const runId = await startedRun(aClient(given.world), 'beats');
    const token = given.world.deps.tokens.settleToken({ runId, waitId: '1' });
    expect((await ask('complete', done, bearer(token))).body).toEqual({ settled: true });
  });

  it('may be any of a list', async () => {
    for (const headers of [bearer('canary-relay-token'), bearer(await jwt())]) {
      const token = await given.tokenFor('any');
      expect((await ask(`${token}/complete`, done, headers)).body).toEqual({ settled: true });
    }
    const token = await given.tokenFor('any');
    expect((await ask(`${token}/complete`, done, bearer('canary-token-of-another'))).status).toBe(401);
  });

  it('cannot stand where the token is the bearer token, but a signature can', async () => {
    const plain = await given.tokenFor('plain');
    expect((await ask('complete', done, bearer(plain))).body).toEqual({ error: refused });
    const stripe = await given.tokenFor('stripe');
    const headers = { ...bearer(stripe), ...stripeHeaders(text, given.world.clock.atMs) };
    expect((await ask('complete', done, headers)).body).toEqual({ settled: true });
  });

  it('is required although the server is no longer configured', async () => {
    const token = await given.tokenFor('open');
    const { app } = given.world.deps;
    const { open: _gone, ...servers } = app.servers;
    Object.assign(given.world.deps, { app: { ...app, servers } });
    expect((await ask(`${token}/complete`, done)).body).toEqual({ error: refused });
  });

  it('comes after the token, and before the body is parsed', async () => {
    const token = await given.tokenFor('plain');
    expect((await ask(`${token.slice(0, -1)}/complete`, '{', bearer('canary-relay-token'))).status).toBe(404);
    expect((await ask(`${token}/complete`, '{')).status).toBe(401);
    expect((await ask(`${token}/complete`, '{', bearer('canary-relay-token'))).status).toBe(400);
    expect((await ask(`${token}/complete`, `"${'x'.repeat(5 * 1_024 * 1_024)}"`)).status).toBe(413);
  });

  it('for a task that is not known yet is to be repeated', async () => {
    const token = await given.tokenFor('reports');
    const { tokens } = given.world.deps.store;
    const read = tokens.read.bind(tokens);
    tokens.read = async (...ids) => {
      const { handle: _unknown, ...record } = (await read(...ids))!;
      return record;
    };
    const answer = await ask(`${token}/complete`, done, bearer(await jwt({ claims: { taskId: 't' } })));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
  });

  it('is not needed by an operator', async () => {
    const token = await given.tokenFor('reports');
    const path = `/runs/${token.split('.')[0]!}/waits/1/settle`;
    expect((await aClient(given.world).ask('POST', path, { body: done })).body).toEqual({ settled: true });
  });

  it('that is refused is counted', async () => {
    const counts: number[] = [];
    const write = (line: string) => {
      const { PushAuthFailures } = JSON.parse(line) as { PushAuthFailures?: number };
      if (PushAuthFailures !== undefined) counts.push(PushAuthFailures);
    };
    const version = { functionName: 'api', version: '1' };
    const metrics = createMetrics({ table: 'outwait-1', clock: given.world.deps.clock, version, write });
    const token = await given.tokenFor('any');
    Object.assign(given.world.deps, { metrics });
    await ask(`${token}/complete`, done);
    expect(counts).toEqual([1]);
  });
});

describe('a batch', () => {
  const entry = (token: string) => ({ token, complete: done });

  it('is covered by one proof, and refuses the entries of servers whose proof is missing', async () => {
    const [first, second, foreign, open] = [
      await given.tokenFor('reports'),
      await given.tokenFor('reports'),
      await given.tokenFor('other'),
      await given.tokenFor('open'),
    ];
    const body = JSON.stringify({ settlements: [first, second, foreign, open, `${open}x`].map(entry) });
    const headers = bearer(await jwt({ claims: { request_body_sha256: sha256(body) } }));
    const answer = await ask('batch', body, headers);
    expect(answer.body).toEqual({
      results: [
        { status: 200, settled: true },
        { status: 200, settled: true },
        { status: 401, error: refused },
        { status: 200, settled: true },
        { status: 404, error: { code: 'TOKEN_INVALID', message: expect.any(String) as string } },
      ],
    });
    expect(issuerKeys.requests).toBe(1);
    expect(await settlementOf(second)).toMatchObject({ proof: 'jwt jti-1' });
    // The same batch again, since its answer was lost.
    const again = (await ask('batch', body, headers)).body as { results: { status: number }[] };
    expect(again.results.map(({ status }) => status)).toEqual([200, 200, 401, 200, 404]);
    const changed = JSON.stringify({ settlements: [entry(await given.tokenFor('reports'))] });
    expect(await ask('batch', changed, headers)).toMatchObject({ body: { results: [{ status: 401 }] } });
  });

  it('with a token about one task refuses the entries for others', async () => {
    const tokens = [await given.tokenFor('reports'), await given.tokenFor('reports')];
    const handles = await Promise.all(
      tokens.map((token) => given.world.deps.store.tokens.read(token.split('.')[0]!, '1')),
    );
    const headers = bearer(await jwt({ claims: { taskId: handles[1]!.handle!.taskId } }));
    const answer = await ask('batch', { settlements: tokens.map(entry) }, headers);
    expect(answer.body).toMatchObject({ results: [{ status: 401 }, { status: 200 }] });
  });

  it('answers what is our fault for its entries only, to be sent again', async () => {
    const tokens = [await given.tokenFor('reports'), await given.tokenFor('open')];
    issuerKeys.instead = { status: 500 };
    try {
      const answer = await ask('batch', { settlements: tokens.map(entry) }, bearer(await jwt()));
      expect(answer.body).toMatchObject({ results: [{ status: 503, retryable: true }, { status: 200 }] });
    } finally {
      issuerKeys.instead = undefined;
    }
  });
});

describe('the keys of an issuer', () => {
  const options = { isRenewed: false, allowPrivateAddresses: false };

  it('are read once in ten minutes, also by requests at the same time', async () => {
    const { keySets, world } = given;
    await Promise.all([1, 2, 3].map(() => keySets.read(issuerKeys.url, options)));
    world.clock.atMs += 599_999;
    await keySets.read(issuerKeys.url, options);
    expect(issuerKeys.requests).toBe(1);
    world.clock.atMs += 1;
    await keySets.read(issuerKeys.url, options);
    expect(issuerKeys.requests).toBe(2);
  });

  it('are read again for a key that is new, but not twice in 30 s, whatever tokens name', async () => {
    const fresh = aKey('k2');
    const send = async (kid: string, jti: string) => {
      const token = await aJwt(fresh, given.world.clock.atMs, { header: { kid }, claims: { jti } });
      return (await aClient(given.world).ask('POST', '/hooks/jwt', { body: { n: 1 }, headers: bearer(token) })).status;
    };
    expect(await send('k2', 'a')).toBe(401);
    expect(issuerKeys.requests).toBe(1);
    issuerKeys.keys = [key.jwk, fresh.jwk];
    try {
      given.world.clock.atMs += 29_999;
      for (let time = 0; time < 5; time++) expect(await send(`made up ${time}`, `b${time}`)).toBe(401);
      expect(issuerKeys.requests).toBe(1);
      given.world.clock.atMs += 1;
      expect(await send('k2', 'c')).toBe(200);
      expect(issuerKeys.requests).toBe(2);
    } finally {
      issuerKeys.keys = [key.jwk];
    }
  });

  it('are used for an hour while the issuer does not answer, and a token with a new key is to be repeated', async () => {
    const { keySets, world } = given;
    const known = await keySets.read(issuerKeys.url, options);
    issuerKeys.instead = { status: 503 };
    try {
      world.clock.atMs += 3_599_999;
      expect(await keySets.read(issuerKeys.url, options)).toBe(known);
      await expect(keySets.read(issuerKeys.url, { ...options, isRenewed: true })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
      world.clock.atMs += 1;
      await expect(keySets.read(issuerKeys.url, options)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    } finally {
      issuerKeys.instead = undefined;
    }
  });

  it('may be several without an id, of which the one that fits counts', async () => {
    const [a, b] = [aKey('a', 'ed'), aKey('b', 'ed')];
    const without = ({ jwk: { kid: _kid, ...jwk } }: typeof a) => jwk;
    issuerKeys.keys = [without(a), without(b)];
    try {
      for (const [name, from, status] of [
        ['a', a, 200],
        ['b', b, 200],
        ['c', aKey('c', 'ed'), 401],
      ] as const) {
        const token = await aJwt(from, given.world.clock.atMs, {
          header: { kid: undefined as never },
          claims: { jti: name },
        });
        const headers = bearer(token);
        expect([name, (await aClient(given.world).ask('POST', '/hooks/jwt', { body: {}, headers })).status]).toEqual([
          name,
          status,
        ]);
      }
    } finally {
      issuerKeys.keys = [key.jwk];
    }
  });
});

describe('jwtWebhook', () => {
  const right = { issuer, jwksUrl: 'https://issuer.example.com/jwks', audience };

  it.each([
    ['no issuer', { issuer: '' }, 'issuer must be a non-empty string'],
    ['no address', { jwksUrl: 'jwks' }, 'jwksUrl must be an https URL'],
    ['http to another machine', { jwksUrl: 'http://issuer.example.com/jwks' }, 'jwksUrl must be an https URL'],
    ['user info', { jwksUrl: 'https://a:canary@issuer.example.com/jwks' }, 'jwksUrl must be an https URL'],
    ['an algorithm with a shared secret', { algorithms: ['HS256'] }, 'algorithms must be a list of ES256'],
    ['the algorithm none', { algorithms: ['none'] }, 'algorithms must be a list of ES256'],
    ['no algorithms', { algorithms: [] }, 'algorithms must be a list of ES256'],
    ['an empty audience', { audience: [] }, 'audience must be a non-empty string'],
    ['an empty subject', { subject: '' }, 'subject must be a non-empty string'],
    ['an age of a day', { maxAge: { days: 1 } }, 'maxAge must be 1 second to 1 hour'],
    ['an age that is a number', { maxAge: 300 }, 'maxAge must be a duration'],
    ['a flag that is a text', { requireBodyHash: 'false' }, 'requireBodyHash must be true or false'],
  ])('refuses %s', (_, change, problem) => {
    expect(() => jwtWebhook({ ...right, ...change } as never)).toThrow(problem);
    expect(() => jwtWebhook({ ...right, ...change } as never)).not.toThrow(/canary/);
  });

  it('needs an audience where the app knows none', () => {
    const relayAuth = jwtWebhook({ issuer: otherIssuer, jwksUrl: right.jwksUrl });
    const servers = { reports: mcpServer({ url: 'https://reports.example.com/mcp', relayAuth }) };
    expect(() => defineApp({ workflows: [], servers })).toThrow(
      'servers.reports.relayAuth: auth: audience must be there',
    );
  });

  it.each([
    ['nothing', []],
    ['credentials of a server', { bearer: 'canary' }],
    ['a text', 'canary'],
    ['a list with something else in it', [jwtWebhook(right), null]],
  ])('or another preset is needed for relays, not %s', (_, relayAuth) => {
    const servers = { reports: mcpServer({ url: 'https://reports.example.com/mcp', relayAuth: relayAuth as never }) };
    expect(() => defineApp({ workflows: [], servers })).toThrow(/^servers\.reports\.relayAuth: auth must /);
    expect(() => defineApp({ workflows: [], servers })).not.toThrow(/canary/);
  });
});

describe('a token of a subject', () => {
  it('is refused if the hook is for another one, and one without the digest if that is required', async () => {
    const { app } = given.world.deps;
    const jwtOf = (more: object) => jwtWebhook({ issuer, jwksUrl: issuerKeys.url, audience, ...more });
    const { jwt: hook } = app.hooks;
    const hooks = {
      ...app.hooks,
      mine: { ...hook!, auth: jwtOf({ subject: 'me' }) },
      whole: { ...hook!, auth: jwtOf({ requireBodyHash: true }) },
    };
    Object.assign(given.world.deps, { app: { ...app, hooks } });
    const send = async (name: string, claims: object) => {
      const headers = bearer(await jwt({ claims: { jti: JSON.stringify(claims), ...claims } }));
      return (await aClient(given.world).ask('POST', `/hooks/${name}`, { body: '{}', headers })).status;
    };
    expect(await send('mine', { sub: 'you' })).toBe(401);
    expect(await send('mine', {})).toBe(401);
    expect(await send('mine', { sub: 'me' })).toBe(200);
    expect(await send('whole', { sub: 'a' })).toBe(401);
    expect(await send('whole', { request_body_sha256: sha256('{}') })).toBe(200);
  });
});
