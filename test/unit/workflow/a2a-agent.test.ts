import { describe, expect, it } from 'vitest';
import { a2aAgent, defineApp } from '../../../lib/workflow/app.js';

const configured = (agent: object) => () =>
  defineApp({ workflows: [], servers: { supplier: a2aAgent(agent as Parameters<typeof a2aAgent>[0]) } });

describe('the configuration of an A2A agent', () => {
  it.each([
    { url: 'https://supplier.example/a2a', tenant: 'acme' },
    { card: 'https://supplier.example' },
    { card: { supportedInterfaces: [] }, extendedCard: true, probeByContext: true },
    { card: 'https://supplier.example', allowedHosts: ['api.example.com', 'api.example.com:8443', '[::1]:80'] },
    { card: 'https://supplier.example', extensions: ['https://a.example/x'] },
  ])('GB-08: %j is one', (agent) => {
    expect(configured(agent)).not.toThrow();
  });

  const hosts = 'servers.supplier.allowedHosts must be a list of hosts in lower case, such as "api.example.com:8443"';
  const extensions = 'servers.supplier.extensions must be a list of at most 16 URIs without spaces or commas';

  it.each([
    [{}, 'servers.supplier must have exactly one of url and card, got neither'],
    [
      { url: 'https://a.example', card: 'https://a.example' },
      'servers.supplier must have exactly one of url and card, got both',
    ],
    [{ url: 'ftp://a.example' }, 'servers.supplier.url must be an http(s) URL'],
    [{ card: 'agent-card.json' }, 'servers.supplier.card must be an http(s) URL'],
    [{ card: 'https://a:b@a.example' }, 'servers.supplier.card must not contain user info; use auth'],
    [{ card: [] }, 'servers.supplier.card must be a URL or an agent card'],
    [{ card: 'https://a.example', allowedHosts: 'api.example.com' }, hosts],
    [{ card: 'https://a.example', allowedHosts: ['https://api.example.com'] }, hosts],
    [{ card: 'https://a.example', allowedHosts: ['API.example.com'] }, hosts],
    [{ card: 'https://a.example', allowedHosts: ['*'] }, hosts],
    [{ card: 'https://a.example', extensions: ['https://a.example/x, https://b.example/y'] }, extensions],
    [{ card: 'https://a.example', extensions: Array.from({ length: 17 }, () => 'https://a.example') }, extensions],
  ])('%j is refused', (agent, message) => {
    expect(configured(agent)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message }));
  });
});
