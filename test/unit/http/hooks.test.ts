import { createHmac } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { EngineError } from '../../../lib/base/errors.js';
import {
  bearerWebhook,
  defineApp,
  defineWorkflow,
  githubWebhook,
  secret,
  slackWebhook,
  stripeWebhook,
  type HookConfig,
  type HookEvent,
} from '../../../lib/index.js';
import { createGateway } from '../../../lib/local/api-gateway.js';
import { startNamedRun } from '../../../lib/operations/requests/start-named-run.js';
import { SecretReader } from '../../../lib/secrets/secret-reader.js';
import { aClient, errorOf } from './client.js';
import { aWorld, type World } from './world.js';
import { heardMetrics } from '../../support/outputs/heard.js';

const review = defineWorkflow({
  name: 'review',
  input: z.object({ number: z.number() }),
  run: async (ctx, { number }) => ({ number, said: await ctx.signal('say') }),
});

const values: Record<string, string | undefined> = {
  NEW: 'canary new secret',
  OLD: 'canary old secret',
  TOKEN: 'canary token',
};

/** Creates a world whose app has one hook, `github` unless another name is given. */
function aHook(hook: Partial<HookConfig> = {}, name = 'github'): World {
  const world = aWorld();
  const start = ({ body }: HookEvent) => ({ input: { number: (body as { number: number }).number } });
  const config = { auth: githubWebhook({ secret: [secret('NEW'), secret('OLD')] }), workflow: review, start, ...hook };
  if ('signal' in hook) Object.assign(config, { start: undefined });
  const app = defineApp({ workflows: [review], hooks: { [name]: config as HookConfig } });
  const aws = {
    readParameter: () => Promise.reject(new EngineError('REMOTE_UNREACHABLE', 'no')),
    readSecret: () => Promise.resolve(undefined),
  };
  const secrets = new SecretReader({ clock: world.deps.clock, readSecret: (given) => values[given], aws });
  Object.assign(world.deps, { app, secrets });
  return world;
}

interface Sent {
  readonly body?: string;
  readonly signedBody?: string;
  readonly secret?: string;
  readonly deliveryId?: string;
  readonly headers?: Record<string, string>;
  readonly path?: string;
}

const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');

/** Makes a request as GitHub sends it. */
function delivery({ body = '{"number":7}', signedBody = body, deliveryId = 'd-1', ...sent }: Sent = {}) {
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'pull_request',
    'x-github-delivery': deliveryId,
    'x-hub-signature-256': `sha256=${hmac(sent.secret ?? 'canary new secret', signedBody)}`,
    ...sent.headers,
  };
  return { path: sent.path ?? '/hooks/github', init: { body, headers } };
}

async function send(world: World, sent: Sent = {}) {
  const { path, init } = delivery(sent);
  return aClient(world, { managementTokens: () => ['canary-s3cret'] }).ask('POST', path, init);
}

const refused = { error: { code: 'UNAUTHORIZED', message: 'the sender is not known here' } };

describe('a delivery of a sender that is known', () => {
  it('starts a run, without a management token, and a repeated one finds it', async () => {
    const world = aHook();
    const first = await send(world);
    expect([first.status, first.body]).toEqual([200, { outcome: 'started', runId: expect.any(String) as string }]);
    const { runId } = first.body as { runId: string };
    const before = world.dump();
    expect((await send(world)).body).toEqual({ outcome: 'known', runId });
    expect(world.dump()).toBe(before);
    expect((await send(world, { deliveryId: 'd-2' })).body).not.toMatchObject({ runId });
  });

  it('is accepted under the old secret while it is replaced', async () => {
    expect((await send(aHook(), { secret: 'canary old secret' })).body).toMatchObject({ outcome: 'started' });
  });

  it('starts one run, although copies come at the same time', async () => {
    const world = aHook();
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(world)));
    expect(answers.map(({ body }) => (body as { outcome: string }).outcome).sort()).toEqual([
      ...Array<string>(4).fill('known'),
      'started',
    ]);
    expect(new Set(answers.map(({ body }) => (body as { runId: string }).runId)).size).toBe(1);
  });

  it('starts one run for a key of the app, and its repetition may say something else', async () => {
    const world = aHook({ start: ({ body }) => ({ key: 'pr-7', tags: { from: 'github' }, input: body }) });
    const first = await send(world);
    const again = await send(world, { deliveryId: 'd-2', body: '{"number":8}' });
    expect([first.body, again.body]).toMatchObject([{ outcome: 'started' }, { outcome: 'known' }]);
    const { runs } = (await aClient(world).ask('GET', '/runs')).body as { runs: unknown[] };
    expect(runs).toMatchObject([{ tags: { from: 'github' } }]);
  });

  it('shows the function of the app what it is about, and no credentials', async () => {
    const seen: HookEvent[] = [];
    const world = aHook({ start: (event) => void seen.push(event) });
    const cookie = { cookie: 'session=canary', authorization: 'Bearer canary', 'x-more': 'x' };
    expect((await send(world, { headers: cookie })).body).toEqual({ outcome: 'ignored' });
    expect(seen).toEqual([
      {
        deliveryId: 'd-1',
        body: { number: 7 },
        headers: { 'content-type': 'application/json', 'x-github-event': 'pull_request', 'x-github-delivery': 'd-1' },
      },
    ]);
  });

  it('may be ignored, also in time, and then nothing is written', async () => {
    for (const start of [() => undefined, () => Promise.resolve(undefined)]) {
      const world = aHook({ start });
      const before = world.dump();
      expect(await send(world)).toMatchObject({ status: 200, body: { outcome: 'ignored' } });
      expect(world.dump()).toBe(before);
    }
  });
});

