import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '../../../../lib/base/json.js';
import { agentCard, type CardOf } from '../../../../lib/serve/a2a/card.js';
import { signCard } from '../../../../lib/serve/a2a/sign-card.js';
import { anyHost, readAgentCard } from '../../../../lib/remote/a2a/agent-card.js';
import { defineWorkflow } from '../../../../lib/workflow/define-workflow.js';
import type { ServeConfig } from '../../../../lib/workflow/serve.js';
import { anAgent, serve, triage, workflows } from './agent.js';

const baseUrl = 'https://flows.example.com';
const of = (more: Partial<CardOf> = {}): CardOf => ({
  serve,
  workflows,
  baseUrl,
  pushes: false,
  reader: 'public',
  ...more,
});
const schemas = 'https://outwait.dev/a2a/extensions/skill-schemas/v1';
const skillsOf = (card: JsonObject): readonly JsonObject[] => card['skills'] as readonly JsonObject[];
const guarded: ServeConfig = {
  ...serve,
  agent: {
    ...serve.agent,
    version: '2026.11',
    provider: { organization: 'Example', url: 'https://example.com' },
    documentationUrl: 'https://example.com/docs',
    security: [
      { name: 'token', type: 'http', scheme: 'Bearer', bearerFormat: 'JWT', scopes: ['flows.call'] },
      { name: 'key', type: 'apiKey', in: 'header', parameter: 'x-api-key' },
      {
        name: 'login',
        type: 'openIdConnect',
        openIdConnectUrl: 'https://example.com/.well-known/openid-configuration',
      },
    ],
    extensions: [{ uri: 'https://example.com/ledger/v1', description: 'Ledgers', required: true, params: { a: 1 } }],
  },
};

describe('the card of 1.0', () => {
  it('goes unchanged through the types of the official SDK', () => {
    for (const card of [agentCard(of(), '1.0'), agentCard(of({ serve: guarded, pushes: true }), '1.0')])
      expect(JSON.parse(JSON.stringify(AgentCard.toJSON(AgentCard.fromJSON(card))))).toEqual(
        JSON.parse(JSON.stringify(card)),
      );
  });

  it('names its doors, best first', () => {
    expect(agentCard(of(), '1.0')['supportedInterfaces']).toEqual([
      { url: `${baseUrl}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${baseUrl}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: `${baseUrl}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ]);
  });

  it('tells the schema of a skill in its description, and in an extension', () => {
    const card = agentCard(of(), '1.0');
    const [report, triage] = skillsOf(card);
    expect(report).toMatchObject({
      ...{ id: 'monthlyReport', name: 'monthlyReport', tags: ['report'], examples: ['October, please'] },
      inputModes: ['application/json'],
    });
    expect(report!['description']).toMatch(/^Builds a report\n\nSend one data part .*"required":\["month"\]/);
    expect(triage).toEqual({ id: 'triage', name: 'Triage', description: 'Takes any message', tags: ['workflow'] });
    const { extensions } = card['capabilities'] as { extensions: { uri: string; params?: JsonObject }[] };
    expect(extensions.find(({ uri }) => uri === schemas)?.params).toMatchObject({
      skills: { monthlyReport: { input: { type: 'object', required: ['month'] } } },
    });
  });

  it('refers to the extension for a schema that is too long for a description', () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`field${at}`, z.string()]));
    const long = defineWorkflow({ name: 'monthlyReport', input: z.object(fields), run: () => Promise.resolve(null) });
    const card = agentCard(of({ workflows: new Map([['monthlyReport', long]]) }), '1.0');
    expect(skillsOf(card)[0]!['description']).toContain(schemas);
    expect(skillsOf(card)[0]!['description']).not.toContain('field99');
    expect(JSON.stringify(card['capabilities'])).toContain('field99');
  });

  it('tells no schema of the workflow for messages, which takes these', () => {
    const takes = defineWorkflow({ ...triage, input: z.object({ messageId: z.string() }) });
    const card = agentCard(of({ workflows: new Map([...workflows, ['triage', takes]]) }), '1.0');
    expect(JSON.stringify(card)).not.toContain('messageId');
  });

  it('is that of one skill at its endpoint', () => {
    const card = agentCard(of({ skill: 'monthlyReport' }), '1.0');
    expect(card).toMatchObject({ name: 'monthlyReport', description: 'Builds a report' });
    expect(skillsOf(card).map(({ id }) => id)).toEqual(['monthlyReport']);
    expect(card['supportedInterfaces']).toMatchObject([{ url: `${baseUrl}/agents/monthlyReport/a2a` }, {}, {}]);
  });

  it('has a skill for messages where nothing else is served', () => {
    const card = agentCard(of({ serve: { agent: serve.agent, onMessage: 'triage' } }), '1.0');
    expect(skillsOf(card)).toEqual([
      { id: 'triage', name: 'triage', description: 'Answers about money', tags: ['messages'] },
    ]);
  });

  it('has what is for callers only in the extended card, and says that there is one', () => {
    const hidden = { ...serve, skills: { ...serve.skills, audit: { description: 'x', listed: 'callers' as const } } };
    const ids = (reader: 'public' | 'callers') =>
      skillsOf(agentCard(of({ serve: hidden, reader }), '1.0')).map(({ id }) => id);
    expect([ids('public').includes('audit'), ids('callers').includes('audit')]).toEqual([false, true]);
    expect(agentCard(of({ serve: hidden }), '1.0')['capabilities']).toMatchObject({ extendedAgentCard: true });
    expect(agentCard(of(), '1.0')['capabilities']).not.toHaveProperty('extendedAgentCard');
  });

  it('and that without a version are understood by our own client', () => {
    for (const version of ['1.0', '0.3'] as const)
      expect(readAgentCard(agentCard(of({ pushes: true }), version), anyHost)).toMatchObject({
        ...{ dedupes: true, pushes: true, streams: true, hasExtended: false, problem: undefined },
        interfaces: [{ wire: '1.0', binding: 'JSONRPC' }, { wire: '1.0', binding: 'HTTP+JSON' }, { wire: '0.3' }],
      });
  });
});

