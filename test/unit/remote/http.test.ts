import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo, LookupFunction } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { GuardedHttpClient, type HttpReply, type HttpRequest } from '../../../lib/remote/http/http.js';
import { closeAll, closedPort, httpClient, json, serve } from './loopback.js';

afterEach(closeAll);

const request = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  url,
  headers: {},
  body: '{}',
  ...more,
});

/** Starts a TCP server that handles each connection as the test says. */
async function rawServer(onConnection: (socket: Socket) => void): Promise<{ port: number; close: () => void }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

const resolvingTo =
  (...addresses: string[]): LookupFunction =>
  (_hostname, _options, callback) => {
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };

function errorOf(reply: HttpReply): { code: string; message: string } {
  if (reply.kind === 'reply') throw new Error('a reply came');
  return reply.error;
}

describe('GuardedHttpClient', () => {
  it('returns status, headers and text of any answer', async () => {
    const server = await serve((_, response) => {
      json(response, { a: 'é' }, 418, { 'X-Two': 'b' });
    });
    const reply = await httpClient().send(request(server.url, { headers: { 'x-one': 'a' }, body: '{"q":1}' }));
    expect(reply).toMatchObject({ kind: 'reply', status: 418, text: '{"a":"é"}', headers: { 'x-two': 'b' } });
    expect(server.received[0]).toMatchObject({
      text: '{"q":1}',
      headers: { 'x-one': 'a', 'accept-encoding': 'identity' },
    });
  });

  it('S0-41: answers a redirect as it is and sends nothing to its target', async () => {
    const target = await serve((_, response) => {
      json(response, {});
    });
    const server = await serve((_, response) => {
      response.writeHead(307, { location: target.url }).end();
    });
    expect(await httpClient().send(request(server.url, { headers: { authorization: 'Bearer x' } }))).toMatchObject({
      kind: 'reply',
      status: 307,
    });
    expect(target.connections()).toBe(0);
  });

  it('S0-42: gives up on a body over the cap while it streams', async () => {
    let written = 0;
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && written < 64 * 1024 * 1024) {
          written += 65_536;
          if (!response.write('x'.repeat(65_536))) break;
        }
      };
      response.on('drain', more);
      more();
    });
    const reply = await httpClient().send(request(server.url));
    expect(reply.kind).toBe('no_answer');
    expect(errorOf(reply)).toEqual({ code: 'PAYLOAD_TOO_LARGE', message: 'the answer is larger than 4194304 bytes' });
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });

  it('S0-42: gives up on a declared length over the cap', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '5242880' });
      response.write('x');
    });
    expect(errorOf(await httpClient().send(request(server.url))).message).toBe(
      'the answer is larger than 4194304 bytes',
    );
  });

  it('does not unpack a compressed body', async () => {
    const server = await serve((_, response) => {
      json(response, 'xxxx', 200, { 'content-encoding': 'gzip' });
    });
    const reply = await httpClient().send(request(server.url));
    expect(reply.kind).toBe('no_answer');
    expect(errorOf(reply).message).toBe('the answer is compressed, which was not requested');
  });

  it('keeps an error status whose body cannot be read', async () => {
    const server = await serve((_, response) => {
      json(response, 'xxxx', 503, { 'content-encoding': 'gzip', 'retry-after': '7' });
    });
    expect(await httpClient().send(request(server.url))).toMatchObject({
      kind: 'reply',
      status: 503,
      text: '',
      headers: { 'retry-after': '7' },
    });
  });

  it.each([
    ['hangs before the headers', () => undefined],
    [
      'drips its body',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '), 5);
        response.on('close', () => {
          clearInterval(timer);
        });
      },
    ],
  ])('S0-40: ends at the total deadline when the server %s', async (_name, answer) => {
    const server = await serve((_, response) => {
      answer(response);
    });
    const reply = await httpClient({ limits: { totalMs: 60 } }).send(request(server.url));
    expect(reply.kind).toBe('no_answer');
    expect(errorOf(reply)).toEqual({ code: 'REMOTE_UNREACHABLE', message: 'no answer came in time' });
  });

  it('says no_answer when the connection is reset after the request', async () => {
    const server = await serve((_, response) => {
      response.socket!.resetAndDestroy();
    });
    expect((await httpClient().send(request(server.url))).kind).toBe('no_answer');
  });

  it('says no_answer when the body is cut', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"a":', () => response.socket?.destroy());
    });
    expect((await httpClient().send(request(server.url))).kind).toBe('no_answer');
  });

  it('says no_answer when the caller aborts', async () => {
    const abort = new AbortController();
    const server = await serve(() => {
      abort.abort();
    });
    expect((await httpClient().send(request(server.url, { signal: abort.signal }))).kind).toBe('no_answer');
  });

  it('says not_sent when the connection is refused', async () => {
    const reply = await httpClient().send(request(`http://127.0.0.1:${await closedPort()}/`));
    expect(reply.kind).toBe('not_sent');
    expect(errorOf(reply)).toEqual({
      code: 'REMOTE_UNREACHABLE',
      message: 'no connection to the server (ECONNREFUSED)',
    });
  });

  it('says not_sent when the name is not known', async () => {
    const lookup: LookupFunction = (_hostname, _options, callback) => {
      callback(Object.assign(new Error('getaddrinfo ENOTFOUND canary.example'), { code: 'ENOTFOUND' }), '');
    };
    const reply = await httpClient({ lookup }).send(request('https://canary.example/'));
    expect(reply.kind).toBe('not_sent');
    expect(errorOf(reply).message).toBe('no connection to the server (ENOTFOUND)');
  });

  it('says not_sent when the connection breaks inside the TLS handshake, whatever the code', async () => {
    const server = await rawServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const reply = await httpClient().send(request(`https://127.0.0.1:${server.port}/`));
    server.close();
    expect(reply.kind).toBe('not_sent');
  });

  it('says not_sent when the TLS handshake does not end', async () => {
    const server = await rawServer(() => undefined);
    const reply = await httpClient({ limits: { connectMs: 60 } }).send(request(`https://127.0.0.1:${server.port}/`));
    server.close();
    expect(reply.kind).toBe('not_sent');
    expect(errorOf(reply).message).toBe('no connection to the server (UND_ERR_CONNECT_TIMEOUT)');
  });

  it.each([
    ['http to a public address', 'http://8.8.8.8/', {}],
    ['plain http to this machine', 'http://127.0.0.1:1/', {}],
    ['this machine', 'https://127.0.0.1:1/', {}],
    ['this machine in hex', 'https://0x7f000001:1/', {}],
    ['this machine as IPv6', 'https://[::1]:1/', {}],
    ['this machine as mapped IPv6', 'https://[::ffff:7f00:1]:1/', {}],
    ['this machine as IPv4-compatible IPv6', 'https://[::7f00:1]:1/', {}],
    ['a private network', 'https://10.0.0.1/', {}],
    ['cloud credentials', 'https://169.254.169.254/', { allowPrivateAddresses: true }],
    ['another protocol', 'ftp://8.8.8.8/', { allowPrivateAddresses: true }],
    ['no URL', 'reports', {}],
  ])('sends nothing to %s', async (_name, url, more) => {
    const reply = await new GuardedHttpClient().send(request(url, more));
    expect(reply.kind).toBe('not_sent');
    expect(errorOf(reply).code).toBe('CONFIG_INVALID');
    expect(errorOf(reply).message).not.toContain(url);
  });

  it('sends nothing to a name that resolves to a private address', async () => {
    const server = await serve((_, response) => {
      json(response, {});
    });
    const client = new GuardedHttpClient({ lookup: resolvingTo('127.0.0.1', '::1', '10.0.0.1') });
    const reply = await client.send(request(`https://rebound.example:${new URL(server.url).port}/`));
    expect(reply.kind).toBe('not_sent');
    expect(errorOf(reply)).toEqual({
      code: 'CONFIG_INVALID',
      message: 'the request was not sent: the host name of the server has no allowed address',
    });
    expect(server.connections()).toBe(0);
  });

  it('dials only the allowed ones among the addresses of a name', async () => {
    const server = await serve((_, response) => {
      json(response, {});
    });
    const client = httpClient({ lookup: resolvingTo('10.0.0.1', '127.0.0.1') });
    expect((await client.send(request(`http://mixed.example:${new URL(server.url).port}/`))).kind).toBe('reply');
  });

  it('reaches a private server that the configuration allows', async () => {
    const server = await serve((_, response) => {
      json(response, {});
    });
    const client = new GuardedHttpClient();
    expect((await client.send(request(server.url, { allowPrivateAddresses: true }))).kind).toBe('reply');
    expect((await client.send(request(server.url))).kind).toBe('not_sent');
    await client.close();
  });

  it.each([
    ['x-ok', 'canary\r\nx-injected: 1'],
    ['x-ok', 'canary\n'],
    ['x-ok', 'canary\u0000'],
    ['x-ok', 'canaryé'],
    ['x bad', 'canary'],
    ['', 'canary'],
  ])('S0-46: sends nothing with the header %j: %j', async (name, value) => {
    const server = await serve((_, response) => {
      json(response, {});
    });
    const reply = await httpClient().send(request(server.url, { headers: { [name]: value } }));
    expect(errorOf(reply).code).toBe('CONFIG_INVALID');
    expect(errorOf(reply).message).not.toContain('canary');
    expect(server.received).toEqual([]);
  });

  it('keeps a connection for later, but opens a fresh one on request', async () => {
    const server = await serve((_, response) => {
      json(response, {});
    });
    const client = httpClient();
    await client.send(request(server.url));
    await client.send(request(server.url, { freshConnection: true }));
    await client.send(request(server.url, { freshConnection: true }));
    expect(server.received.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'close', 'close']);
    expect(server.connections()).toBe(3);
  });

  it('S0-25: leaves a stream that stays open once enough has come', async () => {
    let closed: () => void = () => undefined;
    const closedByClient = new Promise<void>((resolve) => (closed = resolve));
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('one');
      response.on('close', closed);
    });
    const reply = await httpClient().send(
      request(server.url, { enough: (head, piece) => head.status === 200 && piece === 'one' }),
    );
    expect(reply).toMatchObject({ kind: 'reply', text: 'one' });
    await closedByClient;
  });
});

