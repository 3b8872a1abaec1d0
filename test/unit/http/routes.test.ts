import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import { createRoutes } from '../../../lib/http/routes.js';
import { aClient, errorOf, startedRun } from './client.js';
import { aWorld } from './world.js';

async function tokenOf(client: ReturnType<typeof aClient>, runId: string): Promise<string> {
  const { body } = await client.ask('GET', `/activities/external?run=${runId}`);
  return (body as { waits: { token: string }[] }).waits[0]!.token;
}

describe('POST /runs', () => {
  it('answers 201 with the run id and its place', async () => {
    const { ask } = aClient();
    const answer = await ask('POST', '/runs', { body: { workflow: 'echo', input: { text: 'hi' } } });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({ runId: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown });
    expect(answer.headers.get('location')).toBe(`/runs/${(answer.body as { runId: string }).runId}`);
  });

  it.each([
    ['in the body', { body: { workflow: 'echo', input: { text: 'hi' }, key: 'k' } }],
    ['in the header', { body: { workflow: 'echo', input: { text: 'hi' } }, headers: { 'Idempotency-Key': 'k' } }],
  ])('answers 200 with the first run for a repeated key %s', async (_where, init) => {
    const { ask, world } = aClient();
    const first = await ask('POST', '/runs', init);
    const before = world.dump();
    const second = await ask('POST', '/runs', init);
    expect(first.status).toBe(201);
    expect(second.status).toBe(200);
    expect(second.body).toEqual({ ...(first.body as object), deduplicated: true });
    expect(world.dump()).toBe(before);
  });

  it.each([
    ['an empty key', { key: '' }, {}],
    ['an empty key in the header', {}, { 'idempotency-key': '' }],
    ['a key and a delay', { key: 'k', delay: { minutes: 5 } }, {}],
    ['a key in the header and a delay', { delay: { minutes: 5 } }, { 'idempotency-key': 'k' }],
    ['a key, a delay and a signal', { key: 'k', delay: { minutes: 5 }, signal: { name: 's' } }, {}],
  ])('refuses %s and starts nothing (S0-162)', async (_what, fields, headers) => {
    const { ask, world } = aClient();
    const answer = await ask('POST', '/runs', {
      body: { workflow: 'echo', input: { text: 'hi' }, ...fields },
      headers,
    });
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'INPUT_INVALID']);
    expect(world.dump()).toBe('[]');
  });

  it('refuses two different keys', async () => {
    const { ask } = aClient();
    const answer = await ask('POST', '/runs', {
      body: { workflow: 'echo', key: 'a' },
      headers: { 'idempotency-key': 'b' },
    });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toEqual({ code: 'INPUT_INVALID', message: 'key and the header Idempotency-Key differ' });
  });

  it('says where the input of the workflow is wrong', async () => {
    const { ask, world } = aClient();
    const answer = await ask('POST', '/runs', { body: { workflow: 'echo', input: { text: 7 } } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [{ path: 'text' }] } });
    expect(world.dump()).toBe('[]');
  });

  it('answers 404 for a workflow that is not there', async () => {
    const answer = await aClient().ask('POST', '/runs', { body: { workflow: 'nope' } });
    expect([answer.status, errorOf(answer).code]).toEqual([404, 'WORKFLOW_NOT_FOUND']);
  });

  it('answers 413 for an input that cannot be stored', async () => {
    const answer = await aClient().ask('POST', '/runs', {
      body: { workflow: 'echo', input: { text: 'x'.repeat(2_097_152) } },
    });
    expect([answer.status, errorOf(answer).code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it.each([
    ['a missing workflow', {}, 'workflow'],
    ['an unknown field', { workflow: 'waits', inptu: {} }, ''],
    ['a workflow that is no text', { workflow: 7 }, 'workflow'],
    ['an empty key', { workflow: 'echo', key: '' }, 'key'],
    ['a key of 256 bytes', { workflow: 'echo', key: 'é'.repeat(128) }, 'key'],
    ['a list', [], ''],
    ['null', 'null', ''],
  ])('names what is wrong with %s', async (_what, body, path) => {
    const answer = await aClient().ask('POST', '/runs', { body });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [{ path }] } });
  });
});

