import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { anEvent } from './event.js';
import { aWorld } from './world.js';

const garbage = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(
    '{',
    '[',
    '"',
    '{"a":}',
    'nul',
    '\u0000',
    '[1,]',
    '{"a":1}}',
    '['.repeat(5_000),
    '{"a":'.repeat(100),
    'NaN',
    '1e999',
    '"\\ud800"',
  ),
);
const wrongJson = fc.oneof(
  fc
    .jsonValue({ maxDepth: 4 })
    .filter(
      (value) => typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length > 0,
    ),
  fc.constantFrom<object>(
    { workflow: null },
    { workflow: 'echo', input: { text: 5 } },
    { workflow: 'echo', input: { text: 'x' }, key: '' },
    { workflow: 'echo', input: { text: 'x' }, key: 'x'.repeat(256) },
    { workflow: 'nope' },
    { workflow: 'x'.repeat(10_000) },
    { workflow: ['echo'] },
    { reason: 5 },
    { requestId: '../..' },
    { requestId: '' },
    { output: null },
    { output: { isError: true } },
    { output: { result: 1, isError: 'yes' } },
    { output: { result: 1 }, more: 1 },
    { error: 5 },
    { error: 'x', retryable: 'maybe' },
    { error: 'x', output: { result: 1 } },
    { settlements: [] },
    { settlements: {} },
    { settlements: [null] },
    { settlements: [{ token: 'x' }] },
    { settlements: [{ complete: { output: { result: 1 } } }] },
    { settlements: [{ token: 'x', fail: { error: 'x' }, heartbeat: { extendBySeconds: 1 } }] },
    { settlements: [{ token: 'x', fail: { error: '' } }] },
    { settlements: Array.from({ length: 101 }, () => ({ token: 'x', fail: { error: 'x' } })) },
    { workflow: 'echo', input: { text: 'x' }, delay: 5 },
    { workflow: 'echo', input: { text: 'x' }, delay: {} },
    { workflow: 'echo', input: { text: 'x' }, timeout: { days: 1e9 } },
    { workflow: 'echo', input: { text: 'x' }, tags: { a: 1 } },
    { workflow: 'echo', input: { text: 'x' }, signal: { name: 's' } },
    { workflow: 'echo', input: { text: 'x' }, key: 'k', signal: { name: '' } },
    { key: '' },
    { key: 5, payload: 1 },
    { key: 'x'.repeat(129) },
    { payload: 1, more: 1 },
    { input: 1, more: 1 },
    JSON.parse('{"__proto__":{"workflow":"echo"},"constructor":{"prototype":{}},"x":1}') as object,
  ),
);
const body = fc.oneof(
  garbage,
  wrongJson.map((value) => JSON.stringify(value)),
);

const badId = fc.oneof(
  fc.constantFrom('x', '%00', '%ff', '%', '..', '0'.repeat(32), 'A'.repeat(32), '%2e%2e%2f', 'é'),
  fc.string({ maxLength: 60 }),
);
const badToken = fc.oneof(
  badId,
  fc.constantFrom(`${'a'.repeat(32)}.1.k1.${'A'.repeat(43)}`, '....', `${'a'.repeat(32)}.0.k1.x`),
);
const badQuery = fc.oneof(
  fc.constantFrom(
    'limit=0',
    'limit=-1',
    'limit=1e9',
    'status=x',
    'cursor=x',
    'cursor=running.%00',
    'run=x',
    'a=b',
    '%',
    '%ff=%ff',
    'limit=1&limit=1',
    '=',
    '&&x',
    'tag=x',
    'tag=:',
    'after=-1',
    'after=1&after=1',
    'taskId=x',
    'server=&taskId=x',
    'server=x&taskId=',
    'server=x&server=y',
    'limit=1e3&after=0',
  ),
  fc.string({ minLength: 1, maxLength: 40 }).map((text) => `x${text}`),
);
const headers = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'content-length',
    'authorization',
    'idempotency-key',
    'accept',
    'x-odd',
    'expect',
    'transfer-encoding',
  ),
  fc.oneof(
    fc.constantFrom(
      'application/json',
      'text/plain',
      'application/json; charset=utf-16',
      '',
      '-1',
      '99999999999',
      'NaN',
      'chunked',
    ),
    fc.string({ maxLength: 40 }),
  ),
  { maxKeys: 4 },
);
/** Declares JSON, so that the check of the content is reached. */
const json = fc.constant({ 'content-type': 'application/json' });
const withBearer = (authorization: string) => ({ 'content-type': 'application/json', authorization });
const badAuthorization = (token: string) =>
  fc.oneof(
    badToken.filter((text) => /^[\x20-\x7e]*$/.test(text)).map((text) => `Bearer ${text}`),
    fc.constantFrom('', token, `Basic ${token}`, `Bearer ${token},Bearer ${token}`, `Bearer ${token} ${token}`),
    fc.constantFrom(`Bearer ${token},x`, `Bearer ${token}=`, `Bearer ${token}.x`, `Bearer\t${token}`),
  );

interface Malformed {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: string | undefined;
  readonly headers: Record<string, string>;
  readonly base64: boolean;
}

