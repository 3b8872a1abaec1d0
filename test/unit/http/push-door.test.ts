import type * as crypto from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { createGateway } from '../../../lib/local/api-gateway.js';
import { eventually } from '../../support/eventually.js';
import { anEvent } from './event.js';
import { aPushedTask, type PushWorld, statusBody } from './pushes.js';
import { doors, type Request } from './senders.js';

// What comes through the door of pushes beside the proof: headers twice and by the hundred, bodies that do not end, and
// how secrets are compared.

const compared = vi.hoisted(() => [] as [number, number][]);
vi.mock('node:crypto', async (load) => {
  const real = await load<typeof crypto>();
  const timingSafeEqual = (a: Uint8Array, b: Uint8Array): boolean => {
    compared.push([a.byteLength, b.byteLength]);
    return real.timingSafeEqual(a, b);
  };
  return { ...real, timingSafeEqual };
});

const refused = '{"error":{"code":"UNAUTHORIZED","message":"the sender is not known here"}}';
let world: PushWorld;
beforeEach(async () => {
  world = await aPushedTask();
});

const pathOf = (): string => `/push/a2a/${world.token}`;
const body = (): string => statusBody(world.taskId);

async function expectPending(before: string): Promise<void> {
  expect(world.dump()).toBe(before);
  expect(world.pokes()).toEqual([]);
  expect((await world.deps.store.tokens.read(world.runId, '1'))?.settlement).toBeUndefined();
}

describe.each(doors)('through %s', (_, door) => {
  const send = (headers: Request['headers']) => door(world, { path: pathOf(), body: body(), headers });

  it.each<[string, (own: string) => Request['headers']]>([
    ['the secret twice', (own) => ({ 'x-a2a-notification-token': [own, own] })],
    ['the secret after an empty one', (own) => ({ 'x-a2a-notification-token': ['', own] })],
    ['the secret before a wrong one', (own) => ({ 'a2a-notification-token': [own, 'x'] })],
    ['two bearer tokens', (own) => ({ authorization: [`Bearer ${own}`, 'Bearer x'] })],
    ['a secret of ten thousand characters', (own) => ({ 'a2a-notification-token': own.padEnd(10_000, 'A') })],
  ])('a push with %s is refused, and the wait stays open', async (_what, headersOf) => {
    const before = world.dump();
    const { status, text } = await send(headersOf(world.secret));
    expect([status, text]).toEqual([401, refused]);
    await expectPending(before);
  });

  it('nine hundred other headers change nothing', async () => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_value, n) => [`x-${n}`, '1']));
    const before = world.dump();
    const { status, text } = await send({ ...many, 'x-a2a-notification-token': 'wrong' });
    expect([status, text]).toEqual([401, refused]);
    await expectPending(before);
    expect((await send({ ...many, 'x-a2a-notification-token': world.secret })).status).toBe(202);
    expect(world.pokes()).toHaveLength(1);
  });
});

describe('an event of API Gateway', () => {
  const json = { 'content-type': 'application/json' };
  it.each<[string, (own: string) => Record<string, unknown>]>([
    ['a list as the value of a header', (own) => ({ 'x-a2a-notification-token': [own, own] })],
    ['one header in two spellings', (own) => ({ 'X-A2A-Notification-Token': own, 'x-a2a-notification-token': own })],
    ['an object as the value of a header', (own) => ({ 'x-a2a-notification-token': { own } })],
  ])('with %s is refused', async (_, headersOf) => {
    const before = world.dump();
    const headers = { ...json, ...headersOf(world.secret) } as Record<string, string>;
    const handle = apiHandler(() => world.deps, { byAuthorizer: true });
    const reply = await handle(anEvent({ method: 'POST', path: pathOf(), headers, body: body() }));
    expect([reply.statusCode, reply.body]).toEqual([401, refused]);
    await expectPending(before);
  });

  it('whose body is text although it says base64 is not read', async () => {
    const before = world.dump();
    const headers = { ...json, 'x-a2a-notification-token': world.secret };
    const handle = apiHandler(() => world.deps, { byAuthorizer: true });
    const event = anEvent({ method: 'POST', path: pathOf(), headers, body: body() });
    expect((await handle({ ...event, isBase64Encoded: true })).statusCode).toBe(400);
    await expectPending(before);
  });
});

describe('a push on a socket', () => {
  let server: Server;
  beforeEach(async () => {
    server = createGateway(
      apiHandler(() => world.deps, { loopbackOnly: true }),
      world.deps.log,
    );
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = (): number => (server.address() as AddressInfo).port;
  const sending = () =>
    httpRequest({
      port: port(),
      path: pathOf(),
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-a2a-notification-token': world.secret },
    });

  it('whose body comes in pieces is taken at its end, and holds up no other', async () => {
    const before = world.dump();
    const slow = sending();
    slow.write(body().slice(0, 10));
    await once(server, 'request');
    // Another one is answered while the first is open.
    const other = await fetch(`http://127.0.0.1:${port()}${pathOf()}`, { method: 'POST', body: '{}' });
    expect(other.status).toBe(415);
    await expectPending(before);
    slow.end(body().slice(10));
    const [response] = (await once(slow, 'response')) as [{ statusCode: number }];
    expect(response.statusCode).toBe(202);
    expect(world.pokes()).toHaveLength(1);
  });

  it('whose body breaks off changes nothing', async () => {
    const before = world.dump();
    const socket = connect(port(), '127.0.0.1');
    const head = `POST ${pathOf()} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 500\r\n`;
    socket.write(`${head}x-a2a-notification-token: ${world.secret}\r\n\r\n${body()}`);
    const [request] = (await once(server, 'request')) as [NodeJS.EventEmitter];
    const closed = once(request, 'close');
    socket.destroy();
    await closed.catch(() => undefined);
    await eventually(async () => {
      expect(world.lines.length).toBeGreaterThan(0);
      await Promise.resolve();
    });
    await expectPending(before);
    expect(JSON.stringify(world.lines)).not.toContain(world.secret);
  });

  it('with more than 16 KiB of headers is refused by the server itself', async () => {
    const before = world.dump();
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_value, n) => [`x-${n}`, '1']));
    const { status } = await fetch(`http://127.0.0.1:${port()}${pathOf()}`, {
      method: 'POST',
      headers: many,
      body: '{}',
    });
    expect(status).toBe(431);
    await expectPending(before);
  });
});

describe('the secret of a push', () => {
  it('is compared by digests of one length, all that are sent, and the same however much of it is right', async () => {
    const { secret } = world;
    const guesses = ['', 'x', secret.slice(0, -1), `${secret}A`, `${secret.slice(0, -1)}!`, 'y'.repeat(4_000), secret];
    const seen = new Set<string>();
    for (const guess of guesses) {
      compared.length = 0;
      const { status } = await world.push({
        headers: {
          'x-a2a-notification-token': guess,
          'a2a-notification-token': 'no',
          authorization: 'Bearer no',
        },
      });
      expect(status).toBe(guess === secret ? 202 : 401);
      expect(compared.filter(([a, b]) => a === 32 && b === 32)).toHaveLength(compared.length);
      seen.add(JSON.stringify(compared));
    }
    // The MAC of the address, and each text that was sent.
    expect(seen.size).toBe(1);
    expect(JSON.parse([...seen][0]!)).toHaveLength(compared.length);
    expect(compared.length).toBeGreaterThanOrEqual(4);
  });
});
