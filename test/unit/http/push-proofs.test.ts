import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import {
  bearerWebhook,
  type HookAuth,
  jwtWebhook,
  secret,
  standardWebhook,
  stripeWebhook,
} from '../../../lib/index.js';
import { KeySets } from '../../../lib/remote/auth/key-sets.js';
import { GuardedHttpClient } from '../../../lib/remote/http/http.js';
import { type Forger, forgeries } from './forgeries.js';
import { aPushedTask, type PushWorld, statusBody, values as secretsOfPushes } from './pushes.js';
import {
  aJwt,
  aKey,
  aKeyServer,
  bearer,
  type Door,
  doors,
  issuer,
  type KeyServer,
  type Request,
  sha256,
  type Signed,
  standardHeaders,
  stripeHeaders,
  values,
} from './senders.js';

// Agents that sign what they push: every way to pretend to be one, through every door, has the same answer, and the wait
// stays open.

const publicUrl = 'https://outwait.example.com';
const key = aKey('k1');
const rsa = aKey('rsa', 'rsa');
const strange = aKey('k1');
const otherKey = aKey('other');
let issuerKeys: KeyServer;
let attackerKeys: KeyServer;
let world: PushWorld;

beforeAll(async () => {
  issuerKeys = await aKeyServer([key.jwk, rsa.jwk]);
  attackerKeys = await aKeyServer([strange.jwk]);
});
afterAll(async () => {
  for (const server of [issuerKeys, attackerKeys]) await server.close();
});
beforeEach(() => {
  issuerKeys.instead = undefined;
  Object.assign(secretsOfPushes, values);
});

/** Starts a task of an agent that must prove its pushes like this. Default: by a token of the issuer, for the push URL. */
async function aTaskThatProves(pushAuth: HookAuth = jwtWebhook({ issuer, jwksUrl: issuerKeys.url })): Promise<void> {
  world = await aPushedTask({ pushAuth });
  const { clock } = world.deps;
  const keySets = new KeySets({ http: new GuardedHttpClient({ allowLoopback: true }), clock });
  Object.assign(world.deps, { keySets, publicUrl });
}

const pathOf = (token = world.token): string => `/push/a2a/${token}`;
const pushUrl = (token?: string): string => `${publicUrl}${pathOf(token)}`;
const now = (): number => world.clock.atMs;
const jwt = ({ claims, ...signed }: Signed = {}): Promise<string> =>
  aJwt(key, now(), { ...signed, claims: { aud: pushUrl(), ...claims } });
const ended = (): string => statusBody(world.taskId);
/** Another body about the same task. */
const failed = (): string => statusBody(world.taskId, 'TASK_STATE_FAILED');
const forger: Forger = {
  nowMs: now,
  jwt,
  audience: () => pushUrl(),
  keys: { key, rsa, strange, otherKey },
  attackerUrl: () => attackerKeys.url,
};
const refused = '{"error":{"code":"UNAUTHORIZED","message":"the sender is not known here"}}';

async function expectRefused(door: Door, request: Request): Promise<void> {
  const before = world.dump();
  const reply = await door(world, request);
  expect([reply.status, reply.text, reply.headers['www-authenticate']]).toEqual([401, refused, 'Bearer']);
  expect(world.dump()).toBe(before);
  await expectPending();
}

async function expectPending(): Promise<void> {
  expect(world.pokes()).toEqual([]);
  expect((await world.deps.store.tokens.read(world.runId, '1'))?.settlement).toBeUndefined();
  expect(JSON.stringify(world.lines)).not.toMatch(/eyJ|relay-token|whsec|secret of/);
}

async function expectTaken(door: Door, request: Request): Promise<void> {
  expect(await door(world, request)).toMatchObject({ status: 202, text: '' });
  expect(world.pokes()).toHaveLength(1);
}