describe('the card for clients that send no version', () => {
  it('is one of 0.3 that names the interfaces of 1.0 too', () => {
    const card = agentCard(of({ serve: guarded }), '0.3');
    expect(card).toMatchObject({
      ...{ protocolVersion: '0.3.0', url: `${baseUrl}/a2a`, preferredTransport: 'JSONRPC' },
      additionalInterfaces: [{ url: `${baseUrl}/a2a`, transport: 'JSONRPC' }],
      supportedInterfaces: [{ protocolVersion: '1.0' }, {}, {}],
      security: [{ token: ['flows.call'] }, { key: [] }, { login: [] }],
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        login: { type: 'openIdConnect' },
      },
    });
    expect(card).not.toHaveProperty('securityRequirements');
  });
});

describe('signatures', () => {
  // The SDK reports there each signature that is not valid.
  beforeEach(() => {
    vi.spyOn(console, 'debug').mockReturnValue(undefined);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const nullable = {
    ...guarded,
    agent: { ...guarded.agent, extensions: [{ uri: 'https://example.com/x', params: { empty: '' } }] },
  };

  it.each([
    ['a card', of()],
    ['a card with empty values', of({ serve: nullable })],
  ])('of %s are valid for the official SDK, and cover it', async (_what, given) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const card = await signCard(agentCard(given, '1.0'), { key: privateKey, alg: 'ES256', kid: 'k1' });
    const jwk: JWK = await exportJWK(publicKey);
    const verify = verifyAgentCardSignature((kid) => Promise.resolve({ ...jwk, kid, alg: 'ES256' }));
    // As it came: the types of the SDK lose security schemes when they read what they have read.
    await verify(card as unknown as AgentCard);
    await expect(verify({ ...card, name: 'Another' } as unknown as AgentCard)).rejects.toThrow();
  });
});

describe('the door of the card', () => {
  const ask = async (headers: Record<string, string> = {}, path = '', agent = anAgent()) => {
    const response = await agent.app.request(`${path}/.well-known/agent-card.json`, { headers });
    return { status: response.status, headers: response.headers, body: await response.text() };
  };

  it('answers by version, with how long the card may be kept', async () => {
    const modern = await ask({ 'a2a-version': '1.0' });
    expect(JSON.parse(modern.body)).toMatchObject({ name: 'Finance desk' });
    expect(JSON.parse(modern.body)).not.toHaveProperty('protocolVersion');
    expect(JSON.parse((await ask()).body)).toMatchObject({ protocolVersion: '0.3.0' });
    expect(modern.headers.get('cache-control')).toBe('public, max-age=3600');
    expect(modern.headers.get('vary')).toBe('A2A-Version');
  });

  it('answers a client that has the card with 304', async () => {
    const etag = (await ask()).headers.get('etag') ?? '';
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      expect(await ask({ 'if-none-match': known })).toMatchObject({ status: 304, body: '' });
    expect((await ask({ 'if-none-match': etag, 'a2a-version': '1.0' })).status).toBe(200);
  });

  it('has one card for each skill in the public card, and none for others', async () => {
    const hidden = { ...serve, skills: { ...serve.skills, audit: { description: 'x', listed: 'callers' as const } } };
    const agent = anAgent(undefined, { serve: hidden });
    expect((await ask({}, '/agents/monthlyReport', agent)).status).toBe(200);
    for (const skill of ['audit', 'nothing', 'toString'])
      expect((await ask({}, `/agents/${skill}`, agent)).status).toBe(404);
  });

  it('names its own host where no URL is configured, and lets nobody keep that', async () => {
    const { url: _, ...local } = serve.agent;
    const { body, headers } = await ask(
      { 'a2a-version': '1.0' },
      '',
      anAgent(undefined, { serve: { ...serve, agent: local } }),
    );
    expect(JSON.parse(body)).toMatchObject({ supportedInterfaces: [{ url: 'http://localhost/a2a' }, {}, {}] });
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('signs cards of 1.0, and keeps their tag though signatures differ', async () => {
    let signed = 0;
    const sign = (card: JsonObject) => Promise.resolve({ ...card, signatures: [{ signature: String(++signed) }] });
    const agent = anAgent(undefined, { sign });
    const first = await ask({ 'a2a-version': '1.0' }, '', agent);
    const second = await ask({ 'a2a-version': '1.0' }, '', agent);
    expect(first.body).not.toBe(second.body);
    expect(first.headers.get('etag')).toBe(second.headers.get('etag'));
    expect((await ask({}, '', agent)).body).not.toContain('signatures');
  });
});