describe('a delivery that signals', () => {
  const say = (target: object) => ({ signal: () => ({ name: 'say', payload: 'yes', ...target }) as never });

  it.each([
    ['the id', { id: 'pr-7' }],
    ['the run id', undefined],
  ])('finds its run by %s, and is taken in once', async (_, target) => {
    const world = aHook(say({ id: 'pr-7' }));
    const { runId } = await startNamedRun(world.deps, { workflow: 'review', id: 'pr-7', input: { number: 7 } });
    Object.assign(world.deps, { app: aHook(say(target ?? { runId })).deps.app });
    await world.runTurns();
    for (let time = 0; time < 2; time++) expect((await send(world)).body).toEqual({ outcome: 'signalled', runId });
    await world.runTurns();
    const result = await aClient(world).ask('GET', `/runs/${runId}/result`);
    expect(result.body).toMatchObject({ outcome: { result: { number: 7, said: 'yes' } } });
    expect((await send(world, { deliveryId: 'd-2' })).body).toEqual({ outcome: 'run_ended', runId });
  });

  it('finds the run that another hook has started under a key', async () => {
    const world = aHook({ start: () => ({ key: 'pr-7', input: { number: 7 } }) });
    const { runId } = (await send(world)).body as { runId: string };
    Object.assign(world.deps, { app: aHook(say({ key: 'pr-7' })).deps.app });
    expect((await send(world)).body).toEqual({ outcome: 'signalled', runId });
  });

  it('may have an id that is too long for the key of a signal', async () => {
    const world = aHook({ start: () => ({ key: 'pr-7', input: { number: 7 } }) });
    const { runId } = (await send(world)).body as { runId: string };
    const deliveryId = 'd'.repeat(100);
    const name = 'n'.repeat(64);
    Object.assign(world.deps, { app: aHook(say({ runId }), name).deps.app });
    for (let time = 0; time < 2; time++) {
      const answer = await send(world, { path: `/hooks/${name}`, deliveryId });
      expect(answer.body).toEqual({ outcome: 'signalled', runId });
    }
  });

  it('with another payload for the same delivery, after a deployment, is not sent again', async () => {
    const world = aHook();
    const { runId } = (await send(world)).body as { runId: string };
    Object.assign(world.deps, { app: aHook(say({ runId })).deps.app });
    await send(world);
    Object.assign(world.deps, { app: aHook(say({ runId, payload: 'no' })).deps.app });
    expect((await send(world)).body).toEqual({ outcome: 'known', runId });
  });

  it('to no run, or a run of another workflow, is answered 404 and logged', async () => {
    const world = aHook();
    const other = await aClient(world).ask('POST', '/runs', { body: { workflow: 'review', input: { number: 1 } } });
    const { runId } = other.body as { runId: string };
    const another = defineWorkflow({ name: 'another', run: () => Promise.resolve(1) });
    for (const hook of [
      say({ runId: '0'.repeat(32) }),
      say({ id: 'none' }),
      say({ key: 'none' }),
      { ...say({ runId }), workflow: another },
    ]) {
      const { app } = aHook(say({ id: 'x' })).deps;
      const auth = app.hooks['github']!.auth;
      const hooks = { github: { auth, workflow: review, ...hook } as HookConfig };
      Object.assign(world.deps, { app: defineApp({ workflows: [review, another], hooks }) });
      const before = world.dump();
      const answer = await send(world);
      expect([answer.status, errorOf(answer).code]).toEqual([404, 'RUN_NOT_FOUND']);
      expect(world.lines.splice(0)).toEqual([
        {
          level: 'warn',
          event: 'hook delivery refused',
          fields: { hook: 'github', deliveryId: 'd-1', code: 'RUN_NOT_FOUND' },
        },
      ]);
      expect(world.dump()).toBe(before);
    }
  });
});

