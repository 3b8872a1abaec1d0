import { describe, expect, it } from 'vitest';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { createMetrics } from '../../../lib/aws/metrics.js';
import { defined } from '../../../lib/base/defined.js';
import { EngineError } from '../../../lib/base/errors.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { type Answer, aClient, errorOf, startedRun } from './client.js';
import { anEvent } from './event.js';
import { aWorld } from './world.js';

type Client = ReturnType<typeof aClient>;

/** Waits for somebody outside, for an hour. */
const asks = defineWorkflow({
  name: 'asks',
  run: async (ctx) => (await ctx.externalToken({ name: 'bank', timeout: { hours: 1 } })).outcome,
});

const aRelay = () => aClient(aWorld([asks]));
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const done = { output: { result: 1 } };

const tokenOf = (client: Client, runId: string): string => client.world.deps.tokens.settleToken({ runId, waitId: '1' });
const aToken = async (client: Client, workflow = 'asks'): Promise<string> =>
  tokenOf(client, await startedRun(client, workflow));
/** Returns a token of the right form that this deployment has not made. */
const forgedOf = (token: string): string => token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));

/** What shows that a wait is open, and by what it was settled. */
async function settledBy(client: Client, token: string): Promise<string | undefined> {
  await client.world.runTurns();
  const { body } = await client.ask('GET', `/runs/${token.split('.')[0]!}/history`);
  const { events } = body as { events: { type: string; settlement?: { by: string } }[] };
  return events.find(({ type }) => type === 'TokenSettled')?.settlement?.by;
}

function aCountedClient(world = aWorld([asks])) {
  const counts: [string, number][] = [];
  const write = (text: string): void => {
    const line = JSON.parse(text) as Record<string, unknown>;
    for (const name of ['PushAuthFailures', 'HandlerFailures'])
      if (name in line) counts.push([name, line[name] as number]);
  };
  const version = { functionName: 'api', version: '1' };
  const metrics = createMetrics({ table: 'outwait-1', clock: world.deps.clock, version, write });
  return { client: aClient({ ...world, deps: { ...world.deps, metrics } }), counts, world };
}

