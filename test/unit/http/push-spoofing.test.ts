import { beforeEach, describe, expect, it } from 'vitest';
import { bearerWebhook, githubWebhook, secret, standardWebhook, stripeWebhook } from '../../../lib/index.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { aPushedTask, hmac, type Pushed, type PushWorld, statusBody, values } from './pushes.js';

// Pushes of strangers: each through the real handler of the API, and after each the wait is open and nothing was read.

beforeEach(() => {
  for (const name of Object.keys(values)) Reflect.deleteProperty(values, name);
});

const refusal = '{"error":{"code":"UNAUTHORIZED","message":"the sender is not known here"}}';

/** Checks that a request was refused like every other, and changed nothing. */
async function expectRefused(world: PushWorld, pushed: Pushed): Promise<void> {
  const before = world.dump();
  expect(await world.push(pushed)).toEqual({ status: 401, body: refusal });
  await expectUntouched(world, before);
  expect(world.counts).toEqual({ PushAuthFailures: 1 });
}

async function expectUntouched(world: PushWorld, before: string): Promise<void> {
  expect(world.dump()).toBe(before);
  expect(world.pokes()).toEqual([]);
  expect((await world.deps.store.tokens.read(world.runId, '1'))?.settlement).toBeUndefined();
}

const others = new TokenKeys([{ keyId: 'k1', secret: new Uint8Array(32).fill(8) }]);

describe('the secret of a call', () => {
  const rows: readonly (readonly [string, (world: PushWorld) => Pushed])[] = [
    ['missing', () => ({ headers: {} })],
    ['empty', () => ({ headers: { 'x-a2a-notification-token': '' } })],
    ['wrong', () => ({ headers: { 'x-a2a-notification-token': 'x'.repeat(43) } })],
    ['cut short', ({ secret: own }) => ({ headers: { 'x-a2a-notification-token': own.slice(0, -1) } })],
    ['with something behind it', ({ secret: own }) => ({ headers: { 'a2a-notification-token': `${own}A` } })],
    ['in another scheme', ({ secret: own }) => ({ headers: { authorization: `Basic ${own}` } })],
    ['without a scheme', ({ secret: own }) => ({ headers: { authorization: own } })],
    ['under another name', ({ secret: own }) => ({ headers: { 'x-notification-token': own } })],
    ['twice in one header', ({ secret: own }) => ({ headers: { 'x-a2a-notification-token': `${own},${own}` } })],
    ['twice as bearer token', ({ secret: own }) => ({ headers: { authorization: `Bearer ${own}, Bearer ${own}` } })],
    [
      'that is the MAC of the address',
      ({ token }) => ({ headers: { authorization: `Bearer ${token.split('.')[3]}` } }),
    ],
    ['that is the push token', ({ token }) => ({ headers: { authorization: `Bearer ${token}` } })],
    [
      'that is the settle token',
      ({ deps, runId }) => ({
        headers: { authorization: `Bearer ${deps.tokens.settleToken({ runId, waitId: '1' })}` },
      }),
    ],
    [
      "of another call's task",
      ({ deps, runId }) => ({
        headers: {
          'x-a2a-notification-token': deps.tokens.pushToken({ runId, waitId: '2', server: 'agent' }).secret,
        },
      }),
    ],
    [
      'of another server',
      ({ deps, runId }) => ({
        headers: {
          'x-a2a-notification-token': deps.tokens.pushToken({ runId, waitId: '1', server: 'other' }).secret,
        },
      }),
    ],
    [
      'of another deployment',
      ({ runId }) => ({
        headers: { 'x-a2a-notification-token': others.pushToken({ runId, waitId: '1', server: 'agent' }).secret },
      }),
    ],
  ];
  it.each(rows)('%s: refused, and the wait stays open', async (_, pushed) => {
    const world = await aPushedTask();
    await expectRefused(world, pushed(world));
  });

  it('opens no door of a relay, and a settle token no door of a push', async () => {
    const world = await aPushedTask();
    const settle = world.deps.tokens.settleToken({ runId: world.runId, waitId: '1' });
    expect(() => world.deps.tokens.parseSettleToken(world.token)).toThrow('no wait is known');
    expect(world.deps.tokens.parsePushToken(settle, ['agent'])).toBeUndefined();
    await expectRefused(world, { token: settle });
  });
});

