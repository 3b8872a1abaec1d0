import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../lib/base/json.js';
import { closeAll, closedPort, json, result, serve, type Answer } from '../remote/loopback.js';
import { recordingOf, serveAnimal, type ZooAnimal } from '../../system/zoo/animal.js';
import { zoo } from '../../system/zoo/zoo.js';
import { run, type Result } from './in-process.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-types-test-'));
});
afterEach(async () => {
  await closeAll();
  await rm(folder, { recursive: true, force: true });
});

/** `outwait types` in a folder whose configuration has these servers. */
async function types(servers: string, ...args: readonly string[]): Promise<Result> {
  const config = join(folder, 'outwait.config.ts');
  await writeFile(
    config,
    `import { a2aAgent, defineApp, mcpServer, secret } from 'outwait';
     void [a2aAgent, mcpServer, secret];
     export default defineApp({ workflows: [], servers: { ${servers} } });`,
  );
  return run('types', ...args, '--config', config);
}

const written = async (name = 'outwait.servers.d.ts'): Promise<string> => readFile(join(folder, name), 'utf8');
const isThere = async (): Promise<boolean> =>
  stat(join(folder, 'outwait.servers.d.ts')).then(
    () => true,
    () => false,
  );

/** A server of MCP 2026-07-28 whose list of tools has these pages. */
const tools =
  (...pages: readonly (readonly JsonValue[])[]): Answer =>
  (request, response) => {
    const { method, params } = request.body;
    if (method === 'server/discover')
      result(response, request, {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      });
    else if (method === 'tools/list') {
      const page = Number(params['cursor'] ?? 0);
      const next = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {};
      result(response, request, { resultType: 'complete', tools: pages[page], ...next });
    } else json(response, {}, 404);
  };

const tool = (name: string, more: JsonObject = {}): JsonObject => ({ name, inputSchema: { type: 'object' }, ...more });

const object = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

/** An agent of 1.0 with this card. */
const agent =
  (more: object = {}, extended: JsonValue = {}): Answer =>
  (request, response) => {
    const url = `http://${request.headers.host}/rpc`;
    const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
    if (request.httpMethod === 'GET') json(response, { name: 'agent', supportedInterfaces, capabilities: {}, ...more });
    else result(response, request, extended);
  };

const mcp = async (answer: Answer): Promise<string> => `mcpServer({ url: '${(await serve(answer)).url}' })`;
const a2a = async (answer: Answer): Promise<string> =>
  `a2aAgent({ card: '${new URL((await serve(answer)).url).origin}' })`;

/** The tools or skills of the one server of a file. */
const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^ {8}("(?:[^"\\]|\\.)*"|[\w$]+): \{/gm)].map(([, name = '']) =>
    name.startsWith('"') ? (JSON.parse(name) as string) : name,
  );

/** The skills of the recorded card, or the tools that were listed. */
function offeredBy(animal: ZooAnimal): readonly string[] {
  const bodies = recordingOf(animal).look.map(
    ({ reply }) => JSON.parse(/\{.*\}/s.exec(reply?.body ?? '')?.[0] ?? '{}') as Offer,
  );
  const skills = bodies[0]?.skills?.map(({ id }) => id) ?? [];
  return [...skills, ...bodies.flatMap(({ result: page }) => page?.tools ?? []).map(({ name }) => name)].sort();
}

interface Offer {
  readonly skills?: readonly { readonly id: string }[];
  readonly result?: { readonly tools?: readonly { readonly name: string }[] };
}

