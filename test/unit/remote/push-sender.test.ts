import type { LookupFunction } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { GuardedHttpClient } from '../../../lib/remote/http/http.js';
import { HttpPushSender } from '../../../lib/remote/push/http-push-sender.js';
import { closeAll, serve } from './loopback.js';

afterEach(closeAll);

const clock = { nowMs: () => Date.UTC(2026, 0, 1) };
const body = '{"statusUpdate":{}}';

function resolvingTo(...turns: readonly string[]): LookupFunction {
  let asked = 0;
  return (_, __, callback) => {
    const address = turns[Math.min(asked++, turns.length - 1)] ?? '';
    callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
  };
}

function senderOf(options: ConstructorParameters<typeof GuardedHttpClient>[0]): HttpPushSender {
  return new HttpPushSender(new GuardedHttpClient(options), clock);
}

describe('a sender of pushes', () => {
  it('sends headers and body to this machine in local mode, and returns the status', async () => {
    const server = await serve((_, response) => {
      response.writeHead(429, { 'retry-after': '7' }).end('not read');
    });
    const answer = await senderOf({ allowLoopback: true }).send({ url: server.url, headers: { 'x-a': 'b' }, body });
    expect(answer).toEqual({ kind: 'answered', status: 429, retryAfterMs: 7_000 });
    expect(server.received).toMatchObject([{ text: body, headers: { 'x-a': 'b' } }]);
  });

  it('returns a redirect as it is, and sends nothing to its target (A2A-S20)', async () => {
    const target = await serve((_, response) => response.end());
    const server = await serve((_, response) => {
      response.writeHead(308, { location: target.url }).end();
    });
    const answer = await senderOf({ allowLoopback: true }).send({ url: server.url, headers: {}, body });
    expect(answer).toEqual({ kind: 'answered', status: 308 });
    expect(target.received).toEqual([]);
  });

  it('gives up a receiver that does not answer in time', async () => {
    const server = await serve(() => undefined);
    const slow = senderOf({ allowLoopback: true, limits: { totalMs: 50 } });
    expect(await slow.send({ url: server.url, headers: {}, body })).toEqual({ kind: 'failed' });
  });

  it.each([
    ['plain http', 'http://receiver.example/'],
    ['this machine', 'https://127.0.0.1/'],
    ['a private network in IPv6', 'https://[::ffff:10.0.0.1]/'],
    ['credentials of a cloud', 'https://169.254.169.254/'],
    ['no URL', 'receiver'],
    ['another scheme', 'ftp://receiver.example/'],
  ])('allows no push to %s (A2A-S20)', async (_, url) => {
    expect(await senderOf({ lookup: resolvingTo('93.184.216.34') }).allows(url)).toBe(false);
  });

  it('allows a name that has a public address, and one that has none now', async () => {
    expect(await senderOf({ lookup: resolvingTo('93.184.216.34') }).allows('https://receiver.example/')).toBe(true);
    const unknown: LookupFunction = (_, __, callback) => {
      callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), '');
    };
    expect(await senderOf({ lookup: unknown }).allows('https://receiver.example/')).toBe(true);
    expect(await senderOf({ lookup: resolvingTo('10.0.0.1') }).allows('https://receiver.example/')).toBe(false);
  });

  it('never dials a name that has become private since it was saved (A2A-S20)', async () => {
    const server = await serve((_, response) => response.end());
    const port = new URL(server.url).port;
    const sender = senderOf({ lookup: resolvingTo('93.184.216.34', '127.0.0.1') });
    const url = `https://receiver.example:${port}/`;
    expect(await sender.allows(url)).toBe(true);
    expect(await sender.send({ url, headers: {}, body })).toEqual({ kind: 'failed' });
    expect(server.connections()).toBe(0);
  });
});