it('1,000 malformed requests over all routes get a 4xx and change nothing', async () => {
  const world = aWorld();
  const handler = apiHandler(() => world.deps);
  const send = (request: Malformed) => handler(anEvent(request));
  const started = await send({
    method: 'POST',
    path: '/runs',
    query: '',
    body: '{"workflow":"waits"}',
    headers: { 'content-type': 'application/json' },
    base64: false,
  });
  const { runId } = JSON.parse(started.body!) as { runId: string };
  await world.runTurns();
  const token = world.deps.tokens.settleToken({ runId, waitId: '1' });
  const before = world.dump();
  expect(before).toContain(runId);

  const request = (parts: {
    method?: fc.Arbitrary<string>;
    path: fc.Arbitrary<string>;
    query?: fc.Arbitrary<string>;
    body?: fc.Arbitrary<string | undefined>;
    headers?: fc.Arbitrary<Record<string, string>>;
  }) =>
    fc.record({
      method: parts.method ?? fc.constant('POST'),
      path: parts.path,
      query: parts.query ?? fc.constant(''),
      body: parts.body ?? fc.constant(undefined),
      headers: parts.headers ?? fc.oneof(json, headers),
      base64: fc.boolean(),
    });
  const malformed: fc.Arbitrary<Malformed> = fc.oneof(
    request({ path: fc.constant('/runs'), body }),
    request({
      path: fc.constantFrom(
        ...['cancel', 'terminate', 'pause', 'resume', 'retry-now', 'signals/say', 'queries/said'].map(
          (action) => `/runs/${runId}/${action}`,
        ),
      ),
      body: body.filter((text) => text !== ''),
    }),
    request({ path: fc.constantFrom(`/runs/${runId}/waits/1/settle`, `/runs/${runId}/waits/2/settle`), body }),
    request({ path: badId.map((id) => `/runs/${runId}/waits/${id}/settle`), body }),
    request({
      path: fc
        .tuple(badId, fc.constantFrom('cancel', 'pause', 'signals/say', 'queries/said', 'waits/1/settle'))
        .map(([id, action]) => `/runs/${id}/${action}`),
      body,
    }),
    request({
      path: fc
        .constantFrom('n'.repeat(129), 'é'.repeat(128), '%C3%A9'.repeat(200))
        .map((name) => `/runs/${runId}/signals/${name}`),
    }),
    request({
      path: fc.constantFrom(`/activities/external/${token}/complete`, `/activities/external/${token}/fail`),
      body,
    }),
    request({
      path: fc
        .tuple(badToken, fc.constantFrom('complete', 'fail'))
        .map(([id, action]) => `/activities/external/${id}/${action}`),
      body,
    }),
    request({
      path: fc.constantFrom('complete', 'fail', 'heartbeat', 'batch').map((action) => `/activities/external/${action}`),
      body,
    }),
    request({
      path: fc.constantFrom('complete', 'fail', 'heartbeat').map((action) => `/activities/external/${action}`),
      body,
      headers: fc.constantFrom(`Bearer ${token}`, `bearer  ${token} `).map(withBearer),
    }),
    request({
      path: fc.constantFrom('complete', 'fail', 'heartbeat').map((action) => `/activities/external/${action}`),
      body: fc.constantFrom('{"output":{"result":1}}', '{"error":"x"}', '{"extendBySeconds":60}'),
      headers: badAuthorization(token).map(withBearer),
    }),
    request({
      method: fc.constant('GET'),
      path: fc.constantFrom(
        '/runs',
        '/activities/external',
        ...['', '/history', '/why'].map((view) => `/runs/${runId}${view}`),
      ),
      query: badQuery,
    }),
    request({
      method: fc.constant('GET'),
      path: fc.tuple(badId, fc.constantFrom('history', 'why')).map(([id, view]) => `/runs/${id}/${view}`),
    }),
    request({
      method: fc.constantFrom('PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT', 'BREW', 'post '),
      path: fc.constantFrom('/runs', '/healthz', `/runs/${runId}/cancel`, '/'),
      body,
    }),
    request({
      method: fc.constantFrom('GET', 'POST'),
      path: fc.string({ unit: 'binary', maxLength: 60 }).map((text) => `/x${text}`),
      query: badQuery,
      body,
    }),
  );

  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(malformed, async (given) => {
      const { statusCode = 0, body: answered = '' } = await send(given);
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
      expect(statusCode).toBeGreaterThanOrEqual(400);
      expect(statusCode).toBeLessThan(500);
      if (given.method !== 'HEAD')
        expect((JSON.parse(answered) as { error: { code: string } }).error.code).toMatch(/^[A-Z_]+$/);
      expect(answered).not.toContain(token);
      expect(answered.length).toBeLessThan(20_000);
      expect(world.dump()).toBe(before);
    }),
    // The world is shared by all cases, so after a failure a smaller case would meet a changed store.
    { numRuns: 1_000, endOnFailure: true },
  );
  expect(world.queues.turn.size).toBe(0);
  // Each kind of refusal was reached.
  expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining([400, 401, 404, 405, 415]));
});
