import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { EngineError } from '../../../../lib/base/errors.js';
import { silentLog } from '../../../../lib/base/log.js';
import { createMcpRoutes, type McpOptions } from '../../../../lib/serve/mcp/routes.js';
import { type AnyWorkflow, defineWorkflow } from '../../../../lib/workflow/define-workflow.js';
import type { ServeConfig } from '../../../../lib/workflow/serve.js';
import { declaresForms, mcpRequests } from '../../../support/mcp-requests.js';
import { type Script, ScriptedTasks } from '../../../support/scripted-tasks.js';

// Ids in the names are those of the edge cases of servers.

const report = defineWorkflow({
  name: 'report',
  input: z.object({ month: z.string().meta({ 'x-mcp-header': 'Month' }).optional() }),
  run: () => Promise.resolve('done'),
});
const only = defineWorkflow({ name: 'only', run: () => Promise.resolve('done') });
const workflows: ReadonlyMap<string, AnyWorkflow> = new Map(
  [report, only].map((workflow) => [workflow.name, workflow as AnyWorkflow]),
);
const serve: ServeConfig = {
  agent: { name: 'Desk', description: 'Does things', url: 'https://flows.example.com' },
  skills: {
    report: { description: 'Writes a report', output: z.object({ rows: z.number() }), hints: { readOnly: true } },
    only: { description: 'A task', task: 'required' },
  },
};

function aDoor(script?: Script, more: Partial<McpOptions> = {}) {
  const tasks = new ScriptedTasks(script);
  let ids = 0;
  const routes = createMcpRoutes({
    ...{ serve, workflows, log: silentLog, seal: (text: string) => Buffer.from(text).toString('hex').slice(-40) },
    clock: { nowMs: () => tasks.nowMs },
    newId: () => `id-${++ids}`,
    admit: (request) => {
      const caller = request.headers.get('authorization')?.replace('Bearer ', '') ?? 'ann';
      if (caller === 'nobody') throw new EngineError('UNAUTHORIZED', 'a valid bearer token is needed');
      if (caller === 'reader') throw new EngineError('FORBIDDEN', 'the caller needs the role call');
      return { tasks: tasks.of(caller) };
    },
    ...more,
  });
  return { tasks, routes, ...mcpRequests(routes) };
}

const completes: Script = (taskId, _, tasks) => {
  tasks.status(taskId, 'working');
  tasks.complete(taskId, { rows: 3 });
};
const call = { name: 'report', arguments: {} };
const full = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/list',
};
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const aList = (params: object) => JSON.stringify({ jsonrpc: '2.0', id: 'q1', method: 'tools/list', params });