describe('a delivery that may be forged', () => {
  const spoofed: readonly (readonly [string, Sent])[] = [
    ['without a signature', { headers: { 'x-hub-signature-256': '' } }],
    ['under a wrong secret', { secret: 'guess' }],
    ['under an empty secret', { secret: '' }],
    ['with another body than was signed', { body: '{"number":8}', signedBody: '{"number":7}' }],
    ['with a body that only differs in spaces', { body: '{"number": 7}', signedBody: '{"number":7}' }],
    ['with a signature that is too short', { headers: { 'x-hub-signature-256': 'sha256=ab' } }],
    ['with a signature that is too long', { headers: { 'x-hub-signature-256': `sha256=${'ab'.repeat(33)}` } }],
    ['with a signature that is not hex', { headers: { 'x-hub-signature-256': `sha256=${'zz'.repeat(32)}` } }],
    [
      'with two signatures',
      { headers: { 'x-hub-signature-256': `sha256=${hmac('canary new secret', '{"number":7}')}, sha256=00` } },
    ],
    [
      'with the signature of SHA-1',
      { headers: { 'x-hub-signature-256': '', 'x-hub-signature': `sha1=${'0'.repeat(40)}` } },
    ],
    ['without an id', { headers: { 'x-github-delivery': '' } }],
    ['with the management token instead', { secret: 'guess', headers: { authorization: 'Bearer canary-s3cret' } }],
    ['for a hook that does not exist', { path: '/hooks/other' }],
    ['for a name that every object has', { path: '/hooks/constructor' }],
    ['for an empty name in escapes', { path: '/hooks/%00' }],
    ['that is not even JSON', { body: '{', secret: 'guess' }],
  ];

  it.each(spoofed)('%s is refused with the same answer, and changes nothing', async (_, sent) => {
    const world = aHook();
    const puts: string[] = [];
    Object.assign(world.deps, { metrics: heardMetrics({ put: (name: string) => void puts.push(name) }) });
    // A table that is not even asked.
    world.fault = new EngineError('INTERNAL', 'the table was used');
    const before = world.dump();
    const answer = await send(world, sent);
    expect([answer.status, answer.body]).toEqual([401, refused]);
    expect(world.dump()).toBe(before);
    expect(world.queues.turn.receive(1)).toEqual([]);
    expect(puts).toEqual(['PushAuthFailures', 'Refusals']);
    expect(JSON.stringify(world.lines)).not.toMatch(/secret|number/);
  });

  it('is not told from one for another hook by its size, type or method', async () => {
    const large = JSON.stringify({ number: 7, text: 'x'.repeat(256 * 1024) });
    for (const path of ['/hooks/github', '/hooks/other']) {
      const world = aHook();
      expect((await send(world, { path, body: large })).status).toBe(413);
      expect((await send(world, { path, headers: { 'content-type': 'text/plain' } })).status).toBe(415);
      expect((await aClient(world).ask('GET', path)).status).toBe(405);
    }
  });
});