describe.each(doors)('through %s', (_, door) => {
  it.each(forgeries)('a push with %s is refused, and the wait stays open', async (_what, headersOf) => {
    await aTaskThatProves();
    const fetched = attackerKeys.requests;
    await expectRefused(door, { path: pathOf(), body: ended(), headers: await headersOf(forger, ended()) });
    expect(attackerKeys.requests).toBe(fetched);
    await expectTaken(door, { path: pathOf(), body: ended(), headers: bearer(await jwt()) });
  });

  it.each<[string, () => string]>([
    ['the deployment', () => publicUrl],
    [
      'another wait',
      () => pushUrl(world.deps.tokens.pushToken({ runId: world.runId, waitId: '2', server: 'agent' }).token),
    ],
    ['the host that the request names', () => `http://localhost${pathOf()}`],
  ])('a token whose audience is %s is refused', async (_what, aud) => {
    await aTaskThatProves();
    await expectRefused(door, {
      path: pathOf(),
      body: ended(),
      headers: bearer(await jwt({ claims: { aud: aud() } })),
    });
  });

  it('a token for another task is counted, and reads nothing', async () => {
    await aTaskThatProves();
    const headers = bearer(await jwt({ claims: { taskId: `${world.taskId}0`, request_body_sha256: sha256(ended()) } }));
    const before = world.dump();
    expect(await door(world, { path: pathOf(), body: ended(), headers })).toMatchObject({ status: 202 });
    expect(world.dump()).toBe(before);
    await expectPending();
    expect(world.counts).toEqual({ 'PushesReceived mismatch': 1 });
  });

  it.each<[string, HookAuth, (body: string) => Request['headers'], (body: string) => Request['headers']]>([
    [
      'a bearer token',
      bearerWebhook({ secret: secret('BEARER') }),
      () => bearer(values['BEARER']!),
      () => bearer('token-of-another'),
    ],
    [
      'a Stripe signature',
      stripeWebhook({ secret: secret('STRIPE') }),
      (body) => stripeHeaders(body, now()),
      (body) => stripeHeaders(body, now(), 'guess'),
    ],
    [
      'a Standard Webhooks signature',
      standardWebhook({ secret: [secret('STANDARD'), secret('PUBLIC')] }),
      (body) => standardHeaders(body, now()),
      (body) => standardHeaders(body, now(), { secret: 'whsec_AAAA' }),
    ],
    [
      'an Ed25519 signature',
      standardWebhook({ secret: [secret('STANDARD'), secret('PUBLIC')] }),
      (body) => standardHeaders(body, now(), { v1a: true }),
      (body) => standardHeaders(`${body} `, now(), { v1a: true }),
    ],
    [
      'a signature that is old',
      stripeWebhook({ secret: secret('STRIPE') }),
      (body) => stripeHeaders(body, now() - 300_000),
      (body) => stripeHeaders(body, now() - 301_000),
    ],
    [
      'a signature of the future',
      stripeWebhook({ secret: secret('STRIPE') }),
      (body) => stripeHeaders(body, now() + 60_000),
      (body) => stripeHeaders(body, now() + 61_000),
    ],
    [
      'a signature over the bytes',
      stripeWebhook({ secret: secret('STRIPE') }),
      (body) => stripeHeaders(body, now()),
      (body) => stripeHeaders(JSON.stringify(JSON.parse(body)), now()),
    ],
  ])('an agent proves itself by %s and by nothing else', async (what, pushAuth, right, wrong) => {
    await aTaskThatProves(pushAuth);
    const task = `{"id":"${world.taskId}","status":{"state":"TASK_STATE_COMPLETED"}}`;
    // Spaces, escapes, characters of several bytes, a key twice: what is signed is what was sent.
    const body = `{ "x":{"z":1,"a":"caf\\u00e9 é 日本"} ,\r\n\t"task" : ${task},"x":2}`;
    const path = pathOf();
    await expectRefused(door, { path, body, headers: wrong(body) });
    await expectRefused(door, { path, body, headers: {} });
    await expectRefused(door, { path, body, headers: { 'x-a2a-notification-token': world.secret } });
    if (what !== 'a bearer token')
      await expectRefused(door, { path, body: body.replace('COMPLETED', 'FAILED'), headers: right(body) });
    const twice = Object.fromEntries(Object.entries(right(body)).map(([name, value]) => [name, [value, value].flat()]));
    await expectRefused(door, { path, body, headers: twice });
    await expectTaken(door, { path, body, headers: right(body) });
  });
});

const [, lambda] = doors[0]!;

