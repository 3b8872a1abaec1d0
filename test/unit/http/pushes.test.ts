import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import { secret, standardWebhook, a2aAgent, defineApp } from '../../../lib/index.js';
import { aPushedTask, type PushWorld, statusBody, values } from './pushes.js';

// Pushes of agents that prove themselves, through the real handler of the API.

const tokenOf = async (world: PushWorld) => (await world.deps.store.tokens.read(world.runId, '1'))!;
const poked = (world: PushWorld, more: object = {}) => [
  { kind: 'poll', runId: world.runId, waitId: '1', server: 'agent', ...more },
];

describe('a push that proves itself', () => {
  it.each([
    ['X-A2A-Notification-Token', (own: string) => ({ 'X-A2A-Notification-Token': own })],
    ['A2A-Notification-Token', (own: string) => ({ 'A2A-Notification-Token': own })],
    ['Authorization', (own: string) => ({ authorization: `Bearer ${own}` })],
    [
      'Authorization, and an empty token',
      (own: string) => ({ authorization: `bearer ${own}`, 'a2a-notification-token': '' }),
    ],
  ])('by %s has the task read now', async (_, headers) => {
    const world = await aPushedTask();
    expect(await world.push({ headers: headers(world.secret) })).toEqual({ status: 202, body: '' });
    expect(world.pokes()).toEqual(poked(world, { saidEnded: true }));
    expect(world.counts).toEqual({ 'PushesReceived poked': 1 });
  });

  it.each(['application/json', 'application/a2a+json; charset=utf-8', 'application/vnd.agent+json'])(
    'may be of the type %s',
    async (type) => {
      const world = await aPushedTask();
      const headers = { 'x-a2a-notification-token': world.secret, 'content-type': type };
      expect(await world.push({ headers, base64: true })).toMatchObject({ status: 202 });
      expect(world.pokes()).toHaveLength(1);
    },
  );

  it.each(['text/plain', 'application/jsonx', 'multipart/form-data'])('is refused as %s', async (type) => {
    const world = await aPushedTask();
    const headers = { 'x-a2a-notification-token': world.secret, 'content-type': type };
    expect(await world.push({ headers })).toMatchObject({ status: 415 });
    expect(world.pokes()).toEqual([]);
  });

  const ended = { saidEnded: true };
  it.each([
    [
      'the wrapper of 1.0 with a status',
      (id: string) => ({ statusUpdate: { taskId: id, status: { state: 'TASK_STATE_FAILED' } } }),
      ended,
    ],
    [
      'the wrapper of 1.0 with the task',
      (id: string) => ({ task: { id, status: { state: 'TASK_STATE_CANCELED' } } }),
      ended,
    ],
    ['the wrapper of 1.0 with a message', (id: string) => ({ message: { messageId: 'm', taskId: id, parts: [] } }), {}],
    ['the task of 0.3', (id: string) => ({ kind: 'task', id, status: { state: 'completed' } }), ended],
    ['the task of 0.3 without its kind', (id: string) => ({ id, status: { state: 'rejected' } }), ended],
    [
      'a status of 0.3',
      (id: string) => ({ kind: 'status-update', taskId: id, final: true, status: { state: 'input-required' } }),
      {},
    ],
    [
      'the last event of a stream of 0.3',
      (id: string) => ({ kind: 'status-update', taskId: id, final: true, status: { state: 'working' } }),
      {},
    ],
    ['a state that nobody knows', (id: string) => ({ task: { id, status: { state: 'TASK_STATE_PAUSED' } } }), {}],
    [
      'a result of JSON-RPC',
      (id: string) => ({
        jsonrpc: '2.0',
        id: '1',
        result: { task: { id, status: { state: 'TASK_STATE_COMPLETED' } } },
      }),
      ended,
    ],
    [
      'the params of JSON-RPC',
      (id: string) => ({ jsonrpc: '2.0', method: 'push', params: { kind: 'task', id, status: { state: 'failed' } } }),
      ended,
    ],
  ] as const)('reads %s', async (_, body, more) => {
    const world = await aPushedTask();
    expect(await world.push({ body: JSON.stringify(body(world.taskId)) })).toMatchObject({ status: 202 });
    expect(world.pokes()).toEqual(poked(world, more));
  });

  it.each([
    ['works', (id: string) => JSON.parse(statusBody(id, 'TASK_STATE_WORKING')) as unknown],
    ['is submitted', (id: string) => ({ kind: 'task', id, status: { state: 'submitted' } })],
    ['has a new piece', (id: string) => ({ artifactUpdate: { taskId: id, artifact: { parts: [] } } })],
  ])('and says that the task %s costs no read: it is only recorded, once', async (_, body) => {
    const world = await aPushedTask();
    world.clock.atMs += 30_000;
    for (let times = 0; times < 3; times++) {
      const before = world.dump();
      expect(await world.push({ body: JSON.stringify(body(world.taskId)) })).toMatchObject({ status: 202 });
      expect(world.dump() === before).toBe(times > 0);
      world.clock.atMs += 60_000;
    }
    expect(world.pokes()).toEqual([]);
    expect((await tokenOf(world)).pushedAtMs).toBe(world.clock.atMs - 180_000);
  });

  it.each([
    ['the object of 0.3', (id: string) => JSON.stringify({ kind: 'task', id, status: { state: 'working' } }), false],
    ['a body that is not parsed', () => 'x'.repeat(300_000), false],
    ['the wrapper of 1.0', (id: string) => statusBody(id, 'TASK_STATE_WORKING'), true],
  ])('while its start is answered promises further ones only in the form of 1.0: %s', async (_, body, isPromise) => {
    const world = await aPushedTask();
    world.clock.atMs = (await tokenOf(world)).createdAtMs + 29_999;
    await world.push({ body: body(world.taskId) });
    expect((await tokenOf(world)).pushedAtMs !== undefined).toBe(isPromise);
    world.clock.atMs += 1;
    await world.push({ body: body(world.taskId) });
    expect((await tokenOf(world)).pushedAtMs).toBe(world.clock.atMs - (isPromise ? 1 : 0));
  });

  it('that comes before the handle is recorded and pokes nothing: the first read follows the handle anyway', async () => {
    const world = await aPushedTask();
    const { tokens } = world.deps.store;
    const early = { ...(await tokenOf(world)), waitId: '7', dueAtMs: undefined, handle: undefined };
    const { handle: _handle, dueAtMs: _dueAtMs, ...starting } = early;
    await tokens.put(starting);
    const { token, secret: own } = world.deps.tokens.pushToken({ runId: world.runId, waitId: '7', server: 'agent' });
    const headers = { 'a2a-notification-token': own };
    expect(await world.push({ token, headers, body: statusBody('any') })).toMatchObject({ status: 202 });
    expect(world.pokes()).toEqual([]);
    expect(await tokens.read(world.runId, '7')).toMatchObject({ pushedAtMs: world.clock.atMs });
  });

  it('is taken and changes nothing once the wait has ended', async () => {
    const world = await aPushedTask();
    const outcome = { kind: 'completed', result: 1, isError: false } as const;
    const settlement = { writerId: 's', atMs: world.clock.atMs, by: 'relay', outcome } as const;
    await world.deps.store.tokens.settle(world.runId, '1', settlement);
    const before = world.dump();
    expect(await world.push()).toEqual({ status: 202, body: '' });
    expect([world.dump() === before, world.pokes()]).toEqual([true, []]);
  });

  it('of a wait that is not there is unknown, so that its sender may repeat it', async () => {
    const world = await aPushedTask();
    const { token, secret: own } = world.deps.tokens.pushToken({ runId: world.runId, waitId: '9', server: 'agent' });
    expect(await world.push({ token, headers: { 'a2a-notification-token': own } })).toMatchObject({ status: 404 });
  });

  it.each([
    ['no JSON', '{"task":'],
    ['no object', '[]'],
    ['too deep', '{"a":'.repeat(80) + '1' + '}'.repeat(80)],
  ])('is refused with %s', async (_, body) => {
    const world = await aPushedTask();
    const before = world.dump();
    expect(await world.push({ body })).toMatchObject({ status: 400 });
    expect([world.dump() === before, world.pokes()]).toEqual([true, []]);
  });
});