describe('reading runs', () => {
  it('lists runs, filtered and in pages', async () => {
    const client = aClient();
    for (let n = 0; n < 3; n++) await startedRun(client, 'echo');
    client.world.clock.atMs += 1;
    const waiting = await startedRun(client, 'waits');
    const page = (await client.ask('GET', '/runs?limit=2')).body as { runs: { runId: string }[]; cursor: string };
    expect(page.runs[0]!.runId).toBe(waiting);
    expect(page.runs).toHaveLength(2);
    const next = (await client.ask('GET', `/runs?limit=10&cursor=${encodeURIComponent(page.cursor)}`)).body as {
      runs: unknown[];
    };
    expect(next.runs).toHaveLength(2);
    const completed = (await client.ask('GET', '/runs?status=completed&workflow=echo')).body as { runs: unknown[] };
    expect(completed.runs).toHaveLength(3);
  });

  it('shows a run with what it waits for', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const { status, body } = await client.ask('GET', `/runs/${runId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      runId,
      workflow: 'waits',
      status: 'running',
      waits: [{ kind: 'remoteTask', server: 'reports', name: 'export' }],
    });
  });

  it('shows the outcome of a run that has ended', async () => {
    const client = aClient();
    const runId = await startedRun(client, 'echo');
    const { body } = await client.ask('GET', `/runs/${runId}`);
    expect(body).toMatchObject({ status: 'completed', outcome: { status: 'completed', result: { said: 'x' } } });
  });

  it('gives the history in order', async () => {
    const client = aClient();
    const runId = await startedRun(client, 'echo');
    const { body } = await client.ask('GET', `/runs/${runId}/history`);
    expect((body as { events: { type: string }[] }).events.map(({ type }) => type)).toEqual([
      'RunStarted',
      'RunEnding',
      'RunEnded',
    ]);
  });

  it.each([
    '/runs/nope',
    `/runs/${'0'.repeat(32)}`,
    '/runs/%00',
    `/runs/${'A'.repeat(32)}/history`,
    '/activities/external?run=nope',
  ])('answers the same 404 for a run that is not there: %s', async (path) => {
    const answer = await aClient().ask('GET', path);
    expect(answer.status).toBe(404);
    expect(errorOf(answer)).toEqual({ code: 'RUN_NOT_FOUND', message: 'no run has this id' });
  });

  it.each([
    ['/runs?limit=0', 'limit'],
    ['/runs?limit=101', 'limit'],
    ['/runs?limit=1e1', 'limit'],
    ['/runs?status=done', 'status'],
    ['/runs?stauts=running', ''],
    ['/runs?workflow=', 'workflow'],
    ['/activities/external?after=', 'after'],
    [`/activities/external?run=${'0'.repeat(32)}&after=1.${'0'.repeat(32)}`, ''],
    ['/activities/external?page=2', ''],
    [`/runs/${'0'.repeat(32)}?x=1`, ''],
  ])('names the parameter that is wrong: %s', async (path, name) => {
    const answer = await aClient().ask('GET', path);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [{ path: name }] } });
  });

  it('refuses a parameter that is given twice and an invalid cursor', async () => {
    const { ask } = aClient();
    for (const path of [
      '/runs?limit=1&limit=2',
      '/runs?cursor=x',
      '/runs?cursor=running.x%00',
      '/activities/external?after=x',
    ]) {
      expect([path, (await ask('GET', path)).status]).toEqual([path, 400]);
    }
  });
});

describe('stopping a run', () => {
  it.each(['cancel', 'terminate'])('accepts a %s, with and without a body', async (kind) => {
    const client = aClient();
    const runId = await startedRun(client);
    const withBody = await client.ask('POST', `/runs/${runId}/${kind}`, {
      body: { reason: 'enough', requestId: 'r-1' },
    });
    expect([withBody.status, withBody.body]).toEqual([202, { accepted: true }]);
    const other = await startedRun(client);
    const without = await client.ask('POST', `/runs/${other}/${kind}`);
    expect([without.status, without.body]).toEqual([202, { accepted: true }]);
  });

  it('takes a repeated request once', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const body = { requestId: 'r-1' };
    await client.ask('POST', `/runs/${runId}/cancel`, { body });
    const before = client.world.dump();
    expect((await client.ask('POST', `/runs/${runId}/cancel`, { body })).body).toEqual({ accepted: true });
    expect(client.world.dump()).toBe(before);
  });

  it('accepts nothing for a run that has ended', async () => {
    const client = aClient();
    const runId = await startedRun(client, 'echo');
    const answer = await client.ask('POST', `/runs/${runId}/cancel`);
    expect([answer.status, answer.body]).toEqual([202, { accepted: false }]);
  });
});

describe('the routes of relays', () => {
  it('settle once, then say why not, always with 200', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const token = await tokenOf(client, runId);
    const complete = { body: { output: { result: { content: [] } } } };
    const first = await client.ask('POST', `/activities/external/${token}/complete`, complete);
    const second = await client.ask('POST', `/activities/external/${token}/fail`, { body: { error: 'no' } });
    expect([first.status, first.body]).toEqual([200, { settled: true }]);
    expect([second.status, second.body]).toEqual([200, { settled: false, reason: 'already_settled' }]);
    await client.world.runTurns();
    expect((await client.ask('GET', `/runs/${runId}`)).body).toMatchObject({
      outcome: { status: 'completed', result: { result: { content: [] }, isError: false } },
    });
  });

  it('say run_ended for a run that was terminated', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const token = await tokenOf(client, runId);
    await client.ask('POST', `/runs/${runId}/terminate`);
    await client.world.runTurns();
    const answer = await client.ask('POST', `/activities/external/${token}/complete`, {
      body: { output: { result: 1 } },
    });
    expect([answer.status, answer.body]).toEqual([200, { settled: false, reason: 'run_ended' }]);
  });

  it.each([
    [{ output: { result: 1, isError: true } }, true],
    [{ output: { result: 1, is_error: true } }, true],
    [{ output: { result: null } }, false],
  ])('take %j', async (body, isError) => {
    const client = aClient();
    const runId = await startedRun(client);
    const answer = await client.ask('POST', `/activities/external/${await tokenOf(client, runId)}/complete`, { body });
    expect(answer.body).toEqual({ settled: true });
    await client.world.runTurns();
    expect((await client.ask('GET', `/runs/${runId}`)).body).toMatchObject({ outcome: { result: { isError } } });
  });

  it.each([
    ['complete', {}, 'output'],
    ['complete', { output: {} }, 'output.result'],
    ['complete', { output: { result: 1, isError: 'no' } }, 'output.isError'],
    ['complete', { output: { result: 1 }, extra: 1 }, ''],
    ['fail', { error: '' }, 'error'],
    ['fail', { error: 'x', retryable: 'no' }, 'retryable'],
  ])('name what is wrong with %s %j', async (action, body, path) => {
    const client = aClient();
    const token = await tokenOf(client, await startedRun(client));
    const before = client.world.dump();
    const answer = await client.ask('POST', `/activities/external/${token}/${action}`, { body });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [{ path }] } });
    expect(client.world.dump()).toBe(before);
  });

  it('refuse both spellings with different values', async () => {
    const client = aClient();
    const token = await tokenOf(client, await startedRun(client));
    const answer = await client.ask('POST', `/activities/external/${token}/complete`, {
      body: { output: { result: 1, isError: true, is_error: false } },
    });
    expect([answer.status, errorOf(answer).message]).toEqual([400, 'output.isError and output.is_error differ']);
  });

  it('answer the same 404 for every wrong token, without a look at the store', async () => {
    const client = aClient();
    const token = await tokenOf(client, await startedRun(client));
    client.world.fault = new EngineError('STORE_UNAVAILABLE', 'must not be asked');
    const wrong = ['x', `${token}x`, token.replace(/\.1\./, '.2.'), token.slice(0, -1), token.toUpperCase(), '%F0%9F'];
    for (const given of wrong) {
      const answer = await client.ask('POST', `/activities/external/${given}/complete`, {
        body: { output: { result: 1 } },
      });
      expect([given, answer.status, answer.body]).toEqual([
        given,
        404,
        { error: { code: 'TOKEN_INVALID', message: 'no wait is known for this token' } },
      ]);
    }
  });
});

describe('the order of checks', () => {
  it('looks at the token before the body, the length before the type, the type before the JSON', async () => {
    const client = aClient();
    const token = await tokenOf(client, await startedRun(client));
    const path = (given: string): string => `/activities/external/${given}/complete`;
    const huge = 'x'.repeat(4 * 1024 * 1024 + 1);
    const text = { 'content-type': 'text/plain' };
    const long = { ...text, 'content-length': String(huge.length) };
    expect((await client.ask('POST', path('x'), { body: huge, headers: long })).status).toBe(404);
    expect((await client.ask('POST', path(token), { body: huge, headers: long })).status).toBe(413);
    expect((await client.ask('POST', path(token), { body: '{', headers: text })).status).toBe(415);
    expect((await client.ask('POST', path(token), { body: '{' })).status).toBe(400);
  });

  it('takes 1 MiB and not more where neither input nor result is sent', async () => {
    const client = aClient();
    const runId = await startedRun(client);
    const filled = '{}'.padEnd(1024 * 1024);
    expect((await client.ask('POST', `/runs/${runId}/signals/say`, { body: filled })).status).toBe(202);
    expect((await client.ask('POST', `/runs/${runId}/signals/say`, { body: `${filled} ` })).status).toBe(413);
  });

  it.each([
    ['no media type', { 'content-type': '' }, 415],
    ['another charset', { 'content-type': 'application/json; charset=latin1' }, 415],
    ['UTF-8 in other letters', { 'content-type': 'Application/JSON; Charset="UTF-8"' }, 201],
  ])('answers %s', async (_what, headers, status) => {
    expect(
      (await aClient().ask('POST', '/runs', { body: { workflow: 'echo', input: { text: '' } }, headers })).status,
    ).toBe(status);
  });

  it('refuses deep JSON, many keys, broken UTF-8', async () => {
    const { ask, world } = aClient();
    const app = createRoutes(world.deps);
    expect((await ask('POST', '/runs', { body: '['.repeat(65) + ']'.repeat(65) })).status).toBe(400);
    expect(
      (await ask('POST', '/runs', { body: `{${Array.from({ length: 10_001 }, (_, n) => `"${n}":1`).join()}}` })).status,
    ).toBe(400);
    const bytes = await app.request('/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array([0x22, 0xff, 0x22]),
    });
    expect([bytes.status, await bytes.json()]).toEqual([
      400,
      { error: { code: 'INPUT_INVALID', message: 'the body is not UTF-8' } },
    ]);
  });

  it('stops reading a body without an announced length at the limit', async () => {
    const { world } = aClient();
    let pieces = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pieces += 1;
        controller.enqueue(new Uint8Array(256 * 1024));
      },
    });
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: endless,
      duplex: 'half' as const,
    };
    expect((await createRoutes(world.deps).request('/runs', init)).status).toBe(413);
    // 4 MiB are 16 of them.
    expect(pieces).toBeLessThan(20);
  });
});

describe('routes that are not there', () => {
  it.each(['/', '/run', '/runs/', '/runs/a/b', '/activities', '/activities/external/x', '/local'])(
    'answers 404 for %s',
    async (path) => {
      const answer = await aClient().ask('GET', path);
      expect([answer.status, errorOf(answer).code]).toEqual([404, 'ROUTE_NOT_FOUND']);
    },
  );

  it.each([
    ['DELETE', '/runs', 'POST, GET, HEAD'],
    ['PUT', `/runs/${'0'.repeat(32)}`, 'GET, HEAD'],
    ['GET', `/runs/${'0'.repeat(32)}/cancel`, 'POST'],
    ['OPTIONS', '/runs', 'POST, GET, HEAD'],
    ['PATCH', '/activities/external/x/complete', 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
  ])('answers 405 with what is allowed for %s %s', async (method, path, allowed) => {
    const answer = await aClient().ask(method, path);
    expect([answer.status, answer.headers.get('allow'), errorOf(answer).code]).toEqual([
      405,
      allowed,
      'METHOD_NOT_ALLOWED',
    ]);
  });

  it('answers HEAD like GET', async () => {
    expect((await aClient().ask('HEAD', '/healthz')).status).toBe(200);
  });
});

describe('access', () => {
  const token = () => ['canary-management-token'];
  const bearer = (text: string) => ({ headers: { authorization: text } });

  it('asks for the bearer token on the management routes only', async () => {
    const client = aClient(aWorld(), { managementTokens: token });
    const refused = await client.ask('GET', '/runs');
    expect([refused.status, refused.headers.get('www-authenticate'), errorOf(refused).code]).toEqual([
      401,
      'Bearer',
      'UNAUTHORIZED',
    ]);
    for (const [method, path] of [
      ['POST', '/runs'],
      ['GET', '/runs/x'],
      ['POST', '/runs/x/cancel'],
      ['GET', '/activities/external?run=x'],
    ] as const) {
      expect([path, (await client.ask(method, path)).status]).toEqual([path, 401]);
    }
    expect((await client.ask('GET', '/healthz')).status).toBe(200);
    expect((await client.ask('POST', '/activities/external/x/complete', { body: {} })).status).toBe(404);
    expect((await client.ask('GET', '/runs', bearer('Bearer canary-management-token'))).status).toBe(200);
    expect((await client.ask('GET', '/runs', bearer('bearer canary-management-token'))).status).toBe(200);
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Bearer x',
    'Basic canary-management-token',
    'Bearer canary-management-token x',
    'canary-management-token',
  ])('refuses "%s"', async (header) => {
    const client = aClient(aWorld(), { managementTokens: token });
    expect((await client.ask('GET', '/runs', bearer(header))).status).toBe(401);
  });

  it('refuses every caller if a token is required and none is set', async () => {
    const client = aClient(aWorld(), { managementTokens: () => [] });
    expect((await client.ask('GET', '/runs')).status).toBe(401);
    expect((await client.ask('GET', '/runs', bearer('Bearer undefined'))).status).toBe(401);
  });

  it.each([
    [{ host: '127.0.0.1:4000' }, 200],
    [{ host: 'localhost:4000' }, 200],
    [{ host: '[::1]:4000' }, 200],
    [{ host: '127.0.0.1:4000', 'sec-fetch-site': 'same-origin' }, 200],
    [{ host: '127.0.0.1:4000', 'sec-fetch-site': 'none' }, 200],
    [{ host: 'evil.example.com' }, 403],
    [{ host: '127.0.0.1.evil.example.com' }, 403],
    [{}, 403],
    [{ host: '127.0.0.1', origin: 'https://evil.example.com' }, 403],
    [{ host: '127.0.0.1', origin: 'null' }, 403],
    [{ host: '127.0.0.1', 'sec-fetch-site': 'cross-site' }, 403],
  ])('lets pages of other sites do nothing on a laptop: %j gives %i', async (headers, status) => {
    const client = aClient(aWorld(), { loopbackOnly: true });
    const answer = await client.ask('GET', '/healthz', { headers });
    expect(answer.status).toBe(status);
  });

  it.each([
    [{ host: '127.0.0.1:4000', origin: 'http://127.0.0.1:4000' }, 200],
    [{ host: '[::1]:4000', origin: 'http://[::1]:4000' }, 200],
    [{ host: 'LOCALHOST', origin: 'http://localhost' }, 200],
    [{ host: '127.0.0.1:4000', origin: 'http://127.0.0.1:3000' }, 403],
    [{ host: '127.0.0.1:4000', origin: 'http://127.0.0.1' }, 403],
    [{ host: '127.0.0.1:4000', origin: 'http://localhost:4000' }, 403],
    [{ host: '127.0.0.1:4000', origin: 'https://127.0.0.1:4000' }, 403],
    [{ host: '127.0.0.1:4000', origin: 'http://127.0.0.1:4000.evil.example.com' }, 403],
    [{ host: '127.0.0.1:4000', origin: 'null' }, 403],
    [{ host: '127.0.0.1:4000', origin: '' }, 403],
    [{ host: '127.0.0.1:4000', 'sec-fetch-site': 'same-site' }, 403],
  ])('F95 lets pages of this very host and port alone in: %j gives %i', async (headers, status) => {
    const client = aClient(aWorld(), { loopbackOnly: true });
    expect((await client.ask('GET', '/healthz', { headers })).status).toBe(status);
  });

  describe('F95 with an origin that is let in', () => {
    const page = { host: '127.0.0.1:4000', origin: 'http://localhost:3000', 'sec-fetch-site': 'cross-site' };
    const client = aClient(aWorld(), { loopbackOnly: true, allowedOrigins: ['http://localhost:3000'] });
    const headersOf = (answer: { readonly headers: Headers }) =>
      Object.fromEntries([...answer.headers].filter(([name]) => /^access-control-|^vary$/.test(name)));

    it('its pages may read answers, refusals too', async () => {
      for (const [path, status] of [
        ['/healthz', 200],
        ['/nowhere', 404],
        [`/runs/${'0'.repeat(32)}`, 404],
      ] as const) {
        const answer = await client.ask('GET', path, { headers: page });
        expect([answer.status, headersOf(answer)]).toEqual([
          status,
          {
            'access-control-allow-origin': page.origin,
            'access-control-expose-headers': 'retry-after',
            vary: 'origin',
          },
        ]);
      }
    });

    it('is told before a request what it may send', async () => {
      const preflight = { ...page, 'access-control-request-method': 'POST' };
      const answer = await client.ask('OPTIONS', '/runs', { headers: preflight });
      expect([answer.status, headersOf(answer)]).toEqual([
        204,
        {
          'access-control-allow-headers': 'authorization, content-type, idempotency-key',
          'access-control-allow-methods': 'GET, POST',
          'access-control-allow-origin': page.origin,
          'access-control-allow-private-network': 'true',
          'access-control-max-age': '600',
          vary: 'origin',
        },
      ]);
    });

    it('no other one is, and none of them by another name of this machine', async () => {
      for (const headers of [
        { ...page, origin: 'http://localhost:3001' },
        { ...page, origin: 'null' },
        { ...page, host: 'evil.example.com' },
      ]) {
        const preflight = { ...headers, 'access-control-request-method': 'POST' };
        for (const answer of [
          await client.ask('GET', '/healthz', { headers }),
          await client.ask('OPTIONS', '/runs', { headers: preflight }),
        ])
          expect([answer.status, headersOf(answer)]).toEqual([403, {}]);
      }
    });
  });
});

describe('a store that fails', () => {
  it.each(['STORE_UNAVAILABLE', 'STORE_RESULT_UNKNOWN'] as const)('is a 503 that may be repeated: %s', async (code) => {
    const client = aClient();
    client.world.fault = new EngineError(code, 'hidden text of the store');
    for (const [method, path, body] of [
      ['GET', '/runs', undefined],
      ['POST', '/runs', { workflow: 'echo', input: { text: '' } }],
    ] as const) {
      const answer = await client.ask(method, path, body === undefined ? {} : { body });
      expect([answer.status, errorOf(answer).code, answer.headers.get('retry-after')]).toEqual([503, code, '2']);
      expect(JSON.stringify(answer.body)).not.toContain('hidden');
    }
  });

  it('tells the log and not the caller what an unexpected error is', async () => {
    const client = aClient();
    client.world.fault = new TypeError('hidden text') as unknown as EngineError;
    const answer = await client.ask('GET', '/runs');
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain('hidden');
    expect(errorOf(answer).code).toBe('INTERNAL');
    expect(client.world.lines.at(-1)).toMatchObject({
      level: 'error',
      event: 'request failed',
      fields: { error: { message: 'hidden text' } },
    });
  });
});
