// What clients of other makers send that differs from the letter of the protocol, or from what the official SDK sends.

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../lib/base/json.js';
import { aMessage, anAgent, type Answered, blocksOf, dataOf } from './agent.js';

const resultOf = ({ body }: Answered): JsonObject => body['result'] as JsonObject;
const id = '1'.padStart(32, '0');
const message03 = { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };

async function withTask(agent = anAgent()) {
  await agent.rpc('SendMessage', aMessage());
  return agent;
}

describe('what foreign clients send', () => {
  it.each(['/a2a/', '/agents/triage/a2a/'])('the door of JSON-RPC takes a slash at its end: %s', async (path) => {
    const answer = await anAgent().rpc('SendMessage', aMessage(), {}, path);
    expect(resultOf(answer)).toMatchObject({ task: { id } });
  });

  it('another method than POST is refused with and without that slash', async () => {
    const { app } = anAgent();
    const statuses = ['/a2a', '/a2a/'].map(async (path) => (await app.request(path)).status);
    expect(await Promise.all(statuses)).toEqual([405, 405]);
  });

  it('fields by their names of the proto file are read, as ProtoJSON asks of parsers', async () => {
    const agent = await withTask();
    await agent.rpc('SendMessage', aMessage());
    const page = resultOf(await agent.rpc('ListTasks', { page_size: 1, history_length: 0 }));
    expect(page).toMatchObject({ pageSize: 1, totalSize: 2 });
    expect((page['tasks'] as readonly JsonObject[]).map((task) => task['history'])).toEqual([undefined]);
    expect(resultOf(await agent.rpc('ListTasks', { context_id: 'another' }))).toMatchObject({ tasks: [] });
    expect(resultOf(await agent.rpc('GetTask', { id, history_length: 0 }))).not.toHaveProperty('history');
  });

  it('fields by those names are read within a message and its configuration', async () => {
    const agent = anAgent();
    const message = {
      message_id: 'm1',
      role: 'ROLE_USER',
      context_id: 'c1',
      parts: [{ text: 'hi', media_type: 'a/b' }],
    };
    const answer = await agent.rpc('SendMessage', {
      message,
      configuration: { history_length: 1, return_immediately: true },
    });
    expect(resultOf(answer)).toMatchObject({
      task: { contextId: 'c1', history: [{ messageId: 'm1', parts: [{ text: 'hi', mediaType: 'a/b' }] }] },
    });
  });

  it('names within metadata and data are left as they are', async () => {
    const parts = [{ data: { a_b: 1 }, metadata: { c_d: 2 } }];
    const params = { ...aMessage('', { parts, metadata: { e_f: 3 } }), metadata: { g_h: 4 } };
    const answer = await anAgent().rpc('SendMessage', params);
    expect(resultOf(answer)).toMatchObject({
      task: { history: [{ parts, metadata: { e_f: 3 } }], metadata: { g_h: 4 } },
    });
  });

  it('a field by its JSON name counts before the same one by its other name', async () => {
    const agent = await withTask();
    expect(resultOf(await agent.rpc('ListTasks', { page_size: 1, pageSize: 2 }))).toMatchObject({ pageSize: 2 });
  });

  it.each([{}, { status: 'TASK_STATE_UNSPECIFIED' }, { status: null }, { status: '' }])(
    'a list of tasks in no state of its own lists all: %j',
    async (params) => {
      const agent = await withTask();
      expect(resultOf(await agent.rpc('ListTasks', params))).toMatchObject({ tasks: [{ id }] });
    },
  );

  it('a list over HTTP+JSON takes the unspecified state too', async () => {
    const agent = await withTask();
    const answer = await agent.rest('GET', '/tasks?status=TASK_STATE_UNSPECIFIED');
    expect(answer.body).toMatchObject({ tasks: [{ id }] });
  });

  it('an error over HTTP+JSON is of the type application/json, which all clients read', async () => {
    const { status, headers } = await anAgent().rest('GET', `/tasks/${id}`);
    expect([status, headers.get('content-type')]).toEqual([404, 'application/json']);
  });

  it.each([
    ['message/stream', { message: { messageId: 'm1', role: 'user', parts: [] } }, -32602],
    ['message/stream', { message: { ...message03, taskId: id } }, -32001],
    ['tasks/resubscribe', { id }, -32001],
  ])('an error of %s, a stream of 0.3, comes as its only event', async (method, params, code) => {
    const response = await anAgent().rpcResponse(method, params, { 'a2a-version': '' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const blocks = blocksOf(response);
    expect(dataOf(await blocks.next())).toMatchObject({ jsonrpc: '2.0', id: 'q1', error: { code } });
    expect(await blocks.next()).toBeUndefined();
  });

  it('an error of another method of 0.3, or that HTTP has a status for, is JSON', async () => {
    const old = { 'a2a-version': '' };
    expect((await anAgent().rpc('tasks/get', { id }, old)).body['error']).toMatchObject({ code: -32001 });
    const nobody = await anAgent().rpc('tasks/resubscribe', { id }, { ...old, authorization: 'Bearer nobody' });
    expect([nobody.status, nobody.body['error']]).toMatchObject([401, { code: -32050 }]);
  });
});