describe('the address of a push', () => {
  const rows: readonly (readonly [string, (world: PushWorld) => string])[] = [
    ['of no token', () => 'x'],
    ['with another MAC', ({ token }) => `${token.slice(0, -1)}${token.endsWith('A') ? 'E' : 'A'}`],
    ['with another spelling of its MAC', ({ token }) => `${token}=`],
    ['of another deployment', ({ runId }) => others.pushToken({ runId, waitId: '1', server: 'agent' }).token],
    [
      'for a server that this app does not have',
      ({ deps, runId }) => deps.tokens.pushToken({ runId, waitId: '1', server: 'gone' }).token,
    ],
    ['moved to another wait', ({ token }) => token.replace('.1.', '.2.')],
    ['with a key that is unknown', ({ token }) => token.replace('.k1.', '.k2.')],
  ];
  it.each(rows)('%s: refused, although the secret is right', async (_, token) => {
    const world = await aPushedTask();
    await expectRefused(world, { token: token(world) });
  });

  it('of another server, with the credential of that one: unknown, and nothing is read', async () => {
    const world = await aPushedTask();
    const before = world.dump();
    const { token, secret: own } = world.deps.tokens.pushToken({ runId: world.runId, waitId: '1', server: 'other' });
    const { status } = await world.push({ token, headers: { authorization: `Bearer ${own}` } });
    expect(status).toBe(404);
    await expectUntouched(world, before);
  });
});

describe('a push about another task', () => {
  const bodies: readonly (readonly [string, (taskId: string) => unknown])[] = [
    ['another id', () => JSON.parse(statusBody('task-of-another')) as unknown],
    ['no id', () => ({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })],
    ['an id that is no text', (taskId) => ({ task: { id: [taskId], status: { state: 'TASK_STATE_COMPLETED' } } })],
    ['two objects', (taskId) => ({ task: { id: taskId }, statusUpdate: { taskId } })],
    ['an id beside the object', (taskId) => ({ id: taskId, statusUpdate: { status: {} } })],
    ['an unknown kind', (taskId) => ({ kind: 'result', id: taskId, status: { state: 'completed' } })],
    [
      'an envelope in an envelope',
      (taskId) => ({ jsonrpc: '2.0', result: { jsonrpc: '2.0', result: { id: taskId } } }),
    ],
  ];
  it.each(bodies)('by %s: accepted, counted, and nothing is read', async (_, body) => {
    const world = await aPushedTask();
    const before = world.dump();
    expect(await world.push({ body: JSON.stringify(body(world.taskId)) })).toEqual({ status: 202, body: '' });
    await expectUntouched(world, before);
    expect(world.counts).toEqual({ 'PushesReceived mismatch': 1 });
  });
});