describe('a request of 2026-07-28', () => {
  it('MCP-S11: has its name decoded from base64 of UTF-8', async () => {
    const { modern } = aDoor();
    const wrapped = `=?base64?${Buffer.from('report').toString('base64')}?=`;
    expect((await modern('tools/call', call, { headers: { 'mcp-name': wrapped } })).body.result).toBeDefined();
  });

  it.each([
    ['MCP-S12: has base64 with wrong padding', { 'mcp-name': '=?base64?cmVwb3J0Cg?=' }],
    ['MCP-S12: has a name that only begins like base64', { 'mcp-name': '=?base64?cmVwb3J0' }],
    ['MCP-S13: has another method in its header', { 'mcp-method': 'tools/list' }],
    ['MCP-S13: has a method in another case', { 'mcp-method': 'TOOLS/CALL' }],
    ['MCP-S13: has another name in its header', { 'mcp-name': 'only' }],
    ['MCP-S13: has another version in its header', { 'mcp-protocol-version': '2025-11-25' }],
  ])('%s: -32020 with its id', async (_, headers) => {
    const { modern, tasks } = aDoor();
    const { status, body } = await modern('tools/call', call, { headers });
    expect([status, body.error?.code, body.id]).toEqual([400, -32020, 'q1']);
    expect(tasks.sent).toEqual([]);
  });

  it('MCP-S13: may have spaces around a value, and headers in any case', async () => {
    const { raw } = aDoor();
    const headers = { 'MCP-Protocol-Version': ' 2026-07-28 ', 'MCP-METHOD': ' tools/list ' };
    expect((await raw(aList({ _meta: meta }), headers)).status).toBe(200);
  });

  it.each([
    ['MCP-S13: lacks the header of the version', { 'mcp-method': 'tools/list' }, { _meta: meta }, -32020],
    ['MCP-S13: lacks the header of the method', { 'mcp-protocol-version': '2026-07-28' }, { _meta: meta }, -32020],
    [
      'MCP-S14: has a body of an unknown version',
      full,
      { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2030-01-01' } },
      -32020,
    ],
    ['MCP-S15: has no _meta', full, {}, -32602],
    ['MCP-S15: has no version in _meta', full, { _meta: { 'io.modelcontextprotocol/clientCapabilities': {} } }, -32602],
    [
      'MCP-S15: has no capabilities in _meta',
      full,
      { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      -32602,
    ],
  ])('%s', async (_, headers, params, code) => {
    const { status, body } = await aDoor().raw(aList(params), headers);
    expect([status, body.error?.code, body.id]).toEqual([400, code, 'q1']);
  });

  it('MCP-S14: of a version that is not served is told which are', async () => {
    const _meta = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2030-01-01' };
    const { status, body } = await aDoor().raw(aList({ _meta }), { ...full, 'mcp-protocol-version': '2030-01-01' });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: -32022,
      data: { supported: ['2026-07-28'], requested: '2030-01-01' },
    });
  });

  it.each([
    ['[]', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600],
    [`{"jsonrpc":"2.0","id":"${'q'.repeat(1_025)}","method":"tools/list"}`, -32600],
    [
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"${'p'.repeat(1_025)}"}}}`,
      -32602,
    ],
    ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', -32600],
    ['{', -32700],
  ])('MCP-S16: %s is refused', async (text, code) => {
    const { status, body } = await aDoor().raw(text, full);
    expect([status, body.error?.code]).toEqual([400, code]);
  });

  it('MCP-S16: of another media type is refused', async () => {
    expect((await aDoor().raw('x', { ...full, 'content-type': 'text/plain' })).status).toBe(415);
  });

  it('MCP-S16: without an id is a notification, and has no answer', async () => {
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const { status, text: came } = await aDoor().raw(text, full);
    expect([status, came]).toEqual([202, '']);
  });

  it.each(['GET', 'DELETE', 'PUT'])('MCP-S17: by %s is not allowed', async (method) => {
    const { status, headers } = await aDoor().raw('', {}, method);
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('MCP-S17: with a session is served, and the session not echoed', async () => {
    const { status, headers } = await aDoor().raw(aList({ _meta: meta }), { ...full, 'mcp-session-id': 's1' });
    expect([status, headers.get('mcp-session-id')]).toEqual([200, null]);
  });

  it.each(['ping', 'initialize', 'tasks/list', 'tasks/result', 'toString', 'nonsense'])(
    'MCP-S18: for %s is not found',
    async (method) => {
      const { status, body } = await aDoor().modern(method, { taskId: 't' });
      expect([status, body.error?.code, body.id]).toEqual([404, -32601, 'q1']);
    },
  );

  it('MCP-S19: of a page of another origin is forbidden; one of its own is served', async () => {
    const { modern } = aDoor();
    expect((await modern('tools/list', {}, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
    expect((await modern('tools/list', {}, { headers: { origin: 'https://flows.example.com' } })).status).toBe(200);
  });

  it('is refused without a credential or a role', async () => {
    const { modern } = aDoor();
    const refused = await modern('tools/list', {}, { caller: 'nobody' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect((await modern('tools/list', {}, { caller: 'reader' })).status).toBe(403);
  });

  it('must repeat the arguments that the schema names in headers', async () => {
    const { modern } = aDoor();
    const params = { name: 'report', arguments: { month: '2026-10' } };
    expect((await modern('tools/call', params)).body.error?.code).toBe(-32020);
    expect((await modern('tools/call', params, { headers: { 'mcp-param-month': '2026-11' } })).body.error?.code).toBe(
      -32020,
    );
    expect((await modern('tools/call', params, { headers: { 'mcp-param-month': '2026-10' } })).body.error).toBe(
      undefined,
    );
  });
});

describe('the list of tools', () => {
  it('is the same for clients with and without tasks, and may be kept by its caller', async () => {
    const { modern } = aDoor();
    const list = (await modern('tools/list')).body.result;
    expect((await modern('tools/list', {}, { capabilities: {} })).body.result).toEqual(list);
    expect(list).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
    const tools = list?.['tools'] as readonly { readonly name: string; readonly outputSchema?: object }[];
    expect(tools.map(({ name }) => name)).toEqual([
      ...['report', 'only', 'start_run', 'run_status', 'wait_for_run', 'signal_run', 'cancel_run'],
    ]);
    expect(tools[0]).toMatchObject({ annotations: { readOnlyHint: true } });
    expect(JSON.stringify(tools[0]?.outputSchema)).toContain('runId');
  });

  it('promises no structured content of a tool whose result is text', async () => {
    const { modern } = aDoor(undefined, {
      serve: { ...serve, skills: { report: { description: 'Writes', output: z.string() } } },
    });
    const { tools } = (await modern('tools/list')).body.result as { readonly tools: readonly object[] };
    expect(tools[0]).toMatchObject({ name: 'report' });
    expect(tools[0]).not.toHaveProperty('outputSchema');
  });

  it('refuses a cursor that is not its own', async () => {
    const { modern } = aDoor();
    for (const cursor of ['x', Buffer.from('900').toString('base64url'), 7])
      expect((await modern('tools/list', { cursor })).body.error?.code).toBe(-32602);
  });
});

describe('a call', () => {
  it('MCP-S64: of tasks/* without the extension is refused, even if the task exists', async () => {
    const { modern } = aDoor();
    const taskId = (await modern('tools/call', call)).body.result?.['taskId'] as string;
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { status, body } = await modern(method, { taskId }, { capabilities: {} });
      expect([status, body.error?.code]).toEqual([400, -32021]);
      expect(body.error?.data).toEqual({
        requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
      });
    }
  });

  it('MCP-S65: without the extension is answered with the result; a tool for tasks only is refused and nothing started', async () => {
    const { modern, tasks } = aDoor(completes);
    const done = await modern('tools/call', call, { capabilities: {} });
    expect(done.body.result).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text', text: '{"rows":3}' }],
      structuredContent: { rows: 3 },
      isError: false,
    });
    const refused = await modern('tools/call', { name: 'only' }, { capabilities: {} });
    expect([refused.status, refused.body.error?.code]).toEqual([400, -32021]);
    expect(tasks.sent).toHaveLength(1);
  });

  it('MCP-S66: has no parameter that asks for a task', async () => {
    const { modern } = aDoor(completes);
    const { body } = await modern('tools/call', { ...call, task: { ttl: 1 } }, { capabilities: {} });
    expect(body.result?.['resultType']).toBe('complete');
  });

  it('of an unknown tool is refused', async () => {
    for (const name of ['nonsense', 'toString'])
      expect((await aDoor().modern('tools/call', { name })).body.error?.code).toBe(-32602);
  });

  it('MCP-S63: four unknown ids have equal answers, byte for byte', async () => {
    const { modern } = aDoor();
    const taskId = (await modern('tools/call', call)).body.result?.['taskId'] as string;
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const said = await Promise.all(
        [taskId, 'f'.repeat(32), 'x', ''].map(async (id) => {
          const { status, text } = await modern(method, { taskId: id, inputResponses: {} }, { caller: 'bob' });
          return `${status} ${text}`;
        }),
      );
      expect(new Set(said).size).toBe(1);
      expect(said[0]).toContain('-32602');
    }
  });

  it('MCP-S72: with a key is one task; other arguments, another caller and a key that is none are told apart', async () => {
    const { modern, tasks } = aDoor();
    const headers = { 'idempotency-key': 'k1' };
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await modern('tools/call', call, { headers })).body.result?.['taskId']),
    );
    expect(new Set(ids).size).toBe(1);
    const inMeta = { meta: { 'dev.outwait/idempotencyKey': 'k1' } };
    expect((await modern('tools/call', call, inMeta)).body.result?.['taskId']).toBe(ids[0]);
    expect(
      (await modern('tools/call', call, { ...inMeta, headers: { 'idempotency-key': 'k2' } })).body.result,
    ).not.toBe(ids[0]);
    expect((await modern('tools/call', call, { headers, caller: 'bob' })).body.result?.['taskId']).not.toBe(ids[0]);
    expect((await modern('tools/call', { name: 'only' }, { headers })).body.error?.code).toBe(40901);
    for (const key of [7, 'a\nb', '']) {
      const { body } = await modern('tools/call', call, { meta: { 'dev.outwait/idempotencyKey': key } });
      expect(body.error?.code).toBe(-32602);
    }
    expect(tasks.sent).toHaveLength(3);
  });

  it('that is refused makes no task, and the tool says why', async () => {
    const { routes } = aDoor(undefined, {
      admit: () => ({
        tasks: {
          ...new ScriptedTasks().of('ann'),
          send: () =>
            Promise.reject(new EngineError('TOO_MANY_REQUESTS', 'too many', { details: { retryAfterMs: 900 } })),
        },
      }),
    });
    const { body } = await mcpRequests(routes).modern('tools/call', call);
    expect(body.result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'too many. Try again in 1 s.' }],
    });
  });
});

describe('the revisions before', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26'])('%s begins without a session', async (version) => {
    const { legacy, raw } = aDoor();
    const { body, headers } = await legacy('initialize', { protocolVersion: version, capabilities: {} }, version);
    expect(body.result).toMatchObject({ protocolVersion: version, serverInfo: { name: 'Desk' } });
    expect(body.result?.['capabilities']).toHaveProperty('tools');
    expect('tasks' in (body.result?.['capabilities'] as object)).toBe(version === '2025-11-25');
    expect(headers.get('mcp-session-id')).toBeNull();
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect((await raw(text, { 'mcp-protocol-version': version })).status).toBe(202);
  });

  it('is offered the newest for one that is not known', async () => {
    const { body } = await aDoor().legacy('initialize', { protocolVersion: '2024-11-05' });
    expect(body.result?.['protocolVersion']).toBe('2025-11-25');
  });

  it('2025-03-26 takes batches, and only that one', async () => {
    const { raw } = aDoor(completes);
    const text = JSON.stringify([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call },
      { jsonrpc: '2.0', id: 3, method: 'nonsense' },
      { jsonrpc: '2.0', id: 4, method: 'initialize' },
    ]);
    const responses = (await raw(text, {})).body as unknown as readonly { id: number; error?: { code: number } }[];
    expect(responses.map(({ id, error }) => [id, error?.code])).toEqual([
      ...[
        [1, undefined],
        [2, undefined],
        [3, -32601],
        [4, -32600],
      ],
    ]);
    expect((await raw(text, { 'mcp-protocol-version': '2025-11-25' })).body.error?.code).toBe(-32600);
    const silent = JSON.stringify([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
    expect((await raw(silent, {})).status).toBe(202);
  });

  it('wrap what is not an object, and ask nobody', async () => {
    const { legacy } = aDoor((taskId, _, tasks) => {
      tasks.status(taskId, 'working');
      tasks.complete(taskId, [1, 2]);
    });
    expect((await legacy('tools/call', call)).body.result).toMatchObject({ structuredContent: { result: [1, 2] } });
    expect((await legacy('tools/call', { name: 'only' })).body.error?.code).toBe(-32601);
  });

  it('with a version that is not served are told which are', async () => {
    const { status, body } = await aDoor().legacy('tools/list', {}, '2024-11-05');
    expect([status, body.error?.code]).toEqual([400, -32022]);
  });
});

describe('documents', () => {
  const get = async (path: string, more: Partial<McpOptions> = {}) => {
    const response = await aDoor(undefined, more).routes(new Request(`https://flows.example.com${path}`), undefined);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const secured: ServeConfig = {
    ...serve,
    agent: {
      ...serve.agent,
      security: [
        {
          name: 'login',
          type: 'openIdConnect',
          openIdConnectUrl: 'https://login.example/t1/.well-known/openid-configuration',
          scopes: ['call'],
        },
      ],
    },
  };

  it('name the issuer at both paths, and the challenge names the document', async () => {
    for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp']) {
      expect((await get(path)).status).toBe(404);
      expect((await get(path, { serve: secured })).body).toMatchObject({
        resource: 'https://flows.example.com/mcp',
        authorization_servers: ['https://login.example/t1'],
        scopes_supported: ['call'],
      });
    }
    const { headers } = await aDoor(undefined, { serve: secured }).modern('tools/list', {}, { caller: 'nobody' });
    expect(headers.get('www-authenticate')).toBe(
      'Bearer resource_metadata="https://flows.example.com/.well-known/oauth-protected-resource/mcp", scope="call"',
    );
  });

  it('say where the server is and what it speaks', async () => {
    expect((await get('/mcp/server-card')).body).toMatchObject({
      name: 'com.example.flows/mcp',
      remotes: [{ type: 'streamable-http', url: 'https://flows.example.com/mcp' }],
    });
    const { body } = await get('/.well-known/ai-catalog.json');
    expect((body['entries'] as { url: string }[]).map(({ url }) => url)).toEqual([
      'https://flows.example.com/mcp/server-card',
      'https://flows.example.com/.well-known/agent-card.json',
    ]);
    expect((await get('/mcp/nonsense')).status).toBe(404);
  });
});

it('a client that declares forms alone is not asked by a task that asks nothing', async () => {
  const { modern } = aDoor(completes);
  const { body } = await modern('tools/call', call, { capabilities: declaresForms });
  expect(body.result?.['resultType']).toBe('complete');
});