describe('a large push', () => {
  const large = `{"padding":"${'x'.repeat(256 * 1024)}`;

  it('is not parsed, and has the task read all the same', async () => {
    const world = await aPushedTask();
    expect(await world.push({ body: large })).toMatchObject({ status: 202 });
    expect(world.pokes()).toEqual(poked(world));
    expect(await world.push({ body: 'x'.repeat(4 * 1024 * 1024) })).toMatchObject({ status: 202 });
    expect(await world.push({ body: 'x'.repeat(4 * 1024 * 1024 + 1) })).toMatchObject({ status: 413 });
  });

  it('is refused without the secret, whatever its size', async () => {
    const world = await aPushedTask();
    expect(await world.push({ body: large, headers: {} })).toMatchObject({ status: 401 });
    expect(world.pokes()).toEqual([]);
  });

  it('is refused if it is signed: what it says belongs to the proof', async () => {
    const { createHmac } = await import('node:crypto');
    values['WEBHOOK'] = 'whsec_c2VjcmV0IG9mIGEgd2ViaG9vaw==';
    const world = await aPushedTask({ pushAuth: standardWebhook({ secret: secret('WEBHOOK') }) });
    const seconds = String(world.clock.atMs / 1_000);
    const key = Buffer.from('c2VjcmV0IG9mIGEgd2ViaG9vaw==', 'base64');
    const signed = (body: string) => ({
      'webhook-id': 'm-1',
      'webhook-timestamp': seconds,
      'webhook-signature': `v1,${createHmac('sha256', key).update(`m-1.${seconds}.${body}`).digest('base64')}`,
    });
    expect(await world.push({ body: large, headers: signed(large) })).toMatchObject({ status: 413 });
    expect(world.pokes()).toEqual([]);
    const small = statusBody(world.taskId);
    expect(await world.push({ body: small, headers: signed(small) })).toMatchObject({ status: 202 });
  });
});

