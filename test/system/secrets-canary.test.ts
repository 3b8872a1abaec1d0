import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { exportPKCS8, generateKeyPair } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../lib/process/log.js';
import type { JsonObject } from '../../lib/base/json.js';
import type { Log } from '../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../lib/local/engine.js';
import { createTransports } from '../../lib/remote/wiring/transports.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { a2aAgent, defineApp, mcpServer, type ServerConfig } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { secret, type ServerAuth } from '../../lib/workflow/server-auth.js';
import { run } from '../unit/cli/in-process.js';
import {
  closeAll,
  closedPort,
  httpClient,
  json,
  type Received,
  serve,
  transportDeps,
} from '../unit/remote/loopback.js';
import { outputs } from '../support/outputs/heard.js';

afterEach(closeAll);

// Every secret contains the word. Whatever the engine writes or prints must not.
const canary = /canary/i;
const values: Record<string, string> = {
  BEARER: 'canary-bearer-4711',
  HEADER: 'canary-header-0815',
  CLIENT: 'canary-client-secret',
};
const accessToken = 'canary-access-token';
const urlKey = '/canary-path-key-0123456789?key=canary-query-key';

/** Returns everything that a server has received, in one text. */
function told({ headers, path, text }: Received): string {
  return `${path} ${JSON.stringify(headers)} ${text} ${headers.authorization ?? ''}`;
}

type Protocol = 'mcp' | 'a2a';
type Deed = (protocol: Protocol, request: Received, response: ServerResponse) => void;

const rpc = (request: Received, part: object): object => ({ jsonrpc: '2.0', id: request.body.id, ...part });
const isStart = (request: Received): boolean => ['tools/call', 'SendMessage'].includes(request.body.method);

function task(
  protocol: Protocol,
  request: Received,
  status: 'failed' | 'working' | 'input_required',
  text: string,
): object {
  if (protocol === 'mcp') {
    const detail =
      status === 'failed' ? { error: { code: -1, message: text, data: { text } } } : { statusMessage: text };
    const inputRequests =
      status === 'input_required'
        ? {
            inputRequests: {
              q: {
                method: 'elicitation/create',
                params: { mode: 'form', message: text, requestedSchema: { type: 'object', properties: {} } },
              },
            },
          }
        : {};
    return {
      resultType: isStart(request) ? 'task' : 'complete',
      taskId: 't1',
      createdAt: '2026-11-29T10:00:00Z',
      ttlMs: null,
      status,
      ...detail,
      ...inputRequests,
    };
  }
  const message = { messageId: 'm1', role: 'ROLE_AGENT', parts: [{ text }] };
  const a2aTask = { id: 't1', contextId: 'c1', status: { state: `TASK_STATE_${status.toUpperCase()}`, message } };
  return isStart(request) ? { task: a2aTask } : a2aTask;
}

const statuses = [301, 307, 400, 401, 403, 404, 405, 408, 409, 413, 418, 421, 425, 429, 500, 502, 503, 504];
const deeds: readonly (readonly [string, Deed])[] = [
  ...statuses.map((status): readonly [string, Deed] => [
    `status ${status} with an error that holds all it was told`,
    (_protocol, request, response) => {
      const message = told(request);
      json(response, rpc(request, { error: { code: -32000, message, data: { message } } }), status, {
        location: `http://127.0.0.1:1/${accessToken}`,
        'www-authenticate': `Bearer error="${accessToken}", scope="canary.scope"`,
      });
    },
  ]),
  [
    'a JSON-RPC error',
    (_protocol, request, response) => {
      json(response, rpc(request, { error: { code: -32602, message: told(request) } }));
    },
  ],
  [
    'a failed task',
    (protocol, request, response) => {
      json(response, rpc(request, { result: task(protocol, request, 'failed', told(request)) }));
    },
  ],
  [
    'a note on its progress',
    (protocol, request, response) => {
      json(response, rpc(request, { result: task(protocol, request, 'working', told(request)) }));
    },
  ],
  [
    'a question',
    (protocol, request, response) => {
      json(response, rpc(request, { result: task(protocol, request, 'input_required', told(request)) }));
    },
  ],
  [
    'text that is no JSON',
    (_protocol, request, response) => {
      json(response, `{ ${told(request)}`);
    },
  ],
  [
    'a page',
    (_protocol, request, response) => {
      json(response, told(request), 200, { 'content-type': 'text/html' });
    },
  ],
  [
    'JSON that is no response',
    (_protocol, request, response) => {
      json(response, { [told(request)]: told(request) });
    },
  ],
  [
    'a task without an id',
    (_protocol, request, response) => {
      json(response, rpc(request, { result: { status: told(request) } }));
    },
  ],
  [
    'a header that holds all it was told',
    (_protocol, request, response) => {
      response
        .writeHead(502, { 'retry-after': told(request).slice(0, 500), 'content-type': told(request).slice(0, 500) })
        .end();
    },
  ],
  ['a reset', (_protocol, _request, response) => void response.socket?.resetAndDestroy()],
  [
    'a body that is cut',
    (_protocol, request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9999' });
      response.write(told(request), () => response.socket?.destroy());
    },
  ],
  ['nothing', () => undefined],
];