describe('K11: forms of an address that may not be dialled', () => {
  it.each([
    ['127.0.0.1 as one number', 'https://2130706433/'],
    ['127.0.0.1 in octal', 'https://0177.0.0.1/'],
    ['127.0.0.1 in hex', 'https://0x7f.0.0.1/'],
    ['127.0.0.1 in short', 'https://127.1/'],
    ['127.0.0.1 in full-width digits', 'https://１２７.0.0.1/'],
    ['0.0.0.0', 'https://0/'],
    ['a mapped private address', 'https://[::ffff:10.0.0.1]/'],
    ['a mapped address in hex', 'https://[::ffff:a9fe:a9fe]/'],
    ['a translated address (NAT64)', 'https://[64:ff9b::7f00:1]/'],
    ['6to4', 'https://[2002:7f00:1::]/'],
    ['Teredo', 'https://[2001::1]/'],
    ['a unique local address', 'https://[fd00::1]/'],
    ['a link-local address', 'https://[fe80::1]/'],
    ['a zone', 'https://[fe80::1%25eth0]/'],
    ['a shared address (RFC 6598)', 'https://100.64.0.1/'],
    ['a benchmark address (RFC 2544)', 'https://198.18.0.1/'],
    ['broadcast', 'https://255.255.255.255/'],
    ['multicast', 'https://224.0.0.1/'],
  ])('%s', async (_name, url) => {
    const lookup: LookupFunction = () => {
      throw new Error('a name was looked up');
    };
    const reply = await new GuardedHttpClient({ lookup }).send(request(url));
    expect([reply.kind, errorOf(reply).code]).toEqual(['not_sent', 'CONFIG_INVALID']);
  });

  it('the address that was checked is the one that is dialled, for each connection anew', async () => {
    const server = await serve((_, response) => {
      json(response, {});
    });
    const asked: string[][] = [['127.0.0.1'], ['10.0.0.1']];
    const lookup: LookupFunction = (hostname, options, callback) => {
      resolvingTo(...(asked.shift() ?? []))(hostname, options, callback);
    };
    const client = httpClient({ lookup });
    const url = `http://rebound.example:${new URL(server.url).port}/`;
    expect((await client.send(request(url, { freshConnection: true }))).kind).toBe('reply');
    expect((await client.send(request(url, { freshConnection: true }))).kind).toBe('not_sent');
    expect(asked).toEqual([]);
  });
});
