import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JsonValue } from '../../../lib/base/json.js';
import { textOf } from '../../../lib/workflow/outcome.js';
import type { ServerConfig } from '../../../lib/workflow/app.js';
import { closedPort, closeAll, json, result, serve, type Answer } from '../remote/loopback.js';
import { recordingOf, serveAnimal, type SceneEnd, type ZooAnimal } from '../../system/zoo/animal.js';
import { zoo } from '../../system/zoo/zoo.js';
import { run } from './in-process.js';

const folders: string[] = [];
afterEach(async () => {
  await closeAll();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** Writes a configuration with these servers. */
async function configWith(servers: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-try-test-'));
  folders.push(folder);
  const file = join(folder, 'outwait.config.ts');
  await writeFile(
    file,
    `import { a2aAgent, defineApp, mcpServer, secret } from 'outwait';
     void [a2aAgent, mcpServer, secret];
     export default defineApp({ workflows: [], servers: { ${servers} } });`,
  );
  return file;
}

/** Returns the argument that a person would type. */
const placeOf = ({ url, ...more }: ServerConfig): string =>
  url ?? ('card' in more && typeof more.card === 'string' ? more.card : '');

/** Returns the options that the output tells the reader to set. */
const optionsIn = (out: string): readonly string[] =>
  [...out.matchAll(/^set +(.*?) {2}\(/gm)].map(([, line]) => line ?? '');

interface Row {
  readonly title: string;
  readonly version: string;
  readonly triedOn: string;
  readonly speaks: string;
  readonly options: readonly string[];
}

/** Reads the table of servers that were tried. */
async function tableRows(): Promise<readonly Row[]> {
  const docs = await readFile(new URL('../../../docs/reference.md', import.meta.url), 'utf8');
  const [, table = ''] = /^\| server \| version \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/m.exec(docs) ?? [];
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const cells = line.split('|').map((cell) => cell.trim());
      const [, title = '', version = '', triedOn = '', speaks = '', , options = ''] = cells;
      return {
        title,
        version,
        triedOn,
        // The text in brackets is meant for the reader.
        speaks: speaks.replace(/ \(.*\)$/, ''),
        options: [...options.matchAll(/`([^`]+)`/g)].map(([, option]) => option ?? ''),
      };
    });
}

async function rowOf(title: string, version: string): Promise<Row> {
  const row = (await tableRows()).find((one) => one.title === title && one.version === version);
  if (row === undefined) throw new Error(`docs/reference.md has no row for ${title} ${version}`);
  return row;
}

/** Returns `A2A 1.0`, or `MCP 2025-11-25 with tasks`. */
function spokenIn(out: string): string {
  const [, spoken = '', protocol = ''] = /^speaks +((A2A|MCP) [\d.-]+)/m.exec(out) ?? [];
  const [, tasks] = /^tasks +(yes|no)\b/m.exec(out) ?? [];
  return protocol === 'A2A' ? spoken : `${spoken} ${tasks === 'yes' ? 'with' : 'without'} tasks`;
}

/** Returns how the call has ended according to the output: the kind, and the text of the result or of the error. */
function outcomeIn(out: string): { readonly kind: string; readonly text: string } {
  const [, kind = '', rest = ''] = /^outcome +(failed|completed with an error|completed): (.*)$/m.exec(out) ?? [];
  if (kind === 'failed' || kind === '') return { kind, text: rest.replace(/ \(REMOTE_[A-Z_]+\)$/, '') };
  const outcome = { result: JSON.parse(rest) as JsonValue, isError: kind !== 'completed', server: '' };
  return { kind, text: textOf(outcome) };
}

/** Returns the skills of the recorded card, or the tools that were listed. */
function offeredBy(animal: ZooAnimal): string {
  const bodies = recordingOf(animal).look.map(
    ({ reply }) => JSON.parse(/\{.*\}/s.exec(reply?.body ?? '')?.[0] ?? '{}') as Offer,
  );
  const { skills = [] } = bodies[0] ?? {};
  const tools = bodies.flatMap(({ result: offered }) => offered?.tools ?? []);
  const names = [
    ...skills.map(({ id }) => id),
    ...tools.map(({ name, execution }) => (execution?.taskSupport === undefined ? name : `${name} (task)`)),
  ];
  // The id in the query of the URL counts as a credential.
  return names.length === 0 ? 'none' : names.join(', ').replace(/[0-9a-f-]{36}/, '[redacted]');
}

interface Offer {
  readonly skills?: readonly { readonly id: string }[];
  readonly result?: {
    readonly tools?: readonly { readonly name: string; readonly execution?: { readonly taskSupport?: string } }[];
  };
}

/** Returns what a person sees of how a scene ends. */
function shownOf(end: SceneEnd | undefined): { readonly kind: string; readonly text: string } {
  switch (end?.kind) {
    case 'completed':
      return { kind: end.isError === true ? 'completed with an error' : 'completed', text: end.text };
    case 'failed':
      return { kind: 'failed', text: `remote task failed: ${end.reason}` };
    case 'cancelled':
    case 'refused':
    case 'silent':
    case 'working':
    case undefined:
      throw new Error(`a call that is tried does not end as ${end?.kind ?? 'nothing'}`);
  }
}

/** Answers as an A2A 1.0 agent whose card includes `more`, and whose requests about tasks `task` answers. */
const agent =
  (more: object = {}, task: (method: string) => object = () => ({})): Answer =>
  (request, response) => {
    if (request.httpMethod === 'GET') {
      const url = `http://${request.headers.host}/rpc`;
      const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
      json(response, { name: 'agent', supportedInterfaces, capabilities: {}, skills: [{ id: 'report' }], ...more });
      return;
    }
    const { method } = request.body;
    const isAnswered = method === 'SendMessage' || method === 'CancelTask' || request.body.params['id'] === 't1';
    if (isAnswered) result(response, request, task(method));
    else json(response, { jsonrpc: '2.0', id: request.body.id, error: { code: -32001, message: 'no such task' } });
  };

const working = (method: string) => {
  const state = method === 'CancelTask' ? 'TASK_STATE_CANCELED' : 'TASK_STATE_WORKING';
  const task = { id: 't1', contextId: 'c1', status: { state } };
  return method === 'SendMessage' ? { task } : task;
};

describe('outwait try: a look at a server', () => {
  it.each(zoo)(
    'is for $name what the table of docs/reference.md says: what it speaks, the options that help',
    async (animal) => {
      const server = await serveAnimal(animal);
      const entry = animal.entry(server.origin);
      const { code, out } = await run('try', placeOf(entry));
      expect(code).toBe(0);
      const row = await rowOf(animal.title, animal.version);
      expect(spokenIn(out)).toBe(row.speaks);
      expect(optionsIn(out)).toEqual(row.options);
      expect({ triedOn: row.triedOn, options: row.options }).toEqual({
        triedOn: animal.recordedOn,
        options: animal.options,
      });
      expect(/^(?:skills|tools) +(.*)$/m.exec(out)?.[1]).toBe(offeredBy(animal));
      const inEntry = row.options.map((option) => `, ${option}`).join('');
      expect(out).toMatch(/^entry +server: (a2aAgent|mcpServer)\(\{ .* \}\),$/m);
      expect(out.split('\n').find((line) => line.startsWith('entry'))).toContain(`"${inEntry} }),`);
      expect(server.unknown.filter((operation) => !operation.endsWith('/.well-known/agent-card.json'))).toEqual([]);
      expect(server.starts()).toBe(0);
    },
  );

  it('is tried for each row of the table', async () => {
    const rows = await tableRows();
    expect(rows.map(({ title, version }) => `${title} ${version}`).sort()).toEqual(
      zoo.map(({ title, version }) => `${title} ${version}`).sort(),
    );
  });

  it('names the host that a card leads to, as the option that allows it', async () => {
    const supportedInterfaces = [
      { url: 'http://other.example:8443/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ];
    const { url } = await serve(agent({ supportedInterfaces }));
    const { code, out } = await run('try', new URL(url).origin);
    expect(code).toBe(1);
    expect(optionsIn(out)).toEqual(['allowedHosts: ["other.example:8443"]']);
    expect(out).toContain('points to the host other.example:8443');
  });

  it.each([401, 403])('says that auth is missing when a card is answered with %i', async (status) => {
    const { url } = await serve((_, response) => {
      json(response, {}, status);
    });
    const { code, out } = await run('try', new URL(url).origin);
    expect(code).toBe(1);
    expect(optionsIn(out)).toEqual([`auth: { bearer: secret('TOKEN') }`]);
    expect(out).toMatch(/^missing +as an agent \(A2A\): /m);
  });

  it('says that auth is missing when the card is public and the agent is not', async () => {
    const { url } = await serve((request, response) => {
      if (request.httpMethod === 'GET')
        agent({ securitySchemes: { main: { type: 'http', scheme: 'bearer' } } })(request, response);
      else json(response, {}, 401);
    });
    const { code, out } = await run('try', new URL(url).origin);
    expect(code).toBe(1);
    expect(out).toMatch(/^auth +none set; requested: main \(http bearer\), not satisfied$/m);
    expect(optionsIn(out)).toEqual([`auth: { bearer: secret('TOKEN') }`]);
  });

  it('reports that a card leads to something other than an agent', async () => {
    const { url } = await serve((request, response) => {
      if (request.httpMethod === 'GET') agent()(request, response);
      else json(response, '<h1>Not Found</h1>', 404, { 'content-type': 'text/html' });
    });
    const { code, out } = await run('try', new URL(url).origin, '--message', 'x');
    expect(code).toBe(1);
    expect(out).toMatch(
      /^missing +a read of a task did not return a response of the protocol: the server answered with status 404$/m,
    );
  });

  it('needs allowPrivateAddresses for an address that is not public', async () => {
    const { code, out } = await run('try', 'http://10.1.2.3/mcp');
    expect(code).toBe(1);
    expect(optionsIn(out)).toEqual(['allowPrivateAddresses: true']);
  });

  it('shows the extended card and that an agent dedupes', async () => {
    const uri = 'https://outwait.dev/a2a/extensions/idempotent-send/v1';
    const { url } = await serve(agent({ capabilities: { extendedAgentCard: true, extensions: [{ uri }] } }));
    const { code, out } = await run('try', new URL(url).origin);
    expect(code).toBe(0);
    expect(out).toMatch(/^dedupes +yes, the card says so$/m);
    expect(out).not.toContain('dedupes: true');
    expect(optionsIn(out)).toEqual(['extendedCard: true']);
  });

  it('shows the first twenty skills', async () => {
    const skills = Array.from({ length: 23 }, (_, index) => ({ id: `s${index + 1}` }));
    const { url } = await serve(agent({ skills }));
    const { out } = await run('try', new URL(url).origin);
    expect(out).toMatch(/^skills +s1, .*s20 and 3 more$/m);
  });

  it.each([
    [
      'a guess at jobs',
      ['start_export', 'export_status', 'cancel_export'],
      "jobs: { start_export: { id: 'job_id', status: 'export_status', cancel: 'cancel_export' } }",
    ],
    ['no guess', ['quick', 'slow'], undefined],
  ])('has of plain tools %s, beside the entry and not in it', async (_, names, line) => {
    const server = await serve((request, response) => {
      const properties = (name: string): object => (name.startsWith('start') ? {} : { job_id: { type: 'string' } });
      const tools = names.map((name) => ({ name, inputSchema: { type: 'object', properties: properties(name) } }));
      if (request.body.method === 'server/discover')
        result(response, request, {
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {} },
          serverInfo: { name: 'x', version: '1' },
        });
      else if (request.body.method === 'tools/list') result(response, request, { resultType: 'complete', tools });
      else json(response, {}, 404);
    });
    const { code, out } = await run('try', server.url, '--protocol', 'mcp');
    expect(code).toBe(0);
    expect(out).toMatch(/^tasks +no$/m);
    expect(/^guess +(.*?) {2}\(a guess from the names of the tools; .*docs\/workflows.md/m.exec(out)?.[1]).toBe(line);
    expect(out).toMatch(/^entry +server: mcpServer\(\{ url: "[^"]+" \}\),$/m);
    expect(server.received.some(({ body }) => body.method === 'tools/call')).toBe(false);
    const { guesses } = JSON.parse((await run('try', server.url, '--protocol', 'mcp', '--json')).out) as {
      guesses: { line: string }[];
    };
    expect(guesses.map((guess) => guess.line)).toEqual(line === undefined ? [] : [line]);
  });

  it('says what both protocols came to where there is neither', async () => {
    const { code, out } = await run('try', `http://127.0.0.1:${await closedPort()}`);
    expect(code).toBe(1);
    expect(out).toMatch(/as an agent \(A2A\): .*no connection[^]*as an MCP server: .*no connection/);
  });
});

describe('outwait try: one real call', () => {
  const callable = zoo.filter((animal) => animal.ends['quick']?.kind === 'completed');

  it.each(callable)('calls $name, shows the wire and ends with 0', async (animal) => {
    const server = await serveAnimal(animal);
    const entry = animal.entry(server.origin);
    const { request } = recordingOf(animal).scenes['quick'] ?? {};
    const call = request?.kind === 'tool' ? ['--tool', request.tool] : ['--message', 'quick'];
    const { code, out } = await run('try', placeOf(entry), ...call);
    expect(out).toMatch(/^> POST http:\/\/127\.0\.0\.1:\d+/m);
    expect(out).toMatch(/^< 200 [a-z/+-]+ \d+ ms$/m);
    const { quick } = { ...animal.ends, ...animal.endsOverStream };
    expect(outcomeIn(out)).toEqual(shownOf(quick));
    expect({ code, starts: server.starts() }).toEqual({ code: 0, starts: 1 });
  });

  it.each(zoo)('tells how a call of $name that fails has ended', async (animal) => {
    const server = await serveAnimal(animal);
    const entry = animal.entry(server.origin);
    const call = entry.protocol === 'mcp' ? ['--tool', 'fail'] : ['--message', 'fail'];
    const { code, out } = await run('try', placeOf(entry), ...call);
    const { fail: end } = { ...animal.ends, ...animal.endsOverStream };
    expect(outcomeIn(out)).toEqual(shownOf(end));
    // BeeAI reports a failure in a message like any other.
    expect({ code, starts: server.starts() }).toEqual({ code: animal.name === 'a2a-beeai' ? 0 : 1, starts: 1 });
  });

  it('shows no credential, wherever it is sent or comes back', async () => {
    const { url, received } = await serve((request, response) => {
      const { authorization = '' } = request.headers;
      const [, token = ''] = authorization.split(' ');
      const echo = { text: `${authorization} ${String(request.headers['x-key'])} ${encodeURIComponent(token)}` };
      agent({ name: authorization, skills: [{ id: authorization }] }, () => ({
        message: { messageId: 'm', role: 'ROLE_AGENT', parts: [echo] },
      }))(request, response);
    });
    const { origin } = new URL(url);
    const config = await configWith(
      `shop: a2aAgent({ card: '${origin}/?key=canary-q', auth: { bearer: 'canary/b"1', headers: { 'x-key': 'canary-h' } } })`,
    );
    for (const more of [[], ['--json']]) {
      const { code, out, err } = await run('try', 'shop', '--config', config, '--message', 'hi', ...more);
      expect(code).toBe(0);
      const wire = out.replace(/^outcome .*$|"call":.*$/gm, '');
      expect(wire).toContain('[redacted]');
      expect(wire + err).not.toMatch(/canary/);
    }
    expect(received.at(-1)?.headers.authorization).toBe('Bearer canary/b"1');
  });

  it('shows nothing of what is said to an authorization server', async () => {
    const { url } = await serve((request, response) => {
      if (request.path === '/token') json(response, { access_token: 'canary-token', token_type: 'Bearer' });
      else
        agent({}, () => ({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } }))(
          request,
          response,
        );
    });
    const { origin } = new URL(url);
    const oauth = `{ clientId: 'us', clientSecret: 'canary-secret', tokenUrl: '${origin}/token' }`;
    const config = await configWith(`shop: a2aAgent({ card: '${origin}', auth: { oauth: ${oauth} } })`);
    const { code, out } = await run('try', 'shop', '--config', config, '--message', 'hi');
    expect(code).toBe(0);
    expect(out).toMatch(/^auth +set: oauth; /m);
    expect(out).toContain(`> POST ${origin}/token\n[not shown: it holds credentials]`);
    expect(out).not.toContain('canary');
  });

  it('says so when a task brought nothing', async () => {
    const task = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' } };
    const { url } = await serve(agent({}, (method) => (method === 'SendMessage' ? { task } : task)));
    const { out } = await run('try', new URL(url).origin, '--message', 'x');
    expect(out).toMatch(/^outcome +completed, with neither text nor data in it: /m);
  });

  it('cancels the task at Ctrl-C', async () => {
    const { url, received } = await serve(
      agent({}, (method) => {
        if (method === 'GetTask') process.emit('SIGINT');
        return working(method);
      }),
    );
    const { code, out } = await run('try', new URL(url).origin, '--message', 'x');
    expect(code).toBe(1);
    expect(received.filter(({ body }) => body.method === 'CancelTask')).toHaveLength(1);
    expect(out).toMatch(/^outcome +given up after Ctrl-C/m);
  });

  it('at Ctrl-C before the start is answered says that a task may be running, and hangs up', async () => {
    let hungUp = false;
    const { url, received } = await serve((request, response) => {
      if (request.body.method !== 'SendMessage') agent()(request, response);
      else {
        response.on('close', () => (hungUp = true));
        process.emit('SIGINT');
      }
    });
    const { code, out } = await run('try', new URL(url).origin, '--message', 'x');
    expect(code).toBe(1);
    expect(out).toMatch(
      /^outcome +given up after Ctrl-C, before the server had answered the start: a task may be running$/m,
    );
    expect(received.filter(({ body }) => body.method === 'SendMessage')).toHaveLength(1);
    await vi.waitUntil(() => hungUp);
  });

  it('says that a start without an answer may be running, and does not repeat it', async () => {
    const { url, received } = await serve((request, response) => {
      if (request.body.method === 'SendMessage') json(response, 'oops', 502);
      else agent()(request, response);
    });
    const { code, out } = await run('try', new URL(url).origin, '--message', 'x');
    expect(code).toBe(1);
    expect(received.filter(({ body }) => body.method === 'SendMessage')).toHaveLength(1);
    expect(out).toMatch(/^outcome +unknown whether anything was started: /m);
  });

  it('gives all of it as one line of JSON', async () => {
    const { url } = await serve(
      agent({}, () => ({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } })),
    );
    const { code, out } = await run(
      'try',
      new URL(url).origin,
      '--skill',
      'report',
      '--arguments',
      '{"month":"05"}',
      '--json',
    );
    expect(code).toBe(0);
    const answer = JSON.parse(out) as { wire: { method: string; body: string }[] };
    expect(answer).toMatchObject({ callable: true, call: { kind: 'ended', end: { kind: 'completed' } } });
    expect(answer.wire.at(-1)).toMatchObject({ method: 'POST', status: 200, mediaType: 'application/json' });
    expect(answer.wire.at(-1)?.body).toContain('"skill":"report","arguments":{"month":"05"}');
  });
});

describe('outwait try: wrong commands', () => {
  it('names the servers that there are', async () => {
    const config = await configWith(`shop: mcpServer({ url: 'https://shop.example/mcp' })`);
    const { code, err } = await run('try', 'shoe', '--config', config);
    expect(code).toBe(1);
    expect(err).toContain(`no server is named "shoe"; ${config} has shop.`);
  });

  it.each([
    [['http://127.0.0.1:1', '--arguments', '{}'], '--arguments needs --tool or --skill'],
    [['http://127.0.0.1:1', '--tool', 'x', '--arguments', '[]'], '--arguments must be a JSON object'],
    [['http://127.0.0.1:1', '--tool', 'x', '--message', 'y'], 'cannot be used with'],
    [['shop', '--protocol', 'mcp'], '--protocol is for a URL'],
    [['http://user:word@127.0.0.1:1'], 'user info is not supported'],
  ])('%j is a usage error', async (args, problem) => {
    const { code, err } = await run('try', ...args);
    expect(code).toBe(2);
    expect(err).toContain(problem);
    expect(err).not.toContain('word@');
  });

  it('a tool is nothing for an agent', async () => {
    const { url, received } = await serve(agent());
    const { code, err } = await run('try', new URL(url).origin, '--tool', 'x');
    expect(code).toBe(1);
    expect(err).toContain('speaks A2A, which takes a skill or a message, not a tool');
    expect(received.some(({ body }) => body.method === 'SendMessage')).toBe(false);
  });
});
