import { describe, expect, it } from 'vitest';
import { cardUrlOf, preferredInterface, readAgentCard, type CardRule } from '../../../lib/remote/a2a/agent-card.js';

const rule: CardRule = { hosts: ['agent.example'], httpsOnly: true };
const url = 'https://agent.example/a2a';
const rpc = { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' };
const rest = { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' };
const old = { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' };
const chosen = (card: object, by: CardRule = rule) =>
  preferredInterface(readAgentCard(card as never, by)?.interfaces ?? []);

describe('where a card is', () => {
  it.each([
    ['https://agent.example', 'https://agent.example/.well-known/agent-card.json'],
    ['https://agent.example/team/', 'https://agent.example/team/.well-known/agent-card.json'],
    ['https://agent.example/cards/quotes.json?v=1', 'https://agent.example/cards/quotes.json?v=1'],
  ])('GB-08: %s → %s', (configured, expected) => {
    expect(cardUrlOf(configured)).toBe(expected);
  });
});

describe('the interface of a card', () => {
  const jsonRpc10 = { url, binding: 'JSONRPC', wire: '1.0' };

  it.each([
    ['1.0', { supportedInterfaces: [rpc] }, jsonRpc10],
    ['a hybrid', { url: 'https://agent.example/old', protocolVersion: '0.3.0', supportedInterfaces: [rpc] }, jsonRpc10],
    [
      '0.3 alone',
      { url, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' },
      { url, binding: 'JSONRPC', wire: '0.3' },
    ],
    ['0.3 without transport and version', { url }, { url, binding: 'JSONRPC', wire: '0.3' }],
    ['0.3 whose sample says 0.2.9', { url, protocolVersion: '0.2.9' }, { url, binding: 'JSONRPC', wire: '0.3' }],
    [
      '0.3 with JSON-RPC second',
      {
        url: 'https://agent.example/grpc',
        preferredTransport: 'GRPC',
        additionalInterfaces: [{ url, transport: 'JSONRPC' }],
      },
      { url, binding: 'JSONRPC', wire: '0.3' },
    ],
    [
      'an empty list beside the fields of 0.3',
      { url, supportedInterfaces: [] },
      { url, binding: 'JSONRPC', wire: '0.3' },
    ],
    [
      'gRPC first',
      { supportedInterfaces: [{ ...rpc, url: 'https://agent.example/grpc', protocolBinding: 'GRPC' }, rpc] },
      jsonRpc10,
    ],
    [
      'an unknown binding first',
      { supportedInterfaces: [{ ...rpc, protocolBinding: 'https://a.example/b' }, rpc] },
      jsonRpc10,
    ],
    ['version 1.0.0', { supportedInterfaces: [{ ...rpc, protocolVersion: '1.0.0' }] }, jsonRpc10],
    [
      'version 10.0 first',
      {
        supportedInterfaces: [
          { url: 'https://agent.example/v10', protocolBinding: 'JSONRPC', protocolVersion: '10.0' },
          rpc,
        ],
      },
      jsonRpc10,
    ],
    [
      'HTTP+JSON first',
      { supportedInterfaces: [rest, rpc] },
      { url: `${url}/rest`, binding: 'HTTP+JSON', wire: '1.0' },
    ],
    ['JSON-RPC first', { supportedInterfaces: [rpc, rest] }, jsonRpc10],
    ['0.3 before 1.0', { supportedInterfaces: [old, rpc] }, jsonRpc10],
    ['HTTP+JSON of 0.3 alone', { supportedInterfaces: [{ ...rest, protocolVersion: '0.3' }] }, undefined],
    ['no URL', { supportedInterfaces: [{ ...rpc, url: '/a2a' }] }, undefined],
    ['user info in the URL', { supportedInterfaces: [{ ...rpc, url: 'https://a:b@agent.example/' }] }, undefined],
    ['a tenant', { supportedInterfaces: [{ ...rpc, tenant: 'acme' }] }, { ...jsonRpc10, tenant: 'acme' }],
    ['entries that are none', { supportedInterfaces: [3, null, {}, rpc] }, jsonRpc10],
  ])('A2A-C47: of a card with %s', (_name, card, expected) => {
    expect(chosen(card)).toEqual(expected);
  });

  it.each([[null], ['card'], [[]], [{}], [{ name: 'x' }]])('%j is not a card', (card) => {
    expect(readAgentCard(card as never, rule)).toBeUndefined();
  });
});

describe('a card that leads elsewhere', () => {
  const foreign = { supportedInterfaces: [{ ...rpc, url: 'https://evil.example/a2a' }] };
  it.each([
    ['another host', 'https://evil.example/a2a', 'evil.example'],
    ['another port', 'https://agent.example:8443/a2a', 'agent.example:8443'],
    ['a host that only ends the same', 'https://not-agent.example/a2a', 'not-agent.example'],
  ])('F69, A2A-C48: %s is not used, and both are named', (_name, elsewhere, host) => {
    const problem = `the agent card of agent.example points to the host ${host}, which is not its own; if that is intended, add allowedHosts: ["${host}"]`;
    const card = readAgentCard({ supportedInterfaces: [{ ...rpc, url: elsewhere }] }, rule);
    expect(card).toMatchObject({ interfaces: [], problem });
  });

  it('A2A-C48: no encryption is not used', () => {
    const card = readAgentCard({ supportedInterfaces: [{ ...rpc, url: 'http://agent.example/a2a' }] }, rule);
    const problem = 'the agent card was read over https but points to an interface over http';
    expect(card).toMatchObject({ interfaces: [], problem });
  });

  it.each([
    ['1.0', { supportedInterfaces: [{ ...rpc, protocolVersion: '' }] }],
    ['0.3', { url, protocolVersion: '', preferredTransport: '' }],
    ['0.3', { url, protocolVersion: null, preferredTransport: null }],
  ])('F63: an empty field of a card is a missing one: %s', (wire, card) => {
    expect(chosen(card as never)).toMatchObject({ url, wire, binding: 'JSONRPC' });
  });

  it('A2A-C48: an allowed host is used', () => {
    expect(chosen(foreign, { ...rule, hosts: ['agent.example', 'evil.example'] })?.url).toBe(
      'https://evil.example/a2a',
    );
  });

  it('A2A-C48: the next interface is taken when the first leads elsewhere', () => {
    expect(chosen({ supportedInterfaces: [...foreign.supportedInterfaces, rpc] })?.url).toBe(url);
  });

  it('says when there is nothing that we speak', () => {
    expect(readAgentCard({ supportedInterfaces: [{ ...rpc, protocolBinding: 'GRPC' }] }, rule)?.problem).toBe(
      'the agent card offers no supported interface (JSON-RPC 1.0, HTTP+JSON 1.0 or JSON-RPC 0.3), only GRPC 1.0',
    );
  });
});

describe('what else a card says', () => {
  it.each([
    ['nothing', {}, { dedupes: false, streams: false, hasExtended: false }],
    [
      'everything in 1.0',
      {
        capabilities: {
          streaming: true,
          extendedAgentCard: true,
          extensions: [{ uri: 'https://outwait.dev/a2a/extensions/idempotent-send/v1', required: false }],
        },
      },
      { dedupes: true, streams: true, hasExtended: true },
    ],
    [
      'an extended card in 0.3',
      { supportsAuthenticatedExtendedCard: true },
      { dedupes: false, streams: false, hasExtended: true },
    ],
  ])('S2-07: %s', (_name, more, expected) => {
    expect(readAgentCard({ supportedInterfaces: [rpc], ...more }, rule)).toMatchObject(expected);
  });
});