describe('a genuine delivery that cannot be taken', () => {
  it.each([
    ['a form, which only Slack sends', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415],
    ['not JSON', { body: '{' }, 400],
    ['nested too deeply', { body: '['.repeat(65) + ']'.repeat(65) }, 400],
    ['of a number that is too large', { body: '{"number":1e999}' }, 400],
  ])('%s is refused and logged, without its content', async (_, sent, status) => {
    const world = aHook();
    expect((await send(world, sent)).status).toBe(status);
    expect(world.lines).toMatchObject([{ level: 'warn', event: 'hook delivery refused' }]);
  });

  it.each<[string, Partial<HookConfig>]>([
    [
      'throws',
      {
        start: () => {
          throw new Error('no');
        },
      },
    ],
    ['rejects', { start: () => Promise.reject(new Error('no')) }],
    ['is too slow', { start: () => new Promise(() => undefined) }],
    ['is too slow, with a promise of its own kind', { start: () => ({ then: () => undefined }) as never }],
    ['returns an input that the workflow refuses', { start: () => ({ input: { number: 'seven' } }) }],
    ['returns what is not JSON', { start: () => ({ input: { number: 7n } }) }],
    ['returns a key that is too long', { start: () => ({ key: 'k'.repeat(256), input: { number: 7 } }) }],
    ['returns a signal without a name', { signal: () => ({ name: '', key: 'x' }) }],
  ])('because the function of the app %s, is answered 500 and logged, so that it comes again', async (_, hook) => {
    const world = aHook(hook);
    const answer = await send(world);
    expect([answer.status, answer.body]).toEqual([
      500,
      { error: { code: 'INTERNAL', message: 'the request could not be handled; the log has the reason' } },
    ]);
    expect(world.lines).toMatchObject([{ level: 'error', event: 'request failed' }]);
    const { fields } = world.lines[0]!;
    expect((fields!['error'] as Error).message).toBe('the hook "github" of the app cannot handle a delivery');
    expect((fields!['error'] as Error).cause).toBeInstanceOf(Error);
  });

  it('while the table does not answer, is to be repeated', async () => {
    const world = aHook();
    world.fault = new EngineError('STORE_UNAVAILABLE', 'no');
    const answer = await send(world);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    world.fault = undefined;
    expect((await send(world)).body).toMatchObject({ outcome: 'started' });
  });

  it.each([
    ['is not there', secret('MISSING')],
    ['cannot be asked for', { kind: 'ssmParameter', name: '/x' } as const],
  ])('since its secret %s, is to be repeated, unless another secret fits', async (_, lacking) => {
    const world = aHook({ auth: githubWebhook({ secret: [lacking, secret('OLD')] }) });
    const before = world.dump();
    const answer = await send(world);
    expect([answer.status, answer.headers.get('retry-after'), errorOf(answer).code]).toEqual([
      503,
      '2',
      'STORE_UNAVAILABLE',
    ]);
    expect(world.dump()).toBe(before);
    expect((await send(world, { secret: 'canary old secret' })).body).toMatchObject({ outcome: 'started' });
    // What cannot be genuine needs no secret.
    expect((await send(world, { headers: { 'x-hub-signature-256': 'x' } })).status).toBe(401);
  });
});

describe('a delivery of Slack', () => {
  const slack = (hook: Partial<HookConfig> = {}) =>
    aHook({ auth: slackWebhook({ secret: secret('NEW') }), ...hook }, 'slack');
  const sent = (world: World, body: string, type: string, at = world.clock.atMs / 1_000) =>
    aClient(world).ask('POST', '/hooks/slack', {
      body,
      headers: {
        'content-type': type,
        'x-slack-request-timestamp': String(at),
        'x-slack-signature': `v0=${hmac('canary new secret', `v0:${at}:${body}`)}`,
      },
    });

  it('is a form or JSON, and is answered with nothing', async () => {
    const bodies: unknown[] = [];
    const world = slack({ start: ({ body }) => void bodies.push(body) });
    const form = 'command=%2Fdeploy&text=a+b&__proto__=x';
    const answers = [
      await sent(world, form, 'application/x-www-form-urlencoded'),
      await sent(world, '{"event_id":"E1"}', 'application/json; charset=utf-8'),
    ];
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, null],
      [200, null],
    ]);
    expect(bodies).toEqual([{ command: '/deploy', text: 'a b' }, { event_id: 'E1' }]);
    expect((await sent(world, 'a=1&a=2', 'application/x-www-form-urlencoded')).status).toBe(400);
  });

  it('is the same delivery when Slack signs it anew a minute later', async () => {
    const world = slack();
    await sent(world, '{"number":7}', 'application/json');
    const before = world.dump();
    world.clock.atMs += 60_000;
    await sent(world, '{"number":7}', 'application/json');
    expect(world.dump()).toBe(before);
  });

  it('that asks whether the address is ours gets its text back, if it is signed', async () => {
    const world = slack({
      start: () => {
        throw new Error('not for the app');
      },
    });
    const body = '{"type":"url_verification","challenge":"3eZbrw1a"}';
    expect((await sent(world, body, 'application/json')).body).toEqual({ challenge: '3eZbrw1a' });
    const old = await sent(world, body, 'application/json', world.clock.atMs / 1_000 - 301);
    expect([old.status, old.body]).toEqual([401, refused]);
  });
});

it('a delivery of Stripe is its event, however often that is signed', async () => {
  const ids: string[] = [];
  const start = ({ deliveryId }: HookEvent) => {
    ids.push(deliveryId);
    return { input: { number: 7 } };
  };
  const world = aHook({ auth: stripeWebhook({ secret: secret('NEW') }), start }, 'stripe');
  const outcomes: unknown[] = [];
  for (const body of ['{"id":"evt_1"}', '{"id":"evt_1","again":true}', '{"id":"evt_2"}']) {
    const at = world.clock.atMs / 1_000;
    const headers = { 'stripe-signature': `t=${at},v1=${hmac('canary new secret', `${at}.${body}`)}` };
    const answer = await aClient(world).ask('POST', '/hooks/stripe', { body, headers });
    outcomes.push((answer.body as { outcome: string }).outcome);
    world.clock.atMs += 60_000;
  }
  expect([outcomes, ids]).toEqual([
    ['started', 'known', 'started'],
    ['evt_1', 'evt_1', 'evt_2'],
  ]);
  expect(world.lines.at(-1)?.fields).toEqual({ hook: 'stripe', deliveryId: 'evt_2', outcome: 'started' });
});