describe('outwait types: the file', () => {
  it('has the tools and the skills of all servers, in the order of their names', async () => {
    const second = tool('ask', { description: 'Asks.', inputSchema: object({ month: { type: 'string' } }) });
    const first = tool('send', { outputSchema: object({ rows: { type: 'integer' } }) });
    const reports = await mcp(tools([first], [second]));
    const supplier = await a2a(agent({ skills: [{ id: 'quote', description: 'Quotes.' }, { id: 'order' }] }));
    const { code, out } = await types(`supplier: ${supplier}, reports: ${reports}`);
    expect(code).toBe(0);
    expect(out).toContain('reports: 2 tools\nsupplier: 2 skills\n');
    expect(await written())
      .toBe(`// Written by \`outwait types\`, from what the servers of the app say of themselves: names and descriptions are theirs.
// Not to be changed by hand; the same command writes it anew.
/* eslint-disable */
export {};

// prettier-ignore
declare module 'outwait' {
  interface ServerTypes {
    reports: {
      tools: {
        /** Asks. */
        ask: {
          arguments: {
            month: string;
          };
        };
        send: {
          arguments: { [name: string]: unknown };
          output: {
            rows: number;
          };
        };
      };
    };
    supplier: {
      skills: {
        order: {};
        /** Quotes. */
        quote: {};
      };
    };
  }
}
`);
  });

  it('asks the servers that are named, and knows of the others their names', async () => {
    const other = await serve(tools([tool('x')]));
    const servers = `b: ${await mcp(tools([tool('y')]))}, a: mcpServer({ url: '${other.url}' })`;
    expect((await types(servers, 'b')).code).toBe(0);
    expect(await written()).toContain(
      'nothing but its name is checked. */\n    a: {};\n    b: {\n      tools: {\n        y: {',
    );
    expect(other.received).toEqual([]);
  });

  it.each([
    ['whose card has no skills', async () => a2a(agent({ skills: [] }))],
    ['that has no card', async () => `a2aAgent({ url: 'http://127.0.0.1:1/' })`],
  ])('takes any skill of an agent %s', async (_, place) => {
    expect((await types(`shop: ${await place()}`)).code).toBe(0);
    expect(await written()).toContain('skills: { [id: string]: {} };');
  });

  it('has the skills that an agent shows to those whom it knows', async () => {
    const card = {
      capabilities: { extendedAgentCard: true },
      skills: [{ id: 'open' }],
    };
    const { url } = await serve(agent(card, { skills: [{ id: 'hidden' }] }));
    const shop = `a2aAgent({ card: '${new URL(url).origin}', extendedCard: true })`;
    expect((await types(`shop: ${shop}`)).code).toBe(0);
    expect(await written()).toContain('        hidden: {};');
  });

  it('leaves out what a tool gives that starts a job: the result is that of another tool', async () => {
    const { url } = await serve(
      tools([tool('start', { outputSchema: object({ job: { type: 'string' } }) }), tool('look')]),
    );
    const jobs = `{ start: { id: 'job', status: 'look', done: ['done'] } }`;
    expect((await types(`shop: mcpServer({ url: '${url}', jobs: ${jobs} })`)).code).toBe(0);
    expect(await written()).not.toContain('output');
  });

  it('takes any tool of a server that lists more than is read', async () => {
    const pages = Array.from({ length: 21 }, (_, n) => [tool(`t${String(n)}`)]);
    expect((await types(`shop: ${await mcp(tools(...pages))}`)).code).toBe(0);
    const text = await written();
    expect(text).toContain('        t19: {');
    expect(text).not.toContain('t20');
    expect(text).toContain('        [name: string]: {};');
  });

  it('stays of a size that a compiler can read', async () => {
    const inputSchema = object(
      Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`m${n}`, { description: 'x'.repeat(400) }])),
    );
    const many = Array.from({ length: 140 }, (_, n) => tool(`t${n}`, { inputSchema }));
    expect((await types(`shop: ${await mcp(tools(many, [tool('n'.repeat(257))]))}`)).code).toBe(0);
    const text = await written();
    expect(text.length).toBeLessThan(1_200_000);
    expect(text).toContain('/** Not checked: the server has too many of them. */\n        t99: {};');
    expect(text).not.toContain('nnnn');
  });

  it('sends the credentials of the configuration, and holds none of them', async () => {
    const { url, received } = await serve((request, response) => {
      const { authorization = '' } = request.headers;
      tools([
        tool(`x ${authorization}`, {
          description: `${authorization} canary-2`,
          inputSchema: object({ [authorization]: {} }),
        }),
      ])(request, response);
    });
    const { code, out } = await types(`shop: mcpServer({ url: '${url}?key=canary-2', auth: { bearer: 'canary-1' } })`);
    expect(code).toBe(0);
    expect(received.at(-1)?.headers.authorization).toBe('Bearer canary-1');
    expect((await written()) + out).not.toContain('canary');
  });

  it('is written where --out says', async () => {
    const out = join(folder, 'other.ts');
    expect((await types(`shop: ${await mcp(tools([tool('x')]))}`, '--out', out)).code).toBe(0);
    expect(await written('other.ts')).toContain('shop: {');
    expect(await isThere()).toBe(false);
  });

  it.each(zoo)('has what $name offers, and starts nothing', async (animal) => {
    const server = await serveAnimal(animal);
    const { code, err } = await types(`shop: ${JSON.stringify(animal.entry(server.origin))}`);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(namesIn(await written())).toEqual(offeredBy(animal));
    expect(server.starts()).toBe(0);
  });

  it('calls nothing', async () => {
    const { url, received } = await serve(tools([tool('x')]));
    await types(`shop: mcpServer({ url: '${url}' })`);
    expect(received.map(({ body }) => body.method)).toEqual(['server/discover', 'tools/list']);
  });
});