describe('a token of a push that comes again', () => {
  it('is good for one body while it lasts, and then for none', async () => {
    await aTaskThatProves();
    const headers = bearer(await jwt());
    const send = (body: string) => lambda(world, { path: pathOf(), body, headers });
    expect((await send(ended())).status).toBe(202);
    expect((await send(ended())).status).toBe(202);
    expect(world.pokes()).toHaveLength(1);
    world.clock.atMs += 10_000;
    // Asked for by the second push.
    expect(world.pokes()).toHaveLength(1);
    await expectRefused(lambda, { path: pathOf(), body: failed(), headers });
    world.clock.atMs += 319_000;
    // The queue delivers again what nobody has deleted.
    world.pokes();
    await expectRefused(lambda, { path: pathOf(), body: failed(), headers });
    world.clock.atMs += 2_000;
    await expectRefused(lambda, { path: pathOf(), body: ended(), headers });
  });

  it('is good for one wait, although its audience is that of several', async () => {
    await aTaskThatProves(jwtWebhook({ issuer, jwksUrl: issuerKeys.url, audience: publicUrl }));
    const { tokens } = world.deps.store;
    await tokens.put({ ...(await tokens.read(world.runId, '1'))!, waitId: '2' });
    const { token } = world.deps.tokens.pushToken({ runId: world.runId, waitId: '2', server: 'agent' });
    const headers = bearer(await jwt({ claims: { aud: publicUrl } }));
    await expectTaken(lambda, { path: pathOf(), body: ended(), headers });
    await expectRefused(lambda, { path: pathOf(token), body: ended(), headers });
  });

  it('is taken by one of three pushes at once', async () => {
    await aTaskThatProves();
    const headers = bearer(await jwt());
    const bodies = [ended(), failed(), statusBody(world.taskId, 'TASK_STATE_REJECTED')];
    const replies = await Promise.all(bodies.map((body) => lambda(world, { path: pathOf(), body, headers })));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 401, 401]);
    expect(world.pokes()).toHaveLength(1);
  });

  it('with the digest of its body writes down no proof, and goes with this body only', async () => {
    await aTaskThatProves();
    const headers = bearer(await jwt({ claims: { request_body_sha256: sha256(ended()) } }));
    await expectTaken(lambda, { path: pathOf(), body: ended(), headers });
    expect(world.dump()).not.toContain('proof#');
    await expectRefused(lambda, { path: pathOf(), body: failed(), headers });
  });

  it('is still good after the table did not answer when it was to be taken', async () => {
    await aTaskThatProves();
    const headers = bearer(await jwt());
    world.fault = new EngineError('STORE_UNAVAILABLE', 'no');
    expect((await lambda(world, { path: pathOf(), body: ended(), headers })).status).toBe(503);
    world.fault = undefined;
    await expectPending();
    await expectTaken(lambda, { path: pathOf(), body: ended(), headers });
  });
});

describe('a signature of a push that comes again', () => {
  it('reads nothing for the wait of another task', async () => {
    await aTaskThatProves(stripeWebhook({ secret: secret('STRIPE') }));
    const { tokens } = world.deps.store;
    const own = (await tokens.read(world.runId, '1'))!;
    await tokens.put({ ...own, waitId: '2', handle: { ...own.handle!, taskId: 'another' } });
    const { token } = world.deps.tokens.pushToken({ runId: world.runId, waitId: '2', server: 'agent' });
    const headers = stripeHeaders(ended(), now());
    await expectTaken(lambda, { path: pathOf(), body: ended(), headers });
    expect(await lambda(world, { path: pathOf(token), body: ended(), headers })).toMatchObject({ status: 202 });
    await expectPending();
  });
});

describe('the bytes of a push', () => {
  it.each(doors.slice(1))('are verified before they are read, through %s', async (_, door) => {
    await aTaskThatProves(standardWebhook({ secret: secret('STANDARD') }));
    const body = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]);
    await expectRefused(door, { path: pathOf(), body, headers: standardHeaders(body.toString(), now()) });
    const before = world.dump();
    expect((await door(world, { path: pathOf(), body, headers: standardHeaders(body, now()) })).status).toBe(400);
    expect(world.dump()).toBe(before);
    await expectPending();
  });
});

describe('what is our fault', () => {
  it.each([
    ['the key set does not answer', { status: 500 }],
    ['the key set is elsewhere', { status: 302, location: 'http://127.0.0.1:1/' }],
  ])('is answered with 503, and the push may come again: %s', async (_, instead) => {
    await aTaskThatProves();
    issuerKeys.instead = instead;
    const request = { path: pathOf(), body: ended(), headers: bearer(await jwt()) };
    const reply = await lambda(world, request);
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '2']);
    await expectPending();
    issuerKeys.instead = undefined;
    world.clock.atMs += 5_000;
    await expectTaken(lambda, request);
  });
});
