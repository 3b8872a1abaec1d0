import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { parseReplyJson } from '../../../lib/base/bounded-json.js';
import { eventStream } from '../../../lib/remote/http/event-stream.js';
import { exchangeOf, untilResponse } from '../../../lib/remote/rpc/exchange.js';
import { httpJsonExchange } from '../../../lib/remote/a2a/http-json-1.0.js';
import { EventStreamSearch } from '../../../lib/remote/rpc/json-rpc.js';
import { isUsableId } from '../../../lib/remote/endpoint/handle.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { a2aAgent } from '../../../lib/workflow/app.js';
import { closeAll, httpClient, json, nowMs, type Received, serve, transportDeps } from './loopback.js';
import { aPeer, inSession, legacyHandle, legacyHello, legacyTask, modernHandle, startOf } from './mcp-peer.js';

afterEach(closeAll);

const pinned = { protocolVersion: '2026-07-28' } as const;
const old = { protocolVersion: '2025-11-25' } as const;

/** Answers with a result of that JSON text, which `JSON.stringify` could not have written. */
const raw = (result: string) => (request: Received, response: ServerResponse) => {
  json(response, `{"jsonrpc":"2.0","id":"${request.body.id}","result":${result}}`);
};

function counting() {
  const parsed: string[] = [];
  const search = new EventStreamSearch('7', (text) => {
    parsed.push(text);
    return parseReplyJson(text);
  });
  return { parsed, search };
}

describe('F84 an event stream', () => {
  const size = 4 * 1024 * 1024;
  const filled = (event: string): string => event.repeat(Math.floor(size / event.length));
  const response = '{"jsonrpc":"2.0","id":"7","result":{}}';

  it.each([
    'data:x\n\n',
    'data:{}\n\n',
    'data:[]\n\n',
    'data:{"id":"8"}\n\n',
    'data:["7"]\n\n',
    'data:x"7"\n\n',
    ':\n\n',
    'data\n\n',
  ])('full of %j is parsed not once', (event) => {
    const { parsed, search } = counting();
    search.push(filled(event));
    expect([search.finish(), parsed]).toEqual([undefined, []]);
  });

  it.each(['x\n', 'retry:x\n', ':\n', '\r', '\r\n'])(
    'F84 of lines that mean nothing is read in no time: %j',
    (line) => {
      const { search } = counting();
      const before = process.cpuUsage();
      search.push(filled(line));
      // An error object for each line would take minutes.
      expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
    },
  );

  it.each(['\n', '\r', '\r\n'])('gives the data of its events, cut anywhere, with line ends %j', (end) => {
    const lines = [
      '\ufeff: hi',
      'data: a',
      'data:b',
      'id: 1',
      'datax: no',
      'data',
      '',
      'event: e',
      '',
      'data:  c',
      '',
      'data: d',
    ];
    const text = lines.join(end);
    for (const size of [1, 2, 3, 7, text.length]) {
      const seen: string[] = [];
      const push = eventStream((data) => {
        seen.push(data);
      });
      for (let at = 0; at < text.length; at += size) push(text.slice(at, at + size));
      expect(seen).toEqual(['a\nb\n', ' c']);
    }
  });

  it('has each event that holds the id parsed once, up to the response, by the request and its reading together', () => {
    const { parsed, search } = counting();
    const note = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7"}}';
    const text = `data: ${note}\n\ndata: ${note}\n\ndata: ${response}\n\ndata: ${response}\n\n`;
    const head = { status: 200, headers: { 'content-type': 'text/event-stream' } };
    untilResponse(search)(head, text);
    expect(exchangeOf({ kind: 'reply', ...head, text }, '7', nowMs, search)).toEqual({ kind: 'result', result: {} });
    expect(parsed).toEqual([note, note, response]);
  });

  it('full of errors that name no request has one of them parsed', () => {
    const { parsed, search } = counting();
    search.push(filled('data:{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}\n\n'));
    expect(search.finish()).toMatchObject({ kind: 'error', error: { code: -32700 } });
    expect(parsed).toHaveLength(1);
  });
});