const auths: readonly (readonly [string, (issuer: string, key: string) => ServerAuth])[] = [
  [
    'bearer and headers',
    () => ({ bearer: secret('BEARER'), headers: { 'x-api-key': secret('HEADER'), 'x-other': 'canary-literal' } }),
  ],
  [
    'an OAuth secret',
    (issuer) => ({ oauth: { clientId: 'id', clientSecret: secret('CLIENT'), tokenUrl: `${issuer}/token` } }),
  ],
  [
    'an OAuth key',
    (issuer, key) => ({
      oauth: { clientId: 'id', privateKey: { key, algorithm: 'ES256' }, tokenUrl: `${issuer}/token` },
    }),
  ],
];

/** Starts an authorization server that puts everything that it receives into its answers. */
async function authority(): Promise<string> {
  let count = 0;
  const { url } = await serve((request, response) => {
    const isRefusal = ++count > 1;
    if (isRefusal) json(response, { error: told(request), error_description: told(request) }, 400);
    else json(response, { access_token: accessToken, token_type: 'Bearer', expires_in: 600 });
  });
  return new URL(url).origin;
}

let privateKey: string;
beforeAll(async () => {
  privateKey = await exportPKCS8((await generateKeyPair('ES256', { extractable: true })).privateKey);
});
/** Returns a piece of the key that occurs in no other text. */
const pieceOf = (pem: string): string => pem.split('\n')[1]?.slice(10, 50) ?? 'no key';

function configOf(protocol: Protocol, url: string, auth: ServerAuth): ServerConfig {
  return protocol === 'mcp' ? mcpServer({ url, auth, protocolVersion: '2026-07-28' }) : a2aAgent({ url, auth });
}

async function allReplies(protocol: Protocol, url: string, auth: ServerAuth): Promise<string> {
  const said: unknown[] = [];
  const note = (...line: unknown[]): void => void said.push(line);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const readSecret = (name: string): string | undefined => values[name];
  const deps = transportDeps(httpClient({ limits: { totalMs: 150 } }), { readSecret, log });
  const transport = createTransports({ remote: configOf(protocol, url, auth) }, deps).get('remote');
  const wire = protocol === 'mcp' ? '2026-07-28' : '1.0';
  const handle = { server: 'remote', protocol, wire, taskId: 't1', contextId: 'c1' };
  const request =
    protocol === 'mcp'
      ? ({ kind: 'tool', tool: 'x', arguments: {} } as const)
      : ({ kind: 'skill', skill: 'x', arguments: {} } as const);
  said.push(await transport.start({ request, idempotencyKey: 'k', answersQuestions: true }));
  said.push(await transport.get(handle), await transport.cancel(handle));
  const question = { key: 'q', kind: 'form', message: '' } as const;
  said.push(await transport.answer?.(handle, question, { action: 'decline' }, 'a'));
  return JSON.stringify(said);
}