describe('the routes with the token as bearer token (S0-104)', () => {
  it.each([
    ['complete', done, { settled: true }],
    ['fail', { error: 'no rows', retryable: false }, { settled: true }],
    ['heartbeat', { extendBySeconds: 60 }, { settled: false, deadlineAtMs: 1_800_000_060_000 }],
  ])('answer %s as the route with the token in its path does', async (action, body, expected) => {
    const answers: Answer[] = [];
    for (const inPath of [true, false]) {
      const client = aRelay();
      const token = await aToken(client);
      const path = inPath ? `/activities/external/${token}/${action}` : `/activities/external/${action}`;
      answers.push(await client.ask('POST', path, { body, headers: inPath ? {} : bearer(token) }));
    }
    expect(answers.map(({ status, body: answered }) => [status, answered])).toEqual([
      [200, expected],
      [200, expected],
    ]);
  });

  it('settle once, as a relay, and say why not afterwards', async () => {
    const client = aRelay();
    const token = await aToken(client);
    const send = (action: string, body: object) =>
      client.ask('POST', `/activities/external/${action}`, { body, headers: bearer(token) });
    expect((await send('complete', { output: { result: 'paid' } })).body).toEqual({ settled: true });
    expect((await send('fail', { error: 'no' })).body).toEqual({ settled: false, reason: 'already_settled' });
    expect(await settledBy(client, token)).toBe('relay');
    expect((await client.ask('GET', `/runs/${token.split('.')[0]!}`)).body).toMatchObject({
      outcome: { status: 'completed', result: { result: 'paid', isError: false } },
    });
  });

  const unauthorized = { error: { code: 'UNAUTHORIZED', message: 'a valid bearer token is needed' } };

  it.each([
    ['no header', () => undefined],
    ['an empty header', () => ''],
    ['the scheme alone', () => 'Bearer'],
    ['the token alone', (token: string) => token],
    ['another scheme', (token: string) => `Basic ${token}`],
    ['two headers', (token: string) => `Bearer ${token}, Bearer ${token}`],
    ['two headers of which one has a scheme', (token: string) => `Bearer ${token},${token}`],
    ['two tokens', (token: string) => `Bearer ${token} ${token}`],
    ['characters that are in no token', (token: string) => `Bearer "${token}"`],
  ])('answer %s with the 401 of the API, before they read the body, and settle nothing', async (_what, headerOf) => {
    const { client, counts } = aCountedClient();
    const token = await aToken(client);
    const before = client.world.dump();
    const authorization = headerOf(token);
    const headers = authorization === undefined ? undefined : { authorization };
    const ofManagement = aClient(aWorld(), { managementTokens: () => ['canary-right'] });
    const refused = await ofManagement.ask('GET', '/runs');
    for (const action of ['complete', 'fail', 'heartbeat']) {
      const answer = await client.ask('POST', `/activities/external/${action}`, {
        body: '{',
        ...defined({ headers }),
      });
      expect([answer.status, answer.body]).toEqual([401, unauthorized]);
      expect([answer.body, answer.headers.get('www-authenticate')]).toEqual([
        refused.body,
        refused.headers.get('www-authenticate'),
      ]);
    }
    expect(client.world.dump()).toBe(before);
    expect(counts).toEqual([1, 2, 3].map(() => ['PushAuthFailures', 1]));
  });

  it('answer a token that is forged, cut or forgotten as the routes with the token in the path do', async () => {
    const { client, counts } = aCountedClient();
    const token = await aToken(client);
    const gone = client.world.deps.tokens.settleToken({ runId: token.split('.')[0]!, waitId: '77' });
    const before = client.world.dump();
    for (const wrong of [forgedOf(token), token.slice(0, -1), `${token}=`, 'x', gone]) {
      const inPath = await client.ask('POST', `/activities/external/${wrong}/complete`, { body: done });
      const asBearer = await client.ask('POST', '/activities/external/complete', {
        body: done,
        headers: bearer(wrong),
      });
      expect([asBearer.status, errorOf(asBearer).code]).toEqual([404, 'TOKEN_INVALID']);
      expect(asBearer.body).toEqual(inPath.body);
    }
    expect(client.world.dump()).toBe(before);
    // Twice each, but not for the token that is ours.
    expect(counts).toEqual(Array.from({ length: 8 }, () => ['PushAuthFailures', 1]));
  });

  it('refuse a body as the routes with the token in the path do', async () => {
    const client = aRelay();
    const token = await aToken(client);
    const send = (body: unknown, headers = {}) =>
      client.ask('POST', '/activities/external/complete', { body, headers: { ...bearer(token), ...headers } });
    expect((await send('x'.repeat(4 * 1024 * 1024 + 1))).status).toBe(413);
    expect((await send('{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect(errorOf(await send({ output: {} }))).toMatchObject({ details: { issues: [{ path: 'output.result' }] } });
    expect((await client.ask('POST', '/activities/external/complete?x=1', { headers: bearer(token) })).status).toBe(
      400,
    );
    expect(await settledBy(client, token)).toBeUndefined();
  });

  it('need no management token', async () => {
    const world = aWorld([asks]);
    const token = await aToken(aClient(world));
    const guarded = aClient(world, { managementTokens: () => ['canary-right'] });
    const complete = (given: string) =>
      guarded.ask('POST', '/activities/external/complete', { body: done, headers: bearer(given) });
    expect((await complete('canary-right')).status).toBe(404);
    expect((await complete(token)).body).toEqual({ settled: true });
  });

  it('are served from events of the gateway, whose header names have any case', async () => {
    const client = aRelay();
    const token = await aToken(client);
    const send = apiHandler(() => client.world.deps, { byAuthorizer: true });
    const request = { method: 'POST', path: '/activities/external/complete', body: JSON.stringify(done) };
    const sent = (Authorization?: string) =>
      send(
        anEvent({
          ...request,
          headers: { 'Content-Type': 'application/json', ...defined({ Authorization }) },
        }),
      );
    expect((await sent()).statusCode).toBe(401);
    // The gateway joins repeated headers.
    expect((await sent(`Bearer ${token},Bearer ${token}`)).statusCode).toBe(401);
    expect(await sent(`Bearer ${token}`)).toMatchObject({ statusCode: 200, body: '{"settled":true}' });
  });
});

interface Result {
  readonly status: number;
  readonly retryable?: boolean;
  readonly settled?: boolean;
  readonly error?: { readonly code: string };
}

describe('POST /activities/external/batch', () => {
  const send = async (client: Client, settlements: readonly object[]) =>
    client.ask('POST', '/activities/external/batch', { body: { settlements } });
  const results = async (client: Client, settlements: readonly object[]): Promise<readonly Result[]> =>
    ((await send(client, settlements)).body as { results: Result[] }).results;

  it('settles each entry by itself, and answers in their order what the single routes would', async () => {
    const { client, counts } = aCountedClient();
    const tokens = [];
    for (let n = 0; n < 5; n++) tokens.push(await aToken(client));
    const [first = '', second = '', third = '', fourth = '', large = ''] = tokens;
    const task = await aToken(client, 'waits');
    const invalid = { code: 'TOKEN_INVALID', message: 'no wait is known for this token' };
    const { status, body } = await send(client, [
      { token: first, complete: { output: { result: 'paid' } } },
      { token: forgedOf(first), complete: done },
      { token: second, fail: { error: 'no money', retryable: false } },
      { token: 'x', fail: { error: 'no' } },
      { token: third, heartbeat: { extendBySeconds: 60 } },
      { token: fourth, complete: { output: { result: 1, isError: true, is_error: false } } },
      { token: large, complete: { output: { result: 'x'.repeat(2 * 1024 * 1024) } } },
      { token: task, heartbeat: { extendBySeconds: 60 } },
    ]);
    expect([status, body]).toEqual([
      200,
      {
        results: [
          { status: 200, settled: true },
          { status: 404, error: invalid },
          { status: 200, settled: true },
          { status: 404, error: invalid },
          { status: 200, settled: false, deadlineAtMs: 1_800_000_060_000 },
          { status: 400, error: { code: 'INPUT_INVALID', message: 'output.isError and output.is_error differ' } },
          { status: 413, error: expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }) as unknown },
          { status: 400, error: expect.objectContaining({ code: 'INPUT_INVALID' }) as unknown },
        ],
      },
    ]);
    expect(counts).toEqual([['PushAuthFailures', 2]]);
    const ends = [];
    for (const token of [...tokens, task]) ends.push(await settledBy(client, token));
    expect(ends).toEqual(['relay', 'relay', undefined, undefined, undefined, undefined]);
  });

  it('settles the entries for one wait in their order, so that the first wins', async () => {
    const client = aRelay();
    const [one, other] = [await aToken(client), await aToken(client)];
    const sent = [
      { token: one, heartbeat: { extendBySeconds: 60 } },
      { token: one, complete: { output: { result: 'first' } } },
      { token: other, fail: { error: 'first' } },
      { token: one, complete: { output: { result: 'second' } } },
      { token: other, complete: done },
      { token: one, heartbeat: { extendBySeconds: 60 } },
    ];
    expect(await results(client, sent)).toEqual([
      { status: 200, settled: false, deadlineAtMs: 1_800_000_060_000 },
      { status: 200, settled: true },
      { status: 200, settled: true },
      { status: 200, settled: false, reason: 'already_settled' },
      { status: 200, settled: false, reason: 'already_settled' },
      { status: 200, settled: true, reason: 'already_settled' },
    ]);
    await client.world.runTurns();
    expect((await client.ask('GET', `/runs/${one.split('.')[0]!}`)).body).toMatchObject({
      outcome: { result: { result: 'first' } },
    });
  });

  it('says for each entry that the store did not take it, and takes these when they are sent again', async () => {
    const client = aRelay();
    const [fine, failing] = [await aToken(client), await aToken(client)];
    const { tokens } = client.world.deps.store;
    const settle = tokens.settle.bind(tokens);
    const down = failing.split('.')[0];
    tokens.settle = async (runId, ...more) => {
      if (runId === down) throw new EngineError('STORE_UNAVAILABLE', 'hidden');
      return settle(runId, ...more);
    };
    const sent = [
      { token: failing, complete: { output: { result: 'first' } } },
      { token: fine, complete: done },
      { token: failing, fail: { error: 'second' } },
      { token: failing, heartbeat: { extendBySeconds: 60 } },
    ];
    const message = 'the store did not answer; the request may be repeated';
    const refused = { status: 503, retryable: true, error: { code: 'STORE_UNAVAILABLE', message } };
    const first = await results(client, sent);
    expect(first).toEqual([refused, { status: 200, settled: true }, refused, refused]);
    tokens.settle = settle;
    const again = sent.filter((_, at) => first[at]!.retryable === true);
    expect(await results(client, again)).toEqual([
      { status: 200, settled: true },
      { status: 200, settled: false, reason: 'already_settled' },
      { status: 200, settled: true, reason: 'already_settled' },
    ]);
  });

  it('tells an entry that it may be sent again if the fault is ours, and counts the request as failed', async () => {
    const { client, counts, world } = aCountedClient();
    const [one, two] = [await aToken(client), await aToken(client)];
    world.deps.store.tokens.settle = () => Promise.reject(new Error('hidden'));
    const answer = await send(client, [
      { token: one, complete: done },
      { token: two, complete: done },
    ]);
    expect(JSON.stringify(answer.body)).not.toContain('hidden');
    expect((answer.body as { results: Result[] }).results).toMatchObject([
      { status: 500, retryable: true, error: { code: 'INTERNAL' } },
      { status: 500, retryable: true, error: { code: 'INTERNAL' } },
    ]);
    expect(counts).toEqual([['HandlerFailures', 1]]);
  });

  /** Calls `before` each time that a wait is about to be settled. */
  function watchSettling(client: Client, before: () => unknown): void {
    const { tokens } = client.world.deps.store;
    const settle = tokens.settle.bind(tokens);
    tokens.settle = async (...given) => {
      await before();
      return settle(...given);
    };
  }

  async function twenty(client: Client): Promise<readonly object[]> {
    const entries = [];
    for (let n = 0; n < 20; n++) entries.push({ token: await aToken(client), complete: done });
    return entries;
  }

  it('settles eight entries at a time, and no more', async () => {
    const client = aRelay();
    const entries = await twenty(client);
    let underWay = 0;
    const most: number[] = [];
    watchSettling(client, async () => {
      underWay++;
      // By the next macrotask all that may begin beside this one have begun.
      await new Promise((resolve) => setImmediate(resolve));
      most.push(underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
    });
    expect((await results(client, entries)).map(({ status }) => status)).toEqual(entries.map(() => 200));
    expect(Math.max(...most)).toBe(8);
  });

  it('begins no entry when its time is over, and says that these may be sent again', async () => {
    const client = aRelay();
    const entries = await twenty(client);
    let begun = 0;
    watchSettling(client, () => {
      begun++;
      if (begun === 3) client.world.clock.atMs += 10_000;
      if (begun === 8) client.world.clock.atMs += 1;
    });
    const answers = await results(client, entries);
    expect(begun).toBe(8);
    const late = { status: 503, retryable: true, error: { code: 'STORE_UNAVAILABLE' } };
    expect(answers).toMatchObject([...Array<object>(8).fill({ status: 200 }), ...Array<object>(12).fill(late)]);
  });

  const ok = { token: 'x', fail: { error: 'x' } };

  it.each([
    ['no list', {}, 'settlements'],
    ['an empty list', { settlements: [] }, 'settlements'],
    ['101 entries', { settlements: Array.from({ length: 101 }, () => ok) }, 'settlements'],
    ['a field that is not known', { settlements: [ok], more: 1 }, ''],
    ['an entry that is no object', { settlements: [ok, null] }, 'settlements.1'],
    ['an entry without a token', { settlements: [ok, { fail: { error: 'x' } }] }, 'settlements.1.token'],
    ['an entry that asks for nothing', { settlements: [ok, ok, { token: 'x' }] }, 'settlements.2'],
    [
      'an entry that asks for two things',
      { settlements: [{ ...ok, heartbeat: { extendBySeconds: 1 } }] },
      'settlements.0',
    ],
    ['a field of an entry that is not known', { settlements: [ok, { ...ok, more: 1 }] }, 'settlements.1'],
    [
      'an entry without a result',
      { settlements: [ok, { token: 'x', complete: { output: {} } }] },
      'settlements.1.complete.output.result',
    ],
    [
      'an entry with an empty error',
      { settlements: [{ token: 'x', fail: { error: '' } }] },
      'settlements.0.fail.error',
    ],
    [
      'an extension that is no number',
      { settlements: [{ token: 'x', heartbeat: { extendBySeconds: '1' } }] },
      'settlements.0.heartbeat.extendBySeconds',
    ],
  ])('refuses %s as a whole, names the place, and settles nothing', async (_what, body, path) => {
    const client = aRelay();
    const token = await aToken(client);
    const { settlements = [] } = body as { settlements?: readonly unknown[] };
    const before = client.world.dump();
    // The genuine entry comes first where there is room.
    const full = settlements.length === 0 || settlements.length > 100;
    const sent = full ? body : { ...body, settlements: [...settlements, { token, complete: done }] };
    const answer = await client.ask('POST', '/activities/external/batch', { body: sent });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [{ path }] } });
    expect(client.world.dump()).toBe(before);
  });

  it('takes 100 entries, and a body as large as one result may have', async () => {
    const client = aRelay();
    const sent = Array.from({ length: 100 }, () => ok);
    expect((await results(client, sent)).map(({ status }) => status)).toEqual(sent.map(() => 404));
    const ask = (body: string) => client.ask('POST', '/activities/external/batch', { body });
    const filled = JSON.stringify({ settlements: [ok] }).padEnd(4 * 1024 * 1024);
    expect((await ask(filled)).status).toBe(200);
    expect((await ask(`${filled} `)).status).toBe(413);
    expect((await client.ask('POST', '/activities/external/batch?x=1', { body: { settlements: [ok] } })).status).toBe(
      400,
    );
  });
});
