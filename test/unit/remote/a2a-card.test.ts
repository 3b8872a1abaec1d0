import { afterEach, describe, expect, it } from 'vitest';
import { agent, cardPath, handle, jsonRpc, rpcError, started, working } from './a2a-agent.js';
import { closeAll, json, result, serve } from './loopback.js';

afterEach(closeAll);

const start = { request: { kind: 'message', parts: [{ text: 'hi' }] }, idempotencyKey: 'k' } as const;
const rest = (origin: string) => [{ url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }];
const old = (origin: string) => [{ url: `${origin}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }];

describe('discovery', () => {
  it('GB-08: the card says where to start, and the handle what was spoken', async () => {
    const over = async (interfaces: (origin: string) => readonly object[], reply: object) => {
      const supplier = await agent(interfaces);
      supplier.answer = (request, response) => {
        if (request.body.method as string | undefined) result(response, request, reply);
        else json(response, reply);
      };
      const { kind, ...more } = await supplier.transport().start(start);
      return { trail: supplier.trail(), kind, handle: 'handle' in more ? more.handle : undefined };
    };
    expect(await over(jsonRpc, started)).toEqual({ trail: ['card', 'SendMessage'], kind: 'started', handle });
    expect(await over(rest, started)).toEqual({
      trail: ['card', 'POST /rest/message:send'],
      kind: 'started',
      handle: { ...handle, binding: 'HTTP+JSON' },
    });
    expect(await over(old, { ...working, kind: 'task' })).toEqual({
      trail: ['card', 'message/send'],
      kind: 'started',
      handle: { ...handle, wire: '0.3' },
    });
  });

  it('S2-25, S3-32: the card is read once for many starts and reads', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, request.body.method === 'SendMessage' ? started : working);
    };
    const transport = supplier.transport();
    await Promise.all([transport.start(start), transport.start(start)]);
    await transport.get(handle);
    await transport.cancel(handle);
    expect(supplier.trail().filter((entry) => entry === 'card')).toHaveLength(1);
  });

  it('a read after a cold start reads the card once, and again only after an hour', async () => {
    const supplier = await agent(jsonRpc);
    const transport = supplier.transport();
    for (const advanceMs of [0, 300_000, 3_299_999, 1]) {
      supplier.advance(advanceMs);
      expect((await transport.get(handle)).kind).toBe('working');
    }
    expect(supplier.trail()).toEqual(['card', 'GetTask', 'GetTask', 'GetTask', 'card', 'GetTask']);
  });

  it.each([
    ['no word', undefined, 60_000],
    ['max-age below the floor', 'public, max-age=5', 60_000],
    ['max-age', 'max-age=600', 600_000],
    ['max-age above the ceiling', 'max-age=86400', 3_600_000],
    ['no-store', 'no-store', 60_000],
    ['s-maxage alone', 's-maxage=900', 60_000],
  ])('starts look for a newer card after the time of the server: %s', async (_name, cacheControl, ageMs) => {
    const supplier = await agent(jsonRpc);
    const { card } = supplier;
    supplier.card = (request, response) => {
      if (cacheControl !== undefined) response.setHeader('cache-control', cacheControl);
      card(request, response);
    };
    supplier.answer = (request, response) => {
      result(response, request, started);
    };
    const transport = supplier.transport();
    await transport.start(start);
    supplier.advance(ageMs - 1);
    await transport.start(start);
    expect(supplier.trail()).toEqual(['card', 'SendMessage', 'SendMessage']);
    supplier.advance(1);
    await transport.start(start);
    expect(supplier.trail()).toEqual(['card', 'SendMessage', 'SendMessage', 'card', 'SendMessage']);
  });

  it('asks with the ETag, and goes on with the card it has when that is unchanged', async () => {
    const supplier = await agent(jsonRpc);
    const { card } = supplier;
    supplier.card = (request, response) => {
      response.setHeader('etag', '"v1"');
      if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end();
      else card(request, response);
    };
    const transport = supplier.transport();
    await transport.start(start);
    supplier.advance(60_000);
    await transport.start(start);
    const cards = supplier.received.filter(({ path }) => path === cardPath);
    expect(cards.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"']);
    expect(supplier.calls()).toHaveLength(2);
  });

  it('does not send back an invalid ETag', async () => {
    const supplier = await agent(jsonRpc);
    const { card } = supplier;
    supplier.card = (request, response) => {
      response.setHeader('etag', '"v\u00e4"');
      card(request, response);
    };
    const transport = supplier.transport();
    await transport.start(start);
    supplier.advance(60_000);
    await transport.start(start);
    expect(supplier.trail()).toEqual(['card', 'SendMessage', 'card', 'SendMessage']);
    expect(supplier.received[2]!.headers['if-none-match']).toBeUndefined();
  });

  it('a card that cannot be read again stays in use', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, started);
    };
    const transport = supplier.transport();
    await transport.start(start);
    supplier.card = (_request, response) => {
      json(response, '', 500);
    };
    supplier.advance(60_000);
    expect((await transport.start(start)).kind).toBe('started');
    expect((await transport.start(start)).kind).toBe('started');
    expect(supplier.trail()).toEqual(['card', 'SendMessage', 'card', 'SendMessage', 'SendMessage']);
  });

  it.each([
    ['500', 500, '', 'retry', 'REMOTE_UNREACHABLE'],
    ['404', 404, '', 'refused', 'CONFIG_INVALID'],
    ['429', 429, '', 'retry', 'REMOTE_UNREACHABLE'],
    ['a page', 200, '<html>', 'retry', 'REMOTE_PROTOCOL_VIOLATION'],
    ['no interfaces', 200, '{"name":"agent"}', 'retry', 'REMOTE_PROTOCOL_VIOLATION'],
    [
      'nothing that we speak',
      200,
      '{"supportedInterfaces":[{"url":"https://a.example"}]}',
      'refused',
      'CONFIG_INVALID',
    ],
  ])('a start without a card was surely not sent: %s', async (_name, status, body, kind, code) => {
    const supplier = await agent(jsonRpc);
    supplier.card = (_request, response) => {
      json(response, body, status);
    };
    const reply = await supplier.transport().start(start);
    expect(reply).toMatchObject({ kind, error: { code } });
    expect((await supplier.transport().get(handle)).kind).toBe('unreadable');
    expect(supplier.calls()).toEqual([]);
  });

  it('a card of more than 256 KiB is not read, and no task counts as too large for it', async () => {
    const supplier = await agent(jsonRpc, { description: 'x'.repeat(256 * 1024) });
    const error = {
      code: 'REMOTE_PROTOCOL_VIOLATION',
      message: 'the server broke the protocol: the agent card is too large',
    };
    expect(await supplier.transport().start(start)).toEqual({ kind: 'retry', error });
    expect(await supplier.transport().get(handle)).toEqual({ kind: 'unreadable', error });
    expect(supplier.calls()).toEqual([]);
  });

  it('A2A-C44: a redirect of the card is not followed', async () => {
    const other = await serve((_request, response) => {
      json(response, {});
    });
    const supplier = await agent(jsonRpc);
    supplier.card = (_request, response) => {
      response.writeHead(302, { location: other.url }).end();
    };
    expect(await supplier.transport().start(start)).toEqual({
      kind: 'refused',
      error: {
        code: 'CONFIG_INVALID',
        message: `no agent card at the expected address: status 302, a redirect to ${other.url}, which is never followed`,
      },
    });
    expect(other.connections()).toBe(0);
  });

  it('A2A-C48: a card that leads to another host gets no credentials there, unless the host is allowed', async () => {
    const other = await serve((request, response) => {
      result(response, request, started);
    });
    const supplier = await agent(() => [{ url: other.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]);
    const auth = { bearer: 'canary-token' };
    expect(await supplier.transport({ auth }).start(start)).toEqual({
      kind: 'refused',
      error: {
        code: 'CONFIG_INVALID',
        message: `the agent card of ${new URL(supplier.origin).host} points to the host ${new URL(other.url).host}, which is not its own; if that is intended, add allowedHosts: ["${new URL(other.url).host}"]`,
      },
    });
    expect(other.connections()).toBe(0);
    const allowed = supplier.transport({ auth, allowedHosts: [new URL(other.url).host] });
    expect((await allowed.start(start)).kind).toBe('started');
    expect(other.received[0]!.headers.authorization).toBe('Bearer canary-token');
  });

  it('an inline card needs no request and may lead anywhere', async () => {
    const supplier = await agent(jsonRpc);
    const transport = supplier.transport({ card: { supportedInterfaces: jsonRpc(supplier.origin) as never } });
    expect((await transport.get(handle)).kind).toBe('working');
    expect(supplier.trail()).toEqual(['GetTask']);
  });
});

describe('the card for authenticated callers', () => {
  const both = (origin: string) => [...jsonRpc(origin), ...rest(origin)];
  const extended = (origin: string) => ({
    supportedInterfaces: [{ ...(rest(origin)[0] as object), tenant: 'acme' }],
    capabilities: {},
  });

  it('is read only where it is asked for and declared', async () => {
    for (const [declared, option, asked] of [
      [true, false, false],
      [false, true, false],
      [true, true, true],
    ] as const) {
      const supplier = await agent(both, { capabilities: { extendedAgentCard: declared } });
      supplier.answer = (request, response) => {
        if (request.body.method === 'GetExtendedAgentCard') result(response, request, extended(supplier.origin));
        else if (request.body.method === 'GetTask') result(response, request, working);
        else json(response, working);
      };
      await supplier.transport({ extendedCard: option }).get({ ...handle, binding: 'HTTP+JSON' });
      expect(supplier.trail()).toEqual(
        asked
          ? ['card', 'GetExtendedAgentCard', 'GET /rest/acme/tasks/t1?historyLength=0']
          : ['card', 'GET /rest/tasks/t1?historyLength=0'],
      );
    }
  });

  it('the public card is enough where the other is not given out', async () => {
    const supplier = await agent(both, { capabilities: { extendedAgentCard: true } });
    supplier.answer = (request, response) => {
      if (request.body.method === 'GetExtendedAgentCard') rpcError(response, request, -32007);
      else result(response, request, working);
    };
    expect((await supplier.transport({ extendedCard: true }).get(handle)).kind).toBe('working');
    expect(supplier.trail()).toEqual(['card', 'GetExtendedAgentCard', 'GetTask']);
  });

  it('A2A-C48: it may lead no further than the public one', async () => {
    const supplier = await agent(both, { capabilities: { extendedAgentCard: true } });
    supplier.answer = (request, response) => {
      if (request.body.method === 'GetExtendedAgentCard') result(response, request, extended('https://evil.example'));
      else result(response, request, working);
    };
    expect((await supplier.transport({ extendedCard: true }).get(handle)).kind).toBe('working');
  });
});

describe('an agent that speaks another version than before', () => {
  const upgraded = async (code: number) => {
    let interfaces: (origin: string) => readonly object[] = old;
    const supplier = await agent((origin) => interfaces(origin));
    supplier.answer = (request, response) => {
      if (request.body.method === 'tasks/get') result(response, request, { ...working, kind: 'task' });
    };
    const transport = supplier.transport();
    const from03 = { ...handle, wire: '0.3' } as const;
    expect((await transport.get(from03)).kind).toBe('working');
    interfaces = jsonRpc;
    supplier.answer = (request, response) => {
      if (request.body.method === 'GetTask') result(response, request, working);
      else rpcError(response, request, code);
    };
    return { supplier, transport, from03 };
  };

  it.each([-32601, -32009])(
    'A2A-C46: after %d the card is read again and the same task is read in the new version, now and later',
    async (code) => {
      const { supplier, transport, from03 } = await upgraded(code);
      supplier.advance(60_000);
      expect((await transport.get(from03)).kind).toBe('working');
      expect((await transport.get(from03)).kind).toBe('working');
      expect(supplier.trail()).toEqual(['card', 'tasks/get', 'tasks/get', 'card', 'GetTask', 'GetTask']);
      expect(supplier.calls().at(-1)!.body.params).toEqual({ id: 't1', historyLength: 0 });
    },
  );

  it('A2A-C46: an agent that refuses everything does not have its card read with every poll', async () => {
    const { supplier, transport, from03 } = await upgraded(-32601);
    for (const advanceMs of [1_000, 10_000, 10_000]) {
      supplier.advance(advanceMs);
      expect((await transport.get(from03)).kind).toBe('unreadable');
    }
    expect(supplier.trail()).toEqual(['card', 'tasks/get', 'tasks/get', 'tasks/get', 'tasks/get']);
  });

  it('A2A-C46: a start that was refused for its version is made once more in the other', async () => {
    const supplier = await agent((origin) => [...jsonRpc(origin), ...old(origin)]);
    supplier.answer = (request, response) => {
      if (request.body.method === 'message/send') result(response, request, { ...working, kind: 'task' });
      else rpcError(response, request, -32601);
    };
    const transport = supplier.transport();
    expect(await transport.start(start)).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: { ...handle, wire: '0.3' },
    });
    await transport.start(start);
    expect(supplier.trail()).toEqual(['card', 'SendMessage', 'message/send', 'message/send']);
  });

  it('the interface of the handle is kept as long as the card has it', async () => {
    const supplier = await agent((origin) => [...jsonRpc(origin), ...rest(origin), ...old(origin)]);
    supplier.answer = (request, response) => {
      if (request.httpMethod === 'GET') json(response, working);
      else result(response, request, working);
    };
    const transport = supplier.transport();
    await transport.get({ ...handle, binding: 'HTTP+JSON' });
    await transport.get({ ...handle, wire: '0.3' });
    await transport.get(handle);
    expect(supplier.trail()).toEqual(['card', 'GET /rest/tasks/t1?historyLength=0', 'tasks/get', 'GetTask']);
  });

  it('A2A-C50: so is its tenant, which the handle says, whatever comes first in the card by then', async () => {
    const of = (tenant: string) => (origin: string) => ({ ...jsonRpc(origin)[0], tenant });
    let interfaces = [of('acme'), of('other')];
    const supplier = await agent((origin) => interfaces.map((make) => make(origin)));
    supplier.answer = (request, response) => {
      const { params } = request.body as unknown as { params: { message?: object } };
      result(response, request, params.message === undefined ? working : { task: working });
    };
    const transport = supplier.transport();
    const reply = await transport.start(start);
    expect(reply).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: { ...handle, tenant: 'acme' },
    });
    interfaces = interfaces.reverse();
    supplier.advance(3_600_000);
    await transport.get({ ...handle, tenant: 'acme' });
    await transport.get({ ...handle, tenant: 'gone' });
    const tenants = supplier
      .calls()
      .map(({ body }) => (body as unknown as { params: { tenant: string } }).params.tenant);
    expect(tenants).toEqual(['acme', 'acme', 'other']);
  });

  it('A2A-C50: an agent without a card is asked under the tenant of the handle too', async () => {
    const supplier = await agent(jsonRpc);
    const { A2aTransport } = await import('../../../lib/remote/a2a/a2a-transport.js');
    const { transportDeps, httpClient } = await import('./loopback.js');
    const config = { protocol: 'a2a', url: `${supplier.origin}/rpc`, tenant: 'renamed' } as const;
    const transport = new A2aTransport('supplier', config, transportDeps(httpClient()));
    await transport.get({ ...handle, tenant: 'acme' });
    await transport.get(handle);
    const tenants = supplier
      .calls()
      .map(({ body }) => (body as unknown as { params: { tenant: string } }).params.tenant);
    expect(tenants).toEqual(['acme', 'renamed']);
  });

  it('an agent without a card is asked in nothing but what its handle says', async () => {
    const supplier = await agent(jsonRpc);
    const { A2aTransport } = await import('../../../lib/remote/a2a/a2a-transport.js');
    const { transportDeps, httpClient } = await import('./loopback.js');
    const transport = new A2aTransport(
      'supplier',
      { protocol: 'a2a', url: `${supplier.origin}/rpc` },
      transportDeps(httpClient()),
    );
    for (const wrong of [{ wire: '0.3' }, { binding: 'HTTP+JSON' }, { protocol: 'mcp' }] as const) {
      expect(await transport.get({ ...handle, ...wrong })).toMatchObject({
        kind: 'unreadable',
        error: { code: 'CONFIG_INVALID' },
      });
    }
    expect(supplier.received).toEqual([]);
    expect((await transport.get(handle)).kind).toBe('working');
  });
});

describe('what an agent can', () => {
  const extension = 'https://outwait.dev/a2a/extensions/idempotent-send/v1';
  const declaring = { capabilities: { extensions: [{ uri: extension }] } };

  it('A2A-C17: one that declares idempotent sends dedupes, and is told that we count on it', async () => {
    const supplier = await agent(jsonRpc, declaring);
    supplier.answer = (request, response) => {
      result(response, request, started);
    };
    const transport = supplier.transport({ extensions: ['https://a.example/x'] });
    expect(await transport.traits()).toMatchObject({ dedupes: true });
    await transport.start(start);
    await transport.start(start);
    const [first, second] = supplier.calls();
    expect(first!.headers['a2a-extensions']).toBe(`https://a.example/x, ${extension}`);
    expect(first!.headers['idempotency-key']).toBe('k');
    expect(second!.body.params).toEqual(first!.body.params);
  });

  it('A2A-C18: one that says nothing does not', async () => {
    const supplier = await agent(jsonRpc);
    expect(await supplier.transport().traits()).toMatchObject({ dedupes: false });
    expect(await supplier.transport({ dedupes: true }).traits()).toMatchObject({ dedupes: true });
  });

  it('F62, A2A-C16: lists of tasks may be asked for where 1.0 is spoken; that there are any says the configuration alone', async () => {
    for (const [interfaces, probeByContext, finds] of [
      [jsonRpc, true, true],
      [jsonRpc, false, 'perhaps'],
      [rest, false, 'perhaps'],
      [old, true, false],
      [old, false, false],
    ] as const)
      expect(await (await agent(interfaces)).transport({ probeByContext }).traits()).toMatchObject({ finds });
  });

  it('F62: what would help a start of unknown fate is what the agent does not have', async () => {
    const helpsOf = async (interfaces: (origin: string) => readonly object[], streaming: boolean) =>
      (await (await agent(interfaces, { capabilities: { streaming } })).transport().traits()).helps;
    const key = 'dedupes: true if the agent recognises the key';
    expect(await helpsOf(jsonRpc, true)).toBe(`${key}, an agent that lists its tasks`);
    expect(await helpsOf(jsonRpc, false)).toBe(`${key}, an agent that lists its tasks, an agent that streams`);
    expect(await helpsOf(old, true)).toBe(`${key}, an interface of A2A 1.0 that lists tasks`);
  });

  it('without a card the configuration is all there is', async () => {
    const supplier = await agent(jsonRpc);
    supplier.card = (_request, response) => {
      json(response, '', 500);
    };
    expect(await supplier.transport({ dedupes: true }).traits()).toEqual({ dedupes: true, finds: 'perhaps' });
  });
});
