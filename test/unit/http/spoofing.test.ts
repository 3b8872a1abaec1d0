import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import { type Forger, forgeries } from './forgeries.js';
import {
  aJwt,
  aKey,
  aKeyServer,
  audience,
  bearer,
  type Door,
  doors,
  type KeyServer,
  type Request,
  senders,
  type Senders,
  sha256,
  standardHeaders,
  stripeHeaders,
  values,
} from './senders.js';

// Who may settle, start and signal from outside (S2-09, S3-54, S0-104): every way to pretend to be a known sender, through
// every door, has the same answer and leaves everything as it was.

const key = aKey('k1');
const rsa = aKey('rsa', 'rsa');
const strange = aKey('k1');
const otherKey = aKey('other');
let issuerKeys: KeyServer;
let otherKeys: KeyServer;
let attackerKeys: KeyServer;
let given: Senders;

beforeAll(async () => {
  issuerKeys = await aKeyServer([key.jwk, rsa.jwk]);
  otherKeys = await aKeyServer([otherKey.jwk]);
  attackerKeys = await aKeyServer([strange.jwk]);
});
afterAll(async () => {
  for (const server of [issuerKeys, otherKeys, attackerKeys]) await server.close();
});
beforeEach(() => {
  issuerKeys.instead = undefined;
  given = senders(issuerKeys.url, otherKeys.url);
});

const refused = '{"error":{"code":"UNAUTHORIZED","message":"the sender is not known here"}}';
const done = '{"output":{"result":1}}';
const now = (): number => given.world.clock.atMs;
const jwt = (signed: Parameters<typeof aJwt>[2] = {}) => aJwt(key, now(), signed);

const forger: Forger = {
  nowMs: now,
  jwt: (signed) => jwt(signed),
  audience: () => audience,
  keys: { key, rsa, strange, otherKey },
  attackerUrl: () => attackerKeys.url,
};

/** Sends what must be refused, and checks that nothing has changed. */
async function expectRefused(door: Door, request: Request): Promise<void> {
  const { world } = given;
  const before = world.dump();
  const reply = await door(world, request);
  expect([reply.status, reply.text, reply.headers['www-authenticate']]).toEqual([401, refused, 'Bearer']);
  expect(world.dump()).toBe(before);
  expect(world.queues.turn.receive(1)).toEqual([]);
  expect(JSON.stringify(world.lines)).not.toMatch(/eyJ|canary-relay-token|whsec|secret of/);
}