describe('a push that an agent signs', () => {
  const auth = { pushAuth: githubWebhook({ secret: secret('NEW') }) };
  const github = (body: string, key = 'canary new secret') => ({
    'x-github-delivery': 'd-1',
    'x-hub-signature-256': `sha256=${hmac(key, body)}`,
  });
  beforeEach(() => {
    values['NEW'] = 'canary new secret';
  });

  it('is verified over its raw bytes, also from base64', async () => {
    const world = await aPushedTask(auth);
    const body = `{ "statusUpdate" : {"taskId":"${world.taskId}", "x":"\u00fc", "status":{"state":"TASK_STATE_FAILED"}} }`;
    expect(await world.push({ body, headers: github(body), base64: true })).toMatchObject({ status: 202 });
    expect(world.pokes()).toMatchObject([{ saidEnded: true }]);
    const other = await aPushedTask(auth);
    // The same value, but other bytes.
    await expectRefused(other, { body: JSON.stringify(JSON.parse(body)), headers: github(body), base64: true });
  });

  it.each([
    ['the body was swapped', (taskId: string) => ({ body: statusBody(taskId), headers: github(statusBody('x')) })],
    ['the key is another', (taskId: string) => ({ headers: github(statusBody(taskId), 'canary old secret') })],
    [
      'the signature came twice',
      (taskId: string) => {
        const headers = github(statusBody(taskId));
        const signature = headers['x-hub-signature-256'];
        return { headers: { ...headers, 'x-hub-signature-256': `${signature},${signature}` } };
      },
    ],
    ['the signature is empty', () => ({ headers: { ...github(''), 'x-hub-signature-256': 'sha256=' } })],
  ] as const)('is refused if %s', async (_, pushed) => {
    const world = await aPushedTask(auth);
    await expectRefused(world, pushed(world.taskId));
  });

  it('does not come with the secret of the call instead', async () => {
    const world = await aPushedTask(auth);
    await expectRefused(world, { headers: { 'x-a2a-notification-token': world.secret } });
  });

  it.each([
    [301, 'expired'],
    [-61, 'from the future'],
  ])('is refused %d s after its time: %s', async (ageSeconds) => {
    values['WEBHOOK'] = 'whsec_c2VjcmV0IG9mIGEgd2ViaG9vaw==';
    for (const pushAuth of [
      standardWebhook({ secret: secret('WEBHOOK') }),
      stripeWebhook({ secret: secret('WEBHOOK') }),
    ]) {
      const world = await aPushedTask({ pushAuth });
      const seconds = String(world.clock.atMs / 1_000 - ageSeconds);
      const body = statusBody(world.taskId);
      const { createHmac } = await import('node:crypto');
      const key = Buffer.from('c2VjcmV0IG9mIGEgd2ViaG9vaw==', 'base64');
      const signature = createHmac('sha256', key).update(`m-1.${seconds}.${body}`).digest('base64');
      await expectRefused(world, {
        headers:
          pushAuth.scheme === 'stripe'
            ? { 'stripe-signature': `t=${seconds},v1=${hmac(values['WEBHOOK'], `${seconds}.${body}`)}` }
            : { 'webhook-id': 'm-1', 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` },
      });
    }
  });

  it('replayed: reads the task once more at most, and settles nothing', async () => {
    const world = await aPushedTask(auth);
    const body = statusBody(world.taskId);
    for (let times = 0; times < 3; times++)
      expect(await world.push({ body, headers: github(body) })).toMatchObject({ status: 202 });
    expect(world.pokes()).toHaveLength(1);
    expect((await world.deps.store.tokens.read(world.runId, '1'))?.settlement).toBeUndefined();
  });

  it('is verified by any of several proofs', async () => {
    values['TOKEN'] = 'canary token';
    const both = { pushAuth: [auth.pushAuth, bearerWebhook({ secret: secret('TOKEN') })] };
    const world = await aPushedTask(both);
    expect(await world.push({ headers: { authorization: 'Bearer canary token' } })).toMatchObject({ status: 401 });
    values['TOKEN'] = 'canary-token';
    const again = await aPushedTask(both);
    expect(await again.push({ headers: { authorization: 'Bearer canary-token' } })).toMatchObject({ status: 202 });
  });

  it('is answered with 503 while its secret cannot be read, and refused by another proof that can', async () => {
    const world = await aPushedTask(auth);
    values['NEW'] = undefined;
    const before = world.dump();
    const { status } = await world.push({ headers: github(statusBody(world.taskId)) });
    expect(status).toBe(503);
    await expectUntouched(world, before);
  });
});
