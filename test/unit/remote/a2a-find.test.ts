// Looking for the task of a start without an answer in the list of the agent's tasks, with no option set.

import { afterEach, describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../lib/remote/a2a/message-id.js';
import { agent, handle, jsonRpc, rpcError, type Agent } from './a2a-agent.js';
import { closeAll, json, nowMs, result, type Received } from './loopback.js';
import { taskListPagesMax, taskListMs } from '../../../lib/remote/a2a/limits.js';

afterEach(closeAll);

const start = { request: { kind: 'message', parts: [{ text: 'hi' }] }, idempotencyKey: 'k' } as const;
const messageId = messageIdOf('k');
const rest = (origin: string): readonly object[] => [
  { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'acme' },
];
const old = (origin: string): readonly object[] => [
  { url: `${origin}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
];

const said = (more: object = {}) => ({ messageId, role: 'ROLE_USER', parts: [{ text: 'hi' }], ...more });
const task = (id: string, ...history: readonly object[]) => ({
  id,
  contextId: 'c1',
  status: { state: 'TASK_STATE_WORKING', timestamp: '2026-11-29T10:00:00Z' },
  history,
});
const ours = task('t1', said({ taskId: 't1' }), { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'well' }] });
const foreign = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => task(`f${from + index}`, said({ messageId: `other-${from + index}` })));
const found = { kind: 'found', handle };

type Pages = (params: Readonly<Record<string, unknown>>, asked: number) => object;

/** Starts an agent that lists what `pages` returns. */
async function listing(pages: Pages): Promise<Agent> {
  const supplier = await agent(jsonRpc);
  let asked = 0;
  supplier.answer = (request, response) => {
    result(response, request, pages(request.body.params, ++asked));
  };
  return supplier;
}

const onePage = (...tasks: readonly unknown[]): Pages => {
  return () => ({ tasks, nextPageToken: '' });
};

/** Endless pages, each of tasks that no page had before. */
const endless: Pages = (_params, asked) => ({ tasks: foreign(25, asked * 25), nextPageToken: `p${asked}` });

describe('the task of a start without an answer', () => {
  it('F62: is the one that shows our message, and the start carried no context of ours', async () => {
    const supplier = await listing(onePage(...foreign(3), ours, ...foreign(3, 3)));
    const transport = supplier.transport();
    await transport.start(start);
    expect(await transport.find(start)).toEqual(found);
    const [sent, listed] = supplier.calls().map(({ body }) => body.params);
    expect(sent!['message']).toMatchObject({ messageId });
    expect(sent!['message']).not.toHaveProperty('contextId');
    expect(listed).toEqual({ historyLength: 100, pageSize: 25 });
  });

  it('F62: is found over HTTP+JSON too, on a later page', async () => {
    const supplier = await agent(rest);
    supplier.answer = ({ path }, response) => {
      const isFirst = !path.includes('pageToken');
      json(response, isFirst ? { tasks: foreign(25), nextPageToken: 'p/1 &' } : { tasks: [ours], nextPageToken: '' });
    };
    expect(await supplier.transport().find(start)).toEqual({
      kind: 'found',
      handle: { ...handle, binding: 'HTTP+JSON', tenant: 'acme' },
    });
    expect(supplier.trail()).toEqual([
      'card',
      'GET /rest/acme/tasks?historyLength=100&pageSize=25',
      'GET /rest/acme/tasks?historyLength=100&pageSize=25&pageToken=p%2F1+%26',
    ]);
  });

  it('F62: is found among the submitted where an agent has more tasks than are looked through', async () => {
    const { history } = ours;
    const submitted = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_SUBMITTED' }, history };
    const supplier = await listing((params, asked) =>
      params['status'] === undefined ? endless(params, asked) : { tasks: [submitted], nextPageToken: '' },
    );
    expect(await supplier.transport().find(start)).toEqual(found);
    expect(supplier.calls()).toHaveLength(taskListPagesMax + 1);
    expect(supplier.calls().at(-1)!.body.params).toEqual({
      status: 'TASK_STATE_SUBMITTED',
      historyLength: 100,
      pageSize: 25,
    });
  });

  it('F62: is found by an older word for a user, and where a message does not name its task', async () => {
    for (const message of [said({ role: 'user' }), said({ taskId: '' }), said({ taskId: null })])
      expect((await (await listing(onePage(task('t1', message)))).transport().find(start)).kind).toBe('found');
  });

  it.each<[string, readonly unknown[]]>([
    ['another message', foreign(2)],
    ['a message whose id begins as ours', [task('t1', said({ messageId: `${messageId}0` }))]],
    ['a message whose id is ours in other letters', [task('t1', said({ messageId: messageId.toUpperCase() }))]],
    ['our message as one of the agent', [task('t1', said({ role: 'ROLE_AGENT' }))]],
    ['our message from nobody', [task('t1', { messageId, parts: [] })]],
    ['our message as that of another task', [task('t2', said({ taskId: 't1' }))]],
    ['our message in its status alone', [{ id: 't1', status: { state: 'TASK_STATE_WORKING', message: said() } }]],
    ['a history that is none', [{ ...ours, history: { 0: said() } }]],
    ['no history', [{ ...ours, history: undefined }]],
    ['an id that is none', [{ ...ours, id: 1 }]],
    ['no task', [null, 'task', [ours]]],
  ])('F62: is none that shows %s', async (_name, tasks) => {
    expect((await (await listing(onePage(...tasks))).transport().find(start)).kind).toBe('none');
  });

  it('F62: is not taken where two tasks show our message, wherever they are listed', async () => {
    const note = '2 tasks of the agent show the message of this start';
    const twin = task('t2', said());
    expect(await (await listing(onePage(ours, twin))).transport().find(start)).toEqual({ kind: 'none', note });
    const apart = await listing(({ pageToken }) =>
      pageToken === undefined ? { tasks: [ours], nextPageToken: 'p' } : { tasks: [twin], nextPageToken: '' },
    );
    expect(await apart.transport().find(start)).toEqual({ kind: 'none', note });
    // A task that moved to the next page meanwhile counts once.
    const moved = await listing(({ pageToken }) => ({ tasks: [ours], nextPageToken: pageToken === 'p' ? '' : 'p' }));
    expect(await moved.transport().find(start)).toEqual(found);
  });

  it('F62: is not taken under an id that cannot be kept', async () => {
    const supplier = await listing(onePage({ ...ours, id: '\ud800', history: [said()] }));
    expect((await supplier.transport().find(start)).kind).toBe('unknown');
  });
});

describe('a look through the tasks of an agent', () => {
  const hint = 'probeByContext: true helps if the agent keeps the context ids of its callers';

  it('F62: says what it went through', async () => {
    const none = async (pages: Pages) => (await listing(pages)).transport().find(start);
    expect(await none(onePage())).toEqual({ kind: 'none', note: 'the agent lists no task' });
    const all = `none of the tasks that the agent lists (2) shows the message of this start; ${hint}`;
    expect(await none(onePage(...foreign(2)))).toEqual({ kind: 'none', note: all });
    const some = `none of the tasks that were searched (200, and there are more) shows the message of this start; ${hint}`;
    expect(await none(endless)).toEqual({ kind: 'none', note: some });
    const nothing = `none of the tasks that were searched (0, and there are more) shows the message of this start; ${hint}`;
    const empty: Pages = (_params, asked) => ({ tasks: [], nextPageToken: `p${asked}` });
    expect(await none(empty)).toEqual({ kind: 'none', note: nothing });
  });

  it('F62: goes through so many pages and no more, however many there are', async () => {
    const supplier = await listing(endless);
    await supplier.transport().find(start);
    expect(supplier.calls()).toHaveLength(2 * taskListPagesMax);
  });

  it.each<[string, Pages, number]>([
    ['the same token for ever', () => ({ tasks: [ours], nextPageToken: 'p' }), 4],
    ['two tokens in turn', (_params, asked) => ({ tasks: [ours], nextPageToken: `p${asked % 2}` }), 6],
    ['a token that is no text', () => ({ tasks: [ours], nextPageToken: 7 }), 2],
    ['a token that no URL holds', () => ({ tasks: [ours], nextPageToken: '\ud800' }), 2],
    ['a token beyond all measure', () => ({ tasks: [ours], nextPageToken: 'p'.repeat(5_000) }), 2],
    ['empty pages for ever', (_params, asked) => ({ tasks: [], nextPageToken: `p${asked}` }), 8],
  ])('F62: ends where the agent gives %s', async (name, pages, calls) => {
    const supplier = await listing(pages);
    expect((await supplier.transport().find(start)).kind).toBe(name.startsWith('empty') ? 'none' : 'found');
    expect(supplier.calls()).toHaveLength(calls);
  });

  it('F62: begins no page when half of its time is over', async () => {
    let atMs = nowMs;
    const supplier = await agent(jsonRpc, {}, { deps: { clock: { nowMs: () => atMs } } });
    supplier.answer = (request, response) => {
      atMs += taskListMs / 2;
      result(response, request, endless({}, atMs));
    };
    expect((await supplier.transport().find(start)).kind).toBe('none');
    expect(supplier.calls()).toHaveLength(2);
  });

  it('F62: asks for less where a page is more than can be read', async () => {
    const supplier = await agent(jsonRpc, {}, { http: { limits: { replyMaxBytes: 4_000 } } });
    supplier.answer = (request, response) => {
      const { pageSize } = request.body.params;
      const big = { ...ours, metadata: { text: 'x'.repeat(500) } };
      result(response, request, { tasks: [big, ...foreign(Number(pageSize), 0)], nextPageToken: '' });
    };
    expect(await supplier.transport().find(start)).toEqual(found);
    expect(supplier.calls().map(({ body }) => body.params['pageSize'])).toEqual([25, 5]);
  });

  it('F62: takes a page that is longer than was asked for', async () => {
    expect(await (await listing(onePage(...foreign(500), ours))).transport().find(start)).toEqual(found);
  });

  type Refusal = (request: Received, response: Parameters<typeof json>[0]) => void;
  const error =
    (code: number, status = 200): Refusal =>
    (request, response) => {
      rpcError(response, request, code, status);
    };
  const status =
    (code: number): Refusal =>
    (_request, response) => {
      json(response, { detail: 'Not Found' }, code);
    };

  it.each<[string, (origin: string) => readonly object[], Refusal, string]>([
    ['JSON-RPC, no such method', jsonRpc, error(-32601), 'unsupported'],
    ['JSON-RPC, no such method under 404', jsonRpc, error(-32601, 404), 'unsupported'],
    ['JSON-RPC, not supported', jsonRpc, error(-32004), 'unsupported'],
    ['JSON-RPC, no list without a filter', jsonRpc, error(-32602), 'unsupported'],
    ['JSON-RPC, an error of its own', jsonRpc, error(-32603), 'unknown'],
    ['JSON-RPC, a stranger', jsonRpc, error(-32601, 401), 'unknown'],
    ['JSON-RPC, in trouble', jsonRpc, error(-32601, 503), 'unknown'],
    ['JSON-RPC, a path that is not there just now', jsonRpc, status(404), 'unknown'],
    ['HTTP+JSON, no such path', rest, status(404), 'unsupported'],
    ['HTTP+JSON, no such method', rest, status(405), 'unsupported'],
    ['HTTP+JSON, not made', rest, status(501), 'unsupported'],
    ['HTTP+JSON, in trouble', rest, status(503), 'unknown'],
    ['HTTP+JSON, a stranger', rest, status(403), 'unknown'],
  ])('F62: is over at once where the agent lists nothing: %s', async (_name, interfaces, answer, kind) => {
    const supplier = await agent(interfaces);
    supplier.answer = answer;
    const reply = await supplier.transport().find(start);
    expect(reply.kind).toBe(kind);
    if (reply.kind === 'unsupported')
      expect(reply.error.message).toMatch(/^the agent lists no tasks: the server answered/);
    expect(supplier.calls()).toHaveLength(1);
  });

  it('F62: asks an agent of 0.3 for nothing', async () => {
    const supplier = await agent(old);
    expect(await supplier.transport().find(start)).toMatchObject({
      kind: 'unsupported',
      error: { message: 'the agent lists no tasks: A2A 0.3 has no lists' },
    });
    expect(supplier.trail()).toEqual(['card']);
  });

  it('F62: says nothing where a page fails, or is no list', async () => {
    const failing = await agent(jsonRpc);
    failing.answer = (request, response) => {
      if (request.body.params['pageToken'] === undefined)
        result(response, request, { tasks: [ours], nextPageToken: 'p' });
      else json(response, 'gone for lunch', 502);
    };
    expect((await failing.transport().find(start)).kind).toBe('unknown');
    for (const page of [{}, { tasks: { t1: ours } }, []])
      expect((await (await listing(() => page)).transport().find(start)).kind).toBe('unknown');
    const unread = await agent(jsonRpc);
    unread.card = (_request, response) => {
      json(response, '', 500);
    };
    expect((await unread.transport().find(start)).kind).toBe('unknown');
  });

  it('F62: goes by what it was shown where a token or a filter is refused', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      const { pageToken, status } = request.body.params;
      if (pageToken === undefined && status === undefined)
        result(response, request, { tasks: [ours], nextPageToken: 'p' });
      else rpcError(response, request, -32602);
    };
    expect(await supplier.transport().find(start)).toEqual(found);
    expect(supplier.calls()).toHaveLength(3);
  });
});
