import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../lib/base/json.js';
import { aMessage, anAgent, type Answered, blocksOf, dataOf } from './agent.js';

const errorOf = ({ body }: Answered) => body['error'] as JsonObject & { details: { reason: string }[] };
const id = '1'.padStart(32, '0');

async function withTask(agent = anAgent()) {
  await agent.rest('POST', '/message:send', { body: aMessage() });
  return agent;
}

describe('requests over HTTP+JSON', () => {
  it('send, read, list and cancel', async () => {
    const agent = anAgent();
    const sent = await agent.rest('POST', '/message:send', { body: aMessage() });
    expect([sent.status, sent.headers.get('content-type')]).toEqual([200, 'application/a2a+json']);
    expect(sent.body).toMatchObject({ task: { id, status: { state: 'TASK_STATE_SUBMITTED' } } });
    expect((await agent.rest('GET', `/tasks/${id}?historyLength=0`)).body).not.toHaveProperty('history');
    expect((await agent.rest('GET', `/tasks/${id}`)).body).toMatchObject({ id, history: [{}] });
    const page = await agent.rest('GET', '/tasks?pageSize=1&includeArtifacts=true&status=TASK_STATE_SUBMITTED');
    expect(page.body).toMatchObject({ tasks: [{ id }], pageSize: 1, totalSize: 1, nextPageToken: '' });
    expect((await agent.rest('POST', `/tasks/${id}:cancel`)).body).toMatchObject({
      id,
      status: { state: 'TASK_STATE_CANCELED' },
    });
  });

  it('take both media types of JSON, and no other', async () => {
    const agent = anAgent();
    const send = (type: string) =>
      agent.rest('POST', '/message:send', { body: aMessage(), headers: { 'content-type': type } });
    expect((await send('application/json; charset=utf-8')).status).toBe(200);
    const refused = await send('text/plain');
    expect([refused.status, errorOf(refused)]).toMatchObject([
      400,
      { details: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] },
    ]);
  });

  it('subscribe by POST and by GET, and cancel a task whose id is encoded (A2A-S29)', async () => {
    const agent = await withTask();
    for (const method of ['POST', 'GET']) {
      const response = await agent.app.request(`/a2a/rest/tasks/${id}:subscribe`, {
        method,
        headers: { 'a2a-version': '1.0' },
      });
      const blocks = blocksOf(response);
      await blocks.next();
      expect(dataOf(await blocks.next())).toMatchObject({ task: { id } });
      await blocks.leave();
    }
    const encoded = `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`;
    expect((await agent.rest('POST', `/tasks/${encoded}%3Acancel`)).body).toMatchObject({ id });
  });

  it('stream the events alone, and an error as an event of its own', async () => {
    const agent = anAgent(undefined, {
      admit: () => ({
        tasks: {
          ...agent.tasks.of('alice'),
          follow: async function* (taskId) {
            yield { kind: 'snapshot', task: agent.tasks.read(taskId) } as const;
            throw new Error('secret');
          },
        },
      }),
    });
    const response = await agent.app.request('/a2a/rest/message:stream', {
      method: 'POST',
      body: JSON.stringify(aMessage()),
      headers: { 'a2a-version': '1.0', 'content-type': 'application/json' },
    });
    const [, first, last] = await blocksOf(response).rest();
    expect(dataOf(first)).toMatchObject({ task: { id } });
    expect(last?.split('\n')[0]).toBe('event: error');
    expect(dataOf(last)).toMatchObject({ error: { code: 500, details: [{ reason: 'INTERNAL_ERROR' }] } });
  });

  it('reach the agent of one skill below its own path', async () => {
    const agent = anAgent();
    const response = await agent.app.request('/agents/monthlyReport/a2a/rest/message:send', {
      method: 'POST',
      body: JSON.stringify(aMessage('', { parts: [{ data: { month: '10' } }] })),
      headers: { 'a2a-version': '1.0', 'content-type': 'application/json' },
    });
    expect(response.status).toBe(200);
    expect(agent.tasks.sent).toMatchObject([{ skill: 'monthlyReport', arguments: { month: '10' } }]);
  });
});

describe('what HTTP+JSON refuses', () => {
  it.each([
    ['a request without a version (A2A-S17)', 'GET', '/tasks', { 'a2a-version': '' }, 400, 'VERSION_NOT_SUPPORTED'],
    ['a later version', 'GET', '/tasks', { 'a2a-version': '1.1' }, 400, 'VERSION_NOT_SUPPORTED'],
    ['a page of no tasks (A2A-S16)', 'GET', '/tasks?pageSize=0', {}, 400, 'INVALID_PARAMS'],
    ['a number that is none', 'GET', '/tasks?pageSize=many', {}, 400, 'INVALID_PARAMS'],
    ['a task that is not there', 'GET', '/tasks/nothing', {}, 404, 'TASK_NOT_FOUND'],
    ['a stream of it (A2A-S5)', 'GET', '/tasks/nothing:subscribe', {}, 404, 'TASK_NOT_FOUND'],
    ['an empty id (A2A-S11)', 'GET', '/tasks/', {}, 400, 'INVALID_PARAMS'],
    ['a caller without a credential', 'GET', '/tasks', { authorization: 'Bearer nobody' }, 401, 'UNAUTHENTICATED'],
    ['another path', 'GET', '/nothing', {}, 404, 'METHOD_NOT_FOUND'],
    ['a member of every object as a path', 'GET', '/toString', {}, 404, 'METHOD_NOT_FOUND'],
    ['a path that cannot be decoded', 'GET', '/tasks/%ff', {}, 404, 'METHOD_NOT_FOUND'],
    ['another method', 'DELETE', '/tasks', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['the extended card of an agent without one', 'GET', '/extendedAgentCard', {}, 400, 'UNSUPPORTED_OPERATION'],
    [
      'push configs where nothing is pushed',
      'GET',
      '/tasks/x/pushNotificationConfigs',
      {},
      400,
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
    ],
  ])('%s', async (_what, method, path, headers, status, reason) => {
    const answer = await anAgent().rest(method, path, { headers: headers });
    expect([answer.status, errorOf(answer)['code'], errorOf(answer).details[0]?.reason]).toEqual([
      status,
      status,
      reason,
    ]);
  });

  it('a cancel of a task that is over', async () => {
    const agent = await withTask();
    agent.tasks.complete(id, 1);
    const answer = await agent.rest('POST', `/tasks/${id}:cancel`, { body: {} });
    expect([answer.status, errorOf(answer)]).toMatchObject([
      400,
      { status: 'FAILED_PRECONDITION', details: [{ reason: 'TASK_NOT_CANCELABLE' }] },
    ]);
  });

  it('a body that is not JSON, or not an object', async () => {
    const send = async (body: string) => {
      const headers = { 'a2a-version': '1.0', 'content-type': 'application/json' };
      const response = await anAgent().app.request('/a2a/rest/message:send', { method: 'POST', body, headers });
      return await response.json();
    };
    expect(await send('{')).toMatchObject({ error: { code: 400, details: [{ reason: 'PARSE_ERROR' }] } });
    expect(await send('[]')).toMatchObject({ error: { code: 400, details: [{ reason: 'INVALID_PARAMS' }] } });
    expect(await send('')).toMatchObject({ error: { code: 400, details: [{ reason: 'INVALID_PARAMS' }, {}] } });
  });

  it('says which methods a path takes', async () => {
    expect((await anAgent().rest('PUT', '/tasks/x:subscribe')).headers.get('allow')).toBe('POST, GET');
  });
});
