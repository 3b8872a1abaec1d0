import { afterEach, describe, expect, it } from 'vitest';
import { hostReach } from '../../../lib/base/host-reach.js';
import { type Agent, agent, jsonRpc, rpcError, started } from './a2a-agent.js';
import { closeAll, json, type Received, result } from './loopback.js';

afterEach(closeAll);

const url = 'https://flows.example.com/push/a2a/the-push-token';
const push = { id: 'outwait-1', url, secret: 'canary-secret-of-the-call' };
const start = { request: { kind: 'message', parts: [{ text: 'hi' }] }, idempotencyKey: 'k' } as const;
const pushes = { capabilities: { pushNotifications: true } };
const old = (origin: string): object => ({ url: `${origin}/rpc`, protocolVersion: '0.3.0', ...pushes });
const rest = (origin: string): readonly object[] => [
  { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
];

const configurationOf = ({ body }: Received) =>
  (body.params as { configuration?: Record<string, unknown> } | undefined)?.configuration ??
  (body as unknown as { configuration: Record<string, unknown> }).configuration;

async function pushing(interfaces = jsonRpc): Promise<Agent> {
  const peer = await agent(interfaces, pushes);
  peer.answer = (request, response) => {
    if (request.path.startsWith('/rest')) json(response, started);
    else result(response, request, started);
  };
  return peer;
}

describe('the registration of pushes', () => {
  it('goes with the start, in the words of 1.0, with the secret in both places', async () => {
    for (const interfaces of [jsonRpc, rest]) {
      const peer = await pushing(interfaces);
      const reply = await peer.transport().start({ ...start, push });
      expect(reply).toMatchObject({ kind: 'started', handle: { taskId: 't1', pushConfigId: 'outwait-1' } });
      expect(configurationOf(peer.calls()[0]!)['taskPushNotificationConfig']).toEqual({
        ...{ id: 'outwait-1', url, token: push.secret },
        authentication: { scheme: 'Bearer', credentials: push.secret },
      });
    }
  });

  it('goes with the start, in the words of 0.3', async () => {
    const peer = await pushing();
    peer.card = (_request, response) => {
      json(response, old(peer.origin));
    };
    expect(await peer.transport().start({ ...start, push })).toMatchObject({ handle: { pushConfigId: 'outwait-1' } });
    expect(configurationOf(peer.calls()[0]!)['pushNotificationConfig']).toEqual({
      ...{ id: 'outwait-1', url, token: push.secret },
      authentication: { schemes: ['Bearer'], credentials: push.secret },
    });
  });

  it('gives an agent that signs no secret', async () => {
    const peer = await pushing();
    await peer.transport().start({ ...start, push: { id: 'outwait-1', url } });
    expect(configurationOf(peer.calls()[0]!)['taskPushNotificationConfig']).toEqual({ id: 'outwait-1', url });
  });

  it('is left out if the card does not say that the agent pushes', async () => {
    const peer = await agent(jsonRpc);
    peer.answer = (request, response) => {
      result(response, request, started);
    };
    const reply = await peer.transport().start({ ...start, push });
    expect(reply).toMatchObject({ kind: 'started' });
    expect(JSON.stringify(reply)).not.toContain('pushConfigId');
    expect(configurationOf(peer.calls()[0]!)).not.toHaveProperty('taskPushNotificationConfig');
  });

  it('that is refused is left out of the same start and of those that follow, for an hour', async () => {
    const peer = await pushing();
    peer.answer = (request, response) => {
      if ('taskPushNotificationConfig' in configurationOf(request)) rpcError(response, request, -32003);
      else result(response, request, started);
    };
    const transport = peer.transport();
    const first = await transport.start({ ...start, push });
    expect(first).toMatchObject({ kind: 'started' });
    expect(JSON.stringify(first)).not.toContain('pushConfigId');
    expect(peer.calls()).toHaveLength(2);
    await transport.start({ ...start, push });
    expect(peer.calls()).toHaveLength(3);
    peer.advance(3_600_000);
    await transport.start({ ...start, push });
    expect(peer.calls()).toHaveLength(5);
  });

  it('is left out if our address means another machine to the agent', async () => {
    const registered = async (publicUrl: string, config: object = {}, interfaces = jsonRpc): Promise<boolean> => {
      const peer = await pushing(interfaces);
      await peer.transport(config).start({ ...start, push: { ...push, url: `${publicUrl}/push/a2a/t` } });
      const [sent] = peer.calls();
      return sent !== undefined && 'taskPushNotificationConfig' in configurationOf(sent);
    };
    // These agents are on this machine.
    expect(await registered('http://127.0.0.1:4000')).toBe(true);
    expect(await registered('http://10.0.0.7:4000')).toBe(true);
    expect(hostReach('agent.example.com')).toBe('public');
    const { PushRegistrar } = await import('../../../lib/remote/a2a/push.js');
    const asked = async (publicUrl: string, agentUrl: string, allowPrivateAddresses = false): Promise<boolean> => {
      const registrar = new PushRegistrar(
        { protocol: 'a2a', card: agentUrl, allowPrivateAddresses },
        { nowMs: () => 0 },
      );
      const to = { url: agentUrl, binding: 'JSONRPC', wire: '1.0' } as const;
      const card = {
        ...{ interfaces: [to], problem: undefined, dedupes: false, sequences: false, streams: false },
        pushes: true,
      };
      let isAsked = false;
      const found = { kind: 'interface', to, card: { ...card, startsOverStream: false, hasExtended: false } } as const;
      await registrar.start({ ...push, url: `${publicUrl}/push/a2a/t` }, found, async (given) => {
        isAsked = given !== undefined;
        return {
          exchange: { kind: 'result', result: null },
          origin: { server: 'a', protocol: 'a2a', wire: '1.0' },
        };
      });
      return isAsked;
    };
    const elsewhere = 'https://agent.example.com/rpc';
    expect(await asked('https://flows.example.com', elsewhere)).toBe(true);
    for (const near of ['http://127.0.0.1:4000', 'http://localhost:4000', 'http://[::1]:4000'])
      expect([await asked(near, elsewhere), await asked(near, elsewhere, true)]).toEqual([false, false]);
    for (const inside of ['http://10.1.2.3', 'http://192.168.0.2', 'https://flows.internal', 'http://[fd00::1]'])
      expect([await asked(inside, elsewhere), await asked(inside, elsewhere, true)]).toEqual([false, true]);
  });

  it('is named in no error and no log', async () => {
    const peer = await pushing();
    peer.answer = (request, response) => {
      const error = { code: -32602, message: `no ${push.secret} at ${url}` };
      json(response, { jsonrpc: '2.0', id: request.body.id, error });
    };
    const reply = await peer.transport().start({ ...start, push });
    expect(reply).toMatchObject({ kind: 'refused' });
    expect(JSON.stringify(reply)).not.toMatch(/canary-secret-of-the-call|the-push-token/);
  });
});

describe('the registration of an ended task', () => {
  const handle = { server: 'supplier', protocol: 'a2a', wire: '1.0', taskId: 't1', contextId: 'c1' } as const;
  const registered = { ...handle, pushConfigId: 'outwait-1' };

  it('is deleted with one request, whatever the answer is', async () => {
    const peer = await pushing();
    await peer.transport().forgetPush(registered);
    expect(peer.calls()[0]!.body).toMatchObject({
      method: 'DeleteTaskPushNotificationConfig',
      params: { taskId: 't1', id: 'outwait-1' },
    });
    peer.answer = (_request, response) => {
      response.writeHead(500).end();
    };
    await peer.transport().forgetPush(registered);
    expect(peer.calls()).toHaveLength(2);
    await peer.transport().forgetPush(handle);
    expect(peer.calls()).toHaveLength(2);
  });

  it('is deleted over HTTP+JSON', async () => {
    const peer = await pushing(rest);
    await peer.transport().forgetPush({ ...registered, binding: 'HTTP+JSON' });
    expect(peer.trail().at(-1)).toBe('DELETE /rest/tasks/t1/pushNotificationConfigs/outwait-1');
  });

  it('is deleted after a cancel that the agent has taken', async () => {
    const peer = await pushing();
    expect(await peer.transport().cancel(registered)).toEqual({ kind: 'done' });
    expect(peer.trail()).toEqual(['card', 'CancelTask', 'DeleteTaskPushNotificationConfig']);
    await peer.transport().cancel(handle);
    expect(peer.trail().slice(3)).toEqual(['card', 'CancelTask']);
  });
});
