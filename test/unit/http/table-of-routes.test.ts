import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createRoutes } from '../../../lib/http/routes.js';
import { type Route, routePaths, type RouteName, routes, routeSummaries } from '../../../lib/topology/routes.js';
import { aWorld } from './world.js';

const names = Object.keys(routes) as RouteName[];

describe('the table of routes', () => {
  it('is what the function serves, and all of it', () => {
    const served = createRoutes(aWorld().deps)
      .routes.filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(served.length).toBeGreaterThan(20);
    expect(served.sort()).toEqual(names.map(toLine).sort());
  });

  it('gives each path one access, so that the gateway can ask for it whatever the method', () => {
    const pairs = new Set(Object.values(routes).map(({ path, access }) => `${path} ${access}`));
    expect(routePaths().map(({ path, access }) => `${path} ${access}`)).toEqual([...pairs]);
    expect(new Set(routePaths().map(({ path }) => path)).size).toBe(pairs.size);
  });

  it('puts every path behind an authorizer that the function asks for the management token, and no other', async () => {
    const served = createRoutes(aWorld().deps, { managementTokens: () => [] });
    // To a relay's route this is a token that no wait has.
    const headers = { authorization: 'Bearer x' };
    for (const { path, access } of routePaths()) {
      const url = new URL(path.replaceAll(/\{\w+\}/g, 'x'), 'https://api.example.com');
      const answers = await Promise.all(
        ['GET', 'POST'].map(async (method) => served.request(url, { method, headers })),
      );
      // A push is refused too, for another reason: its address is of no wait.
      const texts = await Promise.all(answers.map((answer) => answer.text()));
      const isRefused = texts.some((text) => text.includes('a valid bearer token is needed'));
      expect([path, access === 'management']).toEqual([path, isRefused]);
    }
  });

  it.each([
    ['management', '## Management API'],
    ['capability', '## Capability routes'],
    ['open', '## Open route'],
  ] as const)('has its %s routes in the reference, in the same words and order', async (access, heading) => {
    const page = await readFile(new URL('../../../docs/reference.md', import.meta.url), 'utf8');
    const section = page.split(/^(?=## )/m).find((part) => part.startsWith(heading)) ?? '';
    const rows = [...section.matchAll(/^\| `((?:GET|POST) [^`]+)` \| (.*?) \|/gm)].map(([, route, summary]) => [
      route,
      summary,
    ]);
    const expected = names.filter((name) => routes[name].access === access);
    expect(rows).toEqual(expected.map((name) => [toLine(name), routeSummaries[name]]));
  });

  it('has its roles in the reference', async () => {
    const page = await readFile(new URL('../../../docs/reference.md', import.meta.url), 'utf8');
    const section = page.split(/^(?=#+ )/m).find((part) => part.startsWith('### Roles')) ?? '';
    const rows = [...section.matchAll(/^\| `(\w+)`(, without a tenant)? \| (.*) \|$/gm)].flatMap(
      ([, role, everyTenant, list = '']) =>
        list.split(', ').map((line) => [line.replaceAll('`', ''), role, everyTenant !== undefined]),
    );
    const expected = names
      .filter((name) => routes[name].access === 'management')
      .map((name) => {
        const { role, everyTenant }: Route = routes[name];
        return [toLine(name), role, everyTenant === true];
      });
    expect(rows.sort()).toEqual(expected.sort());
  });
});

function toLine(name: RouteName): string {
  const { method, path } = routes[name];
  return `${method} ${path}`;
}