describe.each(['mcp', 'a2a'] as const)('K7: over %s no secret comes out of a server that answers with', (protocol) => {
  it.each(deeds)('%s', async (name, deed) => {
    for (const [, authOf] of auths) {
      const server = await serve((request, response) => {
        deed(protocol, request, response);
      });
      const url = new URL(server.url).origin + urlKey;
      const said = await allReplies(protocol, url, authOf(await authority(), privateKey));
      expect(server.received.length).toBeGreaterThan(0);
      expect(said).not.toMatch(canary);
      expect(said).not.toContain(pieceOf(privateKey));
      // A question may lead to a page of the same server.
      if (name !== 'a question') expect(said).not.toContain(new URL(url).host);
    }
  });

  it('no connection at all', async () => {
    const port = await closedPort();
    const said = await allReplies(protocol, `http://127.0.0.1:${port}${urlKey}`, { bearer: secret('BEARER') });
    expect(said).not.toMatch(canary);
    expect(said).not.toContain(String(port));
  });
});

describe('K7: of a whole run', () => {
  let engine: LocalEngine | undefined;
  const lines: string[] = [];
  const table = new MemoryTable();
  const fails = defineWorkflow({
    name: 'fails',
    run: async (ctx, input: unknown) => {
      const { server } = input as { readonly server: string };
      await ctx.callRemoteTask({ server, tool: 'x', arguments: {}, timeout: { seconds: 20 } });
    },
  });

  beforeAll(() => {
    Object.assign(process.env, values);
  });
  afterAll(async () => {
    await engine?.stop();
    for (const name of Object.keys(values)) Reflect.deleteProperty(process.env, name);
  });

  it('no secret is in its log, its items, its history and what the commands print', async () => {
    const issuer = await authority();
    const echo = (status: number, failed: boolean) =>
      serve((request, response) => {
        const body = failed
          ? rpc(request, { result: task('mcp', request, 'failed', told(request)) })
          : rpc(request, {
              error: { code: -32000, message: told(request), data: told(request) as unknown as JsonObject },
            });
        json(response, body, status);
      });
    const refusing = await echo(400, false);
    const failing = await echo(200, true);
    const unwell = await echo(503, false);
    const keyed = (url: string): string => new URL(url).origin + urlKey;
    const [bearer, oauth] = [auths[0]?.[1](issuer, privateKey) ?? {}, auths[1]?.[1](issuer, privateKey) ?? {}];
    const servers = {
      refusing: configOf('mcp', keyed(refusing.url), bearer),
      failing: configOf('mcp', keyed(failing.url), oauth),
      unwell: configOf('mcp', keyed(unwell.url), bearer),
    };
    const destination = new Writable({
      write: (chunk, _encoding, done) => {
        outputs.hear('log', String(chunk));
        lines.push(String(chunk));
        done();
      },
    });
    engine = await startLocalEngine({
      app: defineApp({ workflows: [fails], servers }),
      table,
      tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
      log: createLog({ level: 'debug', destination }),
      port: 0,
    });
    const printed: string[] = [];
    const cli = async (...args: string[]): Promise<string> => {
      const { out, err } = await run(...args, '--url', engine?.url ?? '');
      printed.push(out, err);
      return out;
    };
    const runIds: string[] = [];
    for (const server of ['refusing', 'failing', 'unwell']) {
      const out = await cli(
        'start',
        'fails',
        '--input',
        JSON.stringify({ server }),
        '--json',
        ...(server === 'unwell' ? [] : ['--wait']),
      );
      const runId = /[0-9a-f]{32}/.exec(out)?.[0] ?? '';
      runIds.push(runId);
      for (const command of ['show', 'why', 'history']) {
        await cli(command, runId);
        await cli(command, runId, '--json');
      }
    }
    await cli('servers');
    await cli('list');
    const store = new RunStore(table);
    const records = await Promise.all(runIds.map((runId) => store.runs.read(runId)));
    const all = [...lines, ...printed, JSON.stringify([...table.items()]), JSON.stringify(records)];
    expect([refusing, failing, unwell].map(({ received }) => received.length > 0)).toEqual([true, true, true]);
    expect(JSON.stringify(records)).toContain('[redacted]');
    expect(all.filter((text) => canary.test(text))).toEqual([]);
  });
});