describe.each(doors)('through %s', (_, door) => {
  it.each(forgeries)('a relay with %s is refused, and the wait stays open', async (_what, headersOf) => {
    const token = await given.tokenFor('reports');
    const path = `/activities/external/${token}/complete`;
    const fetched = attackerKeys.requests;
    await expectRefused(door, { path, body: done, headers: await headersOf(forger, done) });
    expect(attackerKeys.requests).toBe(fetched);
    const headers = bearer(await jwt());
    expect(await door(given.world, { path, body: done, headers })).toMatchObject({
      status: 200,
      text: '{"settled":true}',
    });
  });

  it.each(forgeries)('a hook that is sent %s starts nothing', async (_what, headersOf) => {
    await expectRefused(door, { path: '/hooks/jwt', body: done, headers: await headersOf(forger, done) });
    const reply = await door(given.world, { path: '/hooks/jwt', body: done, headers: bearer(await jwt()) });
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('started')]);
  });

  it('a relay with a token for another task is refused, and one for this task is not', async () => {
    const path = `/activities/external/${await given.tokenFor('reports')}/complete`;
    const handle = (await given.world.deps.store.tokens.read(path.split('/')[3]!.split('.')[0]!, '1'))!.handle!;
    const headers = bearer(await jwt({ claims: { taskId: `${handle.taskId}0` } }));
    await expectRefused(door, { path, body: done, headers });
    const own = bearer(await jwt({ claims: { taskId: handle.taskId, jti: 'jti-2' } }));
    expect((await door(given.world, { path, body: done, headers: own })).text).toBe('{"settled":true}');
  });

  it.each<[string, string, (body: string) => Request['headers'], (body: string) => Request['headers']]>([
    ['bearer', 'plain', () => bearer('canary-relay-token'), () => bearer('canary-token-of-another')],
    [
      'a Stripe signature',
      'stripe',
      (body) => stripeHeaders(body, now()),
      (body) => stripeHeaders(body, now(), 'guess'),
    ],
    [
      'a Standard Webhooks signature',
      'standard',
      (body) => standardHeaders(body, now()),
      (body) => standardHeaders(body, now(), { secret: 'whsec_AAAA' }),
    ],
    [
      'an Ed25519 signature',
      'standard',
      (body) => standardHeaders(body, now(), { v1a: true }),
      (body) => ({ ...standardHeaders(`${body} `, now(), { v1a: true }) }),
    ],
    [
      'a signature that is old',
      'stripe',
      (body) => stripeHeaders(body, now() - 300_000),
      (body) => stripeHeaders(body, now() - 301_000),
    ],
    [
      'a signature of the future',
      'stripe',
      (body) => stripeHeaders(body, now() + 60_000),
      (body) => stripeHeaders(body, now() + 61_000),
    ],
    [
      'a signature over the bytes',
      'stripe',
      (body) => stripeHeaders(body, now()),
      (body) => stripeHeaders(JSON.stringify(JSON.parse(body)), now()),
    ],
  ])('a relay proves itself by %s and by nothing else', async (_what, server, right, wrong) => {
    // Keys out of order, spaces, escapes and characters of several bytes: what is signed is what was sent.
    const body = '{ "output" : {"result":{"z":1,"a":"caf\\u00e9 é 日本"}} ,\r\n\t"output":{"result":{"z":2,"a":"é"}}}';
    const token = await given.tokenFor(server);
    const path = `/activities/external/${token}/complete`;
    await expectRefused(door, { path, body, headers: wrong(body) });
    await expectRefused(door, { path, body, headers: {} });
    await expectRefused(door, { path, body: body.replace('2', '3'), headers: server === 'plain' ? {} : right(body) });
    const twice = Object.fromEntries(Object.entries(right(body)).map(([name, value]) => [name, [value, value].flat()]));
    await expectRefused(door, { path, body, headers: twice });
    const reply = await door(given.world, { path, body, headers: right(body) });
    expect([reply.status, reply.text]).toEqual([200, '{"settled":true}']);
  });
});

const [, lambda] = doors[0]!;