describe('pokes of one task', () => {
  const waiting = 'TASK_STATE_INPUT_REQUIRED';

  it('are at most one a second for each process, and the last push is always covered', async () => {
    const world = await aPushedTask();
    const body = statusBody(world.taskId, waiting);
    await world.push({ body });
    expect(world.pokes()).toHaveLength(1);
    // Fifty pushes within a second: one poke, which is delivered after the last of them.
    for (let times = 0; times < 50; times++) {
      world.clock.atMs += 10;
      await world.push({ body });
      expect(world.pokes()).toEqual([]);
    }
    world.clock.atMs += 1_010;
    expect(world.pokes()).toHaveLength(1);
    await world.push({ body });
    expect(world.pokes()).toHaveLength(1);
  });

  it('are not covered by one that may have been delivered', async () => {
    const world = await aPushedTask();
    const body = statusBody(world.taskId, waiting);
    await world.push({ body });
    world.clock.atMs += 5;
    await world.push({ body });
    expect(world.pokes()).toHaveLength(1);
    world.clock.atMs += 1_000;
    expect(world.pokes()).toHaveLength(1);
  });

  it('that the queue refuses are answered with 503, and sent with the next push', async () => {
    const world = await aPushedTask();
    const sendWork = world.queues.sendWork.bind(world.queues);
    world.queues.sendWork = () => Promise.reject(new Error('no queue'));
    expect(await world.push()).toMatchObject({ status: 503 });
    world.queues.sendWork = sendWork;
    expect(await world.push()).toMatchObject({ status: 202 });
    expect(world.pokes()).toHaveLength(1);
  });

  it('are answered with 503 while the table is not there', async () => {
    const world = await aPushedTask();
    world.fault = new EngineError('STORE_UNAVAILABLE', 'no table');
    expect(await world.push()).toMatchObject({ status: 503 });
    world.fault = undefined;
    expect(world.pokes()).toEqual([]);
  });
});

describe('what the agent is given', () => {
  it('is derived: the same for each owner, valid for one wait, and good under a key that no longer signs', async () => {
    const world = await aPushedTask();
    const { tokens } = world.deps;
    const target = { runId: world.runId, waitId: '1', server: 'agent' };
    expect(tokens.pushToken(target)).toEqual(tokens.pushToken(target));
    const { TokenKeys } = await import('../../../lib/tokens/token-keys.js');
    const rotated = new TokenKeys([
      { keyId: 'k2', secret: new Uint8Array(32).fill(9) },
      { keyId: 'k1', secret: new Uint8Array(32).fill(7) },
    ]);
    Object.assign(world.deps, { tokens: rotated });
    expect(rotated.pushToken(target).token).not.toBe(world.token);
    expect(await world.push()).toMatchObject({ status: 202 });
  });

  it('names server, wait and our address, and no secret for an agent that signs', async () => {
    const { pushRegistrationOf } = await import('../../../lib/operations/remote-task/push-registration.js');
    const world = await aPushedTask();
    const wait = { runId: world.runId, waitId: '1' };
    expect(pushRegistrationOf(world.deps, 'agent', wait)).toBeUndefined();
    const reached = { ...world.deps, publicUrl: 'https://flows.example.com/base' };
    expect(pushRegistrationOf(reached, 'agent', wait)).toEqual({
      id: expect.stringMatching(/^outwait-[0-9a-f]{32}$/) as string,
      url: `https://flows.example.com/base/push/a2a/${world.token}`,
      secret: world.secret,
    });
    expect(pushRegistrationOf(reached, 'reports', wait)).toBeUndefined();
    const card = 'https://agent.example.com';
    const pushAuth = standardWebhook({ secret: 'whsec_eA==' });
    const servers = { agent: a2aAgent({ card, pushAuth }), never: a2aAgent({ card, push: 'never' }) };
    const others = { ...reached, app: defineApp({ workflows: [], servers }) };
    expect(pushRegistrationOf(others, 'agent', wait)).not.toHaveProperty('secret');
    expect(pushRegistrationOf(others, 'never', wait)).toBeUndefined();
  });
});