describe('outwait types: what does not work', () => {
  it.each([
    ['a server that is not there', async () => `mcpServer({ url: 'http://127.0.0.1:${await closedPort()}/' })`],
    [
      'an agent without a card',
      async () =>
        a2a((_, response) => {
          json(response, {}, 404);
        }),
    ],
    [
      'a list that does not come',
      async () =>
        mcp((request, response) => {
          if (request.body.method === 'tools/list') json(response, {}, 500);
          else tools([])(request, response);
        }),
    ],
  ])('leaves the file alone for %s, and names the server', async (_, place) => {
    const { code, err } = await types(`shop: ${await place()}`);
    expect(code).toBe(1);
    expect(err).toMatch(/^outwait: the server "shop" does not say what it offers: .+\. Nothing was written/);
    expect(await isThere()).toBe(false);
  });

  it('names the servers that there are', async () => {
    const { code, err } = await types(`shop: mcpServer({ url: 'http://127.0.0.1:1/' })`, 'shoe');
    expect(code).toBe(1);
    expect(err).toContain('no server is named "shoe"');
  });

  it('says that a file cannot be written', async () => {
    const { code, err } = await types(`shop: ${await mcp(tools([]))}`, '--out', join(folder, 'no', 'x.ts'));
    expect(code).toBe(2);
    expect(err).toContain('x.ts cannot be written (ENOENT)');
  });
});

describe('outwait types --check', () => {
  const month = tool('export', { inputSchema: object({ month: { type: 'string' } }) });

  /** The file is written for `before`, and checked against `after`. */
  async function checked(before: readonly JsonValue[], after: readonly JsonValue[]): Promise<Result> {
    let now = before;
    const shop = `shop: ${await mcp((request, response) => {
      tools(now)(request, response);
    })}`;
    await types(shop);
    const text = await written();
    now = after;
    const answer = await types(shop, '--check');
    expect(await written()).toBe(text);
    return answer;
  }

  it('is content with a file that says what the servers offer, in whatever order they say it', async () => {
    const { code, out } = await checked([month, tool('ping')], [tool('ping'), month]);
    expect(code).toBe(0);
    expect(out).toMatch(/outwait\.servers\.d\.ts is up to date\nshop: 2 tools\n$/);
  });

  it('names tools that have come, gone and changed, with what has changed of them', async () => {
    const after = tool('export', { inputSchema: object({ month: { type: 'number' } }) });
    const { code, out } = await checked([month, tool('gone'), tool('same')], [after, tool('come'), tool('same')]);
    expect(code).toBe(1);
    expect(out.split('\n').slice(1)).toEqual([
      '+ shop: tool come',
      '~ shop: tool export',
      '    - month: string;',
      '    + month: number;',
      '- shop: tool gone',
      '',
    ]);
  });

  it('takes a file for the same whose line ends git has turned', async () => {
    const shop = `shop: ${await mcp(tools([month]))}`;
    await types(shop);
    await writeFile(join(folder, 'outwait.servers.d.ts'), (await written()).replaceAll('\n', '\r\n'));
    expect((await types(shop, '--check')).code).toBe(0);
  });

  it('names a server that has come, and a file that is not there', async () => {
    const [one, other] = [`one: ${await mcp(tools([month]))}`, `other: ${await mcp(tools([]))}`];
    expect(await types(one, '--check')).toMatchObject({
      code: 1,
      out: expect.stringContaining('servers.d.ts\n') as string,
    });
    expect(await isThere()).toBe(false);
    await types(one);
    expect((await types(`${one}, ${other}`, '--check')).out).toContain('+ server other\n');
  });

  it('says that a file has been changed by hand', async () => {
    const shop = `shop: ${await mcp(tools([month]))}`;
    await types(shop);
    await writeFile(join(folder, 'outwait.servers.d.ts'), `// mine\n${await written()}`);
    const { code, out } = await types(shop, '--check');
    expect(code).toBe(1);
    expect(out).toContain('~ another form of the file');
  });

  it('gives all of it as one line of JSON', async () => {
    const shop = `shop: ${await mcp(tools([month]))}`;
    const file = join(folder, 'outwait.servers.d.ts');
    const { out } = await types(shop, '--check', '--json');
    expect(JSON.parse(out)).toEqual({ file, servers: [{ server: 'shop', tools: 1 }], changes: [`+ ${file}`] });
  });
});