describe('a token that is sent again', () => {
  it('starts one run, and none for another body', async () => {
    const headers = bearer(await jwt());
    const send = (body: string) => lambda(given.world, { path: '/hooks/jwt', body, headers });
    expect((await send('{"n":1}')).text).toContain('started');
    expect((await send('{"n":1}')).text).toContain('known');
    await given.world.runTurns();
    await expectRefused(lambda, { path: '/hooks/jwt', body: '{"n":2}', headers });
    given.world.clock.atMs += 329_000;
    await expectRefused(lambda, { path: '/hooks/jwt', body: '{"n":2}', headers });
  });

  it('settles one wait of a relay, whose repetition is told so, and no other wait', async () => {
    const headers = bearer(await jwt());
    const [first, second] = [await given.tokenFor('reports'), await given.tokenFor('reports')];
    const send = (token: string) =>
      lambda(given.world, { path: `/activities/external/${token}/complete`, body: done, headers });
    expect((await send(first)).text).toBe('{"settled":true}');
    expect((await send(first)).text).toBe('{"settled":false,"reason":"already_settled"}');
    await given.world.runTurns();
    await expectRefused(lambda, { path: `/activities/external/${second}/complete`, body: done, headers });
    await expectRefused(lambda, { path: `/activities/external/${first}/fail`, body: '{"error":"no"}', headers });
  });

  it('is accepted again for another use only when nobody would accept it any more', async () => {
    const { proofs } = given.world.deps.store;
    const take = (use: string, atMs: number) => proofs.take('id', { use, atMs, untilMs: 1_000 });
    expect([await take('a', 0), await take('b', 999), await take('a', 999), await take('b', 1_000)]).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  it('is taken by one of two requests at once', async () => {
    const headers = bearer(await jwt());
    const replies = await Promise.all(
      [1, 2, 3].map((n) => lambda(given.world, { path: '/hooks/jwt', body: `{"n":${n}}`, headers })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  it('with the digest of its body starts one run, and writes nothing more', async () => {
    const body = '{"n":1}';
    const headers = bearer(await jwt({ claims: { request_body_sha256: sha256(body) } }));
    const send = () => lambda(given.world, { path: '/hooks/jwt', body, headers });
    expect((await send()).text).toContain('started');
    expect(given.world.dump()).not.toContain('proof#');
    expect((await send()).text).toContain('known');
  });
});

describe('the digest of a body', () => {
  it.each([
    ['as it was sent', '{ "b": 1.0, "a": "caf\\u00e9" }', '{ "b": 1.0, "a": "caf\\u00e9" }'],
    [
      'without spaces and escapes, as the Python sample signs',
      '{ "b": 1.0, "a": "caf\\u00e9 \\" \\n" }',
      '{"b":1.0,"a":"café \\" \\n"}',
    ],
  ])('may be that of the text %s', async (_, body, signed) => {
    const headers = bearer(await jwt({ claims: { request_body_sha256: sha256(signed).toUpperCase() } }));
    expect((await lambda(given.world, { path: '/hooks/jwt', body, headers })).status).toBe(200);
  });

  it.each([
    ['a string with spaces', '{"a": "x  y"}', '{"a":"x y"}'],
    ['keys in another order', '{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['a key twice', '{"a":1,"a":2}', '{"a":2}'],
    ['a number in another spelling', '{"a":1.0}', '{"a":1}'],
    ['two numbers', '{"a":1 2}', '{"a":1 2}x'],
  ])('is not that of another text: %s', async (_, body, signed) => {
    const headers = bearer(await jwt({ claims: { request_body_sha256: sha256(signed) } }));
    await expectRefused(lambda, { path: '/hooks/jwt', body, headers });
  });
});

describe('what is our fault is to be repeated', () => {
  const expect503 = async (request: Request): Promise<void> => {
    const before = given.world.dump();
    const reply = await lambda(given.world, request);
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '2']);
    expect(given.world.dump()).toBe(before);
  };

  it.each([
    ['fails', { status: 500 }],
    ['is gone', { status: 404, body: '{}' }],
    ['is elsewhere', { status: 302, location: 'http://127.0.0.1:1/' }],
    ['is not JSON', { status: 200, body: 'no' }],
    ['is empty', { status: 200, body: '{"keys":[]}' }],
    ['has private keys only', { status: 200, body: JSON.stringify({ keys: [{ ...key.jwk, d: 'x' }] }) }],
    ['has secrets only', { status: 200, body: '{"keys":[{"kty":"oct","k":"AAAA","kid":"k1"}]}' }],
    ['is too large', { status: 200, body: JSON.stringify({ keys: [key.jwk], pad: 'x'.repeat(70_000) }) }],
  ])('the key set of the issuer %s', async (_, instead) => {
    issuerKeys.instead = instead;
    const headers = bearer(await jwt());
    await expect503({ path: '/hooks/jwt', body: done, headers });
    const token = await given.tokenFor('reports');
    await expect503({ path: `/activities/external/${token}/complete`, body: done, headers });
    issuerKeys.instead = undefined;
    given.world.clock.atMs += 5_000;
    expect((await lambda(given.world, { path: '/hooks/jwt', body: done, headers })).status).toBe(200);
  });

  it('the table does not answer when the token is to be taken', async () => {
    const headers = bearer(await jwt());
    given.world.fault = new EngineError('STORE_UNAVAILABLE', 'no');
    await expect503({ path: '/hooks/jwt', body: done, headers });
    given.world.fault = undefined;
    expect((await lambda(given.world, { path: '/hooks/jwt', body: done, headers })).text).toContain('started');
  });

  it('a secret of a relay is not there', async () => {
    const token = await given.tokenFor('stripe');
    const headers = stripeHeaders(done, now());
    const value = values['STRIPE'];
    values['STRIPE'] = undefined;
    try {
      await expect503({ path: `/activities/external/${token}/complete`, body: done, headers });
    } finally {
      values['STRIPE'] = value;
    }
  });
});
