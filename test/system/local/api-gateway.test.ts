import { request as httpRequest } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { afterEach, describe, expect, it } from 'vitest';
import { type Log, silentLog } from '../../../lib/base/log.js';
import { createGateway } from '../../../lib/local/api-gateway.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function aGateway(
  result: APIGatewayProxyStructuredResultV2 | Error = { statusCode: 200, body: 'ok' },
  log: Log = silentLog,
) {
  const events: APIGatewayProxyEventV2[] = [];
  const server = createGateway(async (event) => {
    events.push(event);
    if (result instanceof Error) throw result;
    return result;
  }, log);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, events };
}

describe('the local HTTP API', () => {
  it('makes the event that API Gateway makes of a request', async () => {
    const { url, port, events } = await aGateway();
    await fetch(`${url}/runs/a%2Fb?x=1&y=%20&x=2`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Odd': 'Value', cookie: 'a=1; b=2', 'user-agent': 'test' },
      body: '{"text":"grüße"}',
    });
    expect(events).toEqual([
      {
        version: '2.0',
        routeKey: '$default',
        rawPath: '/runs/a%2Fb',
        rawQueryString: 'x=1&y=%20&x=2',
        cookies: ['a=1', 'b=2'],
        headers: expect.objectContaining({
          'content-type': 'application/json',
          'x-odd': 'Value',
          host: `127.0.0.1:${port}`,
        }) as unknown,
        queryStringParameters: { x: '1,2', y: ' ' },
        requestContext: expect.objectContaining({
          http: { method: 'POST', path: '/runs/a%2Fb', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'test' },
          stage: '$default',
        }) as unknown,
        body: '{"text":"grüße"}',
        isBase64Encoded: false,
      },
    ]);
    expect(events[0]!.headers).not.toHaveProperty('cookie');
  });

  it('sends a body that is no text as base64, and leaves out an empty one', async () => {
    const { url, events } = await aGateway();
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array([0, 255]),
    });
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array([0x22, 0xff, 0x22]),
    });
    await fetch(url);
    expect(events.map(({ body, isBase64Encoded }) => [body, isBase64Encoded])).toEqual([
      ['AP8=', true],
      ['Iv8i', true],
      [undefined, false],
    ]);
  });

  it('joins a header that is sent twice', async () => {
    const { port, events } = await aGateway();
    const pairs = ['x-odd: 1', 'x-odd: 2', 'authorization: Bearer a', 'authorization: Bearer b', 'host: 127.0.0.1'];
    const headers = pairs.flatMap((pair) => pair.split(': '));
    await new Promise<void>((resolve) => {
      httpRequest({ port, headers }, (response) => response.resume().once('end', resolve)).end();
    });
    expect(events[0]!.headers).toMatchObject({ 'x-odd': '1,2', authorization: 'Bearer a,Bearer b' });
  });

  it('answers with status, headers, cookies and a body in base64', async () => {
    const { url } = await aGateway({
      statusCode: 418,
      headers: { 'x-odd': 'v' },
      cookies: ['a=1', 'b=2'],
      body: 'AP8=',
      isBase64Encoded: true,
    });
    const response = await fetch(url);
    expect([response.status, response.headers.get('x-odd'), response.headers.getSetCookie()]).toEqual([
      418,
      'v',
      ['a=1', 'b=2'],
    ]);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array([0, 255]));
  });

  it('answers for a function that fails, without its text', async () => {
    const { url } = await aGateway(new Error('what failed'));
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([500, '{"message":"Internal Server Error"}']);
  });

  it.each([
    ['announced', (size: number) => new Uint8Array(size)],
    [
      'streamed',
      (size: number) =>
        new ReadableStream({
          start: (to) => {
            to.enqueue(new Uint8Array(size));
            to.close();
          },
        }),
    ],
  ])('refuses a body over 6 MiB that is %s', async (_how, body) => {
    const { url, events } = await aGateway();
    const send = (size: number) => fetch(url, { method: 'POST', body: body(size), duplex: 'half' });
    expect((await send(6 * 1024 * 1024)).status).toBe(200);
    const refused = await send(6 * 1024 * 1024 + 1).catch(() => undefined);
    // A client that is still sending may see the connection close instead of the answer.
    if (refused !== undefined) expect(refused.status).toBe(413);
    expect(events).toHaveLength(1);
  });

  it.each([
    ['GET http://evil.example.com/runs?x=1 HTTP/1.1', '/runs', 'x=1'],
    ['OPTIONS * HTTP/1.1', '/', ''],
    ['GET //runs?a?b HTTP/1.1', '//runs', 'a?b'],
  ])('takes the request line "%s"', async (line, path, query) => {
    const { port, events } = await aGateway();
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\nhost: x\r\nconnection: close\r\n\r\n`));
      socket.resume().once('close', () => {
        resolve();
      });
    });
    expect(events.map(({ rawPath, rawQueryString }) => [rawPath, rawQueryString])).toEqual([[path, query]]);
  });

  it('logs no error for a client that goes away in the middle of its body', async () => {
    let write: (line: readonly [level: string, event: string]) => void = () => undefined;
    const line = new Promise((resolve) => {
      write = resolve;
    });
    const note = (level: string) => (event: string) => {
      write([level, event]);
    };
    const log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
    const { port, events } = await aGateway(undefined, log);
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('POST /runs HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n');
    });
    // The server has seen the head of the request once it asks for the body.
    socket.once('data', () => socket.destroy());
    expect(await line).toEqual(['debug', 'request cut off by its client']);
    expect(events).toEqual([]);
  });
});