it('a bearer token is enough for senders that know nothing else, and its old value while it is replaced', async () => {
  const world = aHook({ auth: bearerWebhook({ secret: [secret('TOKEN'), secret('OLD')] }) }, 'plain');
  const sent = (authorization: string, more: Record<string, string> = {}) =>
    aClient(world).ask('POST', '/hooks/plain', { body: { number: 7 }, headers: { authorization, ...more } });
  expect((await sent('Bearer canary token')).status).toBe(401);
  values['TOKEN'] = 'canary-token';
  expect((await sent('Bearer canary-token')).body).toMatchObject({ outcome: 'started' });
  expect((await sent('Bearer canary-token')).body).toMatchObject({ outcome: 'known' });
  expect((await sent('Bearer canary-token', { 'idempotency-key': 'k'.repeat(200) })).body).toMatchObject({
    outcome: 'started',
  });
  expect((await sent('Bearer a-toke')).status).toBe(401);
});

describe('over API Gateway', () => {
  const event = (sent: Sent, change: Partial<APIGatewayProxyEventV2>): APIGatewayProxyEventV2 => {
    const { path, init } = delivery(sent);
    const http = { method: 'POST', path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'x' };
    return {
      version: '2.0',
      routeKey: 'ANY /hooks/{name}',
      rawPath: path,
      rawQueryString: '',
      headers: init.headers,
      requestContext: { http } as APIGatewayProxyEventV2['requestContext'],
      body: init.body,
      isBase64Encoded: false,
      ...change,
    };
  };

  it('a body in base64 is verified as the bytes that were signed', async () => {
    const body = '{ "number": 7,\r\n "title": "caf\\u00e9 é" }';
    const handle = apiHandler(() => aHook().deps, { byAuthorizer: true });
    const base64 = { body: Buffer.from(body).toString('base64'), isBase64Encoded: true };
    expect(JSON.parse((await handle(event({ body }, base64))).body!)).toMatchObject({ outcome: 'started' });
    expect((await handle(event({ body }, { ...base64, isBase64Encoded: false }))).statusCode).toBe(401);
    expect(JSON.parse((await handle(event({ body }, {}))).body!)).toMatchObject({ outcome: 'started' });
  });

  it('a body that is null is none', async () => {
    const world = aHook();
    const answer = await apiHandler(() => world.deps)(event({ body: '' }, { body: null as never }));
    expect(answer.statusCode).toBe(400);
  });

  it('a signature that is a list, which no gateway sends, is refused unless it has one entry', async () => {
    const { headers } = event({}, {});
    const signature = headers['x-hub-signature-256']!;
    for (const [list, status] of [
      [[signature, signature], 401],
      [[], 401],
      [[signature], 200],
    ] as const) {
      const given = { ...headers, 'x-hub-signature-256': list as never };
      expect((await apiHandler(() => aHook().deps)(event({}, { headers: given }))).statusCode).toBe(status);
    }
  });

  it('a signature of two headers, which the gateway has joined, is refused', async () => {
    const { headers } = event({}, {});
    const twice = { ...headers, 'x-hub-signature-256': `${headers['x-hub-signature-256']},sha256=${'0'.repeat(64)}` };
    const world = aHook();
    expect((await apiHandler(() => world.deps)(event({}, { headers: twice }))).statusCode).toBe(401);
  });
});

describe('over the local server', () => {
  let stop: (() => void) | undefined;
  afterEach(() => stop?.());

  it('a delivery starts a run, and one with two signatures does not', async () => {
    const world = aHook();
    const server = createGateway(
      apiHandler(() => world.deps, { loopbackOnly: true }),
      world.deps.log,
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    stop = () => server.close();
    const { path, init } = delivery();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    const twice = new Headers(init.headers);
    twice.append('x-hub-signature-256', `sha256=${'0'.repeat(64)}`);
    expect((await fetch(url, { method: 'POST', body: init.body, headers: twice })).status).toBe(401);
    const answer = await fetch(url, { method: 'POST', ...init });
    expect([answer.status, await answer.json()]).toMatchObject([200, { outcome: 'started' }]);
  });
});