describe('F10 a result with a number that JavaScript does not hold', () => {
  const overflowing = '{"content":[],"structuredContent":{"rows":[{"mass":1},{"mass":1e400}]}}';
  const invalid = (details: object) => ({
    kind: 'ended',
    end: {
      kind: 'failed',
      error: { code: 'REMOTE_RESULT_INVALID', details: { server: 'reports', number: '1e400', ...details } },
    },
  });

  it('ends a start that was answered with it, over MCP', async () => {
    for (const config of [pinned, old]) {
      const { transport, methods } = await aPeer(
        { initialize: inSession('s-1', legacyHello), 'tools/list': { tools: [] }, 'tools/call': raw(overflowing) },
        config,
      );
      expect(await transport.start(startOf('export'))).toMatchObject(
        invalid({ path: 'result.structuredContent.rows[1].mass' }),
      );
      expect(methods().filter((method) => method === 'tools/call')).toHaveLength(1);
    }
  });

  it('ends a call whose task is read with it, over MCP', async () => {
    const task = `{"taskId":"t1","status":"completed","result":${overflowing}}`;
    const modern = await aPeer({ 'tasks/get': raw(task) }, pinned);
    const path = 'result.result.structuredContent.rows[1].mass';
    expect(await modern.transport.get(modernHandle)).toMatchObject(invalid({ taskId: 't1', path }));
    const legacy = await aPeer(
      { 'tasks/get': { ...legacyTask, status: 'completed' }, 'tasks/result': raw(overflowing) },
      old,
    );
    expect(await legacy.transport.get(legacyHandle)).toMatchObject(
      invalid({ taskId: 't1', path: 'result.structuredContent.rows[1].mass' }),
    );
  });

  it('says nothing beside the result: a hint that is too large is none', async () => {
    const task = '{"taskId":"t1","status":"working","pollIntervalMs":1e400,"ttlMs":1e400}';
    const { transport } = await aPeer({ 'tasks/get': raw(task) }, pinned);
    expect(await transport.get(modernHandle)).toEqual({ kind: 'working', state: 'working' });
    const done = '{"taskId":"t1","status":"completed","pollIntervalMs":1e400,"result":{"content":[]}}';
    const other = await aPeer({ 'tasks/get': raw(done) }, pinned);
    expect(await other.transport.get(modernHandle)).toMatchObject({ end: { kind: 'completed' } });
  });

  it.each(['start', 'get'] as const)('ends a call over A2A, at its %s', async (what) => {
    const task =
      '{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"data":[1e400]}]}]}';
    const server = await serve((request, response) => {
      raw(what === 'start' ? `{"task":${task}}` : task)(request, response);
    });
    const deps = transportDeps(httpClient());
    const agent = createTransports({ reports: a2aAgent({ url: server.url }) }, deps).get('reports');
    const handle = { server: 'reports', protocol: 'a2a', wire: '1.0', taskId: 't1' } as const;
    const request = { kind: 'skill', skill: 's', arguments: {} } as const;
    const path =
      what === 'start' ? 'result.task.artifacts[0].parts[0].data[0]' : 'result.artifacts[0].parts[0].data[0]';
    const reply = what === 'start' ? agent.start({ request, idempotencyKey: 'k' }) : agent.get(handle);
    expect(await reply).toMatchObject(invalid({ taskId: 't1', path }));
  });
});

describe('F10 other replies that are the answer to a start, and that nothing can be made of', () => {
  it.each([
    ['too deep', `{"content":[],"structuredContent":${'['.repeat(70)}${']'.repeat(70)}}`, 'deeper than 64 levels'],
    ['too many parts', `{"content":[${'{},'.repeat(200_000)}{}]}`, 'more than 200000 keys'],
  ])('end the call typed, and not ambiguous: %s', async (_what, result, problem) => {
    for (const config of [pinned, old]) {
      const { transport, methods } = await aPeer(
        { initialize: inSession('s-1', legacyHello), 'tools/list': { tools: [] }, 'tools/call': raw(result) },
        config,
      );
      const reply = await transport.start(startOf('export'));
      expect(reply).toMatchObject({ kind: 'ended', end: { kind: 'failed', error: { code: 'PAYLOAD_TOO_LARGE' } } });
      expect(JSON.stringify(reply)).toContain(problem);
      expect(methods().filter((method) => method === 'tools/call')).toHaveLength(1);
    }
  });

  it('over HTTP+JSON too, which has no ids', () => {
    const text = `${'['.repeat(70)}${']'.repeat(70)}`;
    const http = { kind: 'reply', status: 200, headers: { 'content-type': 'application/json' }, text } as const;
    expect(httpJsonExchange(http, nowMs)).toMatchObject({ kind: 'unusable', isBeyondLimits: true });
  });

  it('are of unknown fate where nothing says that they are ours', () => {
    const text = `{"jsonrpc":"2.0","id":"8","result":${'['.repeat(70)}${']'.repeat(70)}}`;
    const http = { kind: 'reply', status: 200, headers: { 'content-type': 'application/json' }, text } as const;
    expect(exchangeOf(http, '7', nowMs)).not.toHaveProperty('isBeyondLimits');
  });

  it('keep what has a meaning elsewhere: keys, and halves of characters', async () => {
    const { transport } = await aPeer(
      { 'tools/call': raw('{"content":[],"structuredContent":{"__proto__":{"a":1},"half":"\\ud800"}}') },
      pinned,
    );
    expect(JSON.stringify(await transport.start(startOf('export')))).toContain(
      '"structuredContent":{"__proto__":{"a":1},"half":"\\ud800"}',
    );
  });
});

describe('F83 ids of tasks', () => {
  it.each([
    '',
    ' ',
    '\t',
    '\u00a0',
    '\u200b',
    '\ud800',
    'a\ud800',
    'a\u0000',
    'a\nb',
    '\u001b[2J',
    '\u0085a',
    'x'.repeat(5_000),
  ])('are refused: %j', async (taskId) => {
    expect(isUsableId(taskId)).toBe(false);
    const task = { ...legacyTask, taskId };
    const { transport, methods } = await aPeer({ 'tools/call': { task, content: [] } }, pinned);
    expect((await transport.adopt!({ taskId })).kind).toBe('refused');
    expect(methods()).toEqual([]);
    const created = { resultType: 'task', taskId, status: 'working', createdAt: 'x', ttlMs: null };
    const modern = await aPeer({ 'tools/call': raw(JSON.stringify(created)) }, pinned);
    expect(await modern.transport.start(startOf('export'))).toMatchObject({ kind: 'unknown' });
  });

  it.each(['t1', 'é', '任务', 'a b', '😀', 'a/b?c#d', '../..'])('are taken: %j', (taskId) => {
    expect(isUsableId(taskId)).toBe(true);
  });

  it('of older handles, that no URL holds, throw nothing: the agent has no such task', async () => {
    const server = await serve((_request, response) => {
      json(response, {});
    });
    const card = {
      name: 'a',
      version: '1',
      supportedInterfaces: [{ url: server.url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
      capabilities: { streaming: true },
      skills: [],
    };
    const deps = transportDeps(httpClient());
    const agent = createTransports({ reports: a2aAgent({ card }) }, deps).get('reports');
    const handle = {
      server: 'reports',
      protocol: 'a2a',
      wire: '1.0',
      binding: 'HTTP+JSON',
      taskId: '\ud800',
    } as const;
    const reply = await agent.get(handle).catch((thrown: unknown) => thrown);
    expect(reply).toMatchObject({ kind: 'missing' });
    expect((await agent.cancel(handle)).kind).toBe('gone');
    const question = { key: 'q', kind: 'form', message: 'x' } as const;
    expect((await agent.answer!(handle, question, { action: 'decline' }, 'k')).kind).toBe('retry');
    await agent.watch!(handle, () => undefined, new AbortController().signal);
    expect((await agent.adopt!({ taskId: '\ud800' })).kind).toBe('refused');
    expect(server.received).toEqual([]);
  });

  it.each([
    ['a task', { taskId: '\ud800' }],
    ['a context', { taskId: 't1', contextId: '\u0000' }],
  ])('are refused before an agent is asked for %s, over JSON-RPC too', async (_what, task) => {
    const server = await serve((_request, response) => {
      json(response, {});
    });
    const deps = transportDeps(httpClient());
    const agent = createTransports({ reports: a2aAgent({ url: server.url }) }, deps).get('reports');
    expect(await agent.adopt!(task)).toMatchObject({ kind: 'refused', error: { code: 'REMOTE_START_REFUSED' } });
    expect(server.received).toEqual([]);
  });
});
