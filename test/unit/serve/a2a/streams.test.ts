import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../lib/base/json.js';
import { aMessage, anAgent, blocksOf, dataOf } from './agent.js';

const id = '1'.padStart(32, '0');
const sequence = 'https://outwait.dev/a2a/extensions/sequence/v1';
const withSequence = { 'a2a-extensions': sequence };

const resultOf = (block: string | undefined): JsonObject => dataOf(block)?.['result'] as JsonObject;
/** Names an event of 1.0 in one word or two. */
function nameOf(result: JsonObject): string {
  const { task, statusUpdate, artifactUpdate } = result as Record<string, { status?: { state: string } } | undefined>;
  const state = (task ?? statusUpdate)?.status?.state.replace('TASK_STATE_', '').toLowerCase().replace('_', '-');
  return artifactUpdate !== undefined ? 'artifact' : `${task === undefined ? '' : 'task '}${state ?? '?'}`;
}

async function opened(method: string, params: unknown, agent = anAgent(), headers: Record<string, string> = {}) {
  const response = await agent.rpcResponse(method, params, headers);
  return { agent, response, blocks: blocksOf(response) };
}

/** Opens a stream on a task that is there. */
async function subscribed(headers: Record<string, string> = {}, params: JsonObject = {}) {
  const agent = anAgent();
  await agent.rpc('SendMessage', aMessage());
  return opened('SubscribeToTask', { id, ...params }, agent, headers);
}

describe('a stream', () => {
  it('begins with the task and ends with its end', async () => {
    const { agent, response, blocks } = await opened('SendStreamingMessage', aMessage());
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await blocks.next()).toBe('retry: 1000');
    expect(dataOf(await blocks.next())).toMatchObject({ jsonrpc: '2.0', id: 'q1', result: { task: { id } } });
    agent.tasks.status(id, 'working', 'on it');
    agent.tasks.artifact(id, { artifactId: 'log', parts: [{ text: 'a' }] }, { lastChunk: false });
    agent.tasks.artifact(id, { artifactId: 'log', parts: [{ text: 'b' }] }, { append: true });
    agent.tasks.complete(id, { rows: 1 });
    const rest = (await blocks.rest()).map(resultOf);
    expect(rest.map(nameOf)).toEqual(['working', 'artifact', 'artifact', 'artifact', 'completed']);
    expect(rest[1]).toEqual({
      artifactUpdate: {
        taskId: id,
        contextId: `context-of-${id}`,
        artifact: { artifactId: 'log', parts: [{ text: 'a' }] },
      },
    });
    expect(rest[2]).toMatchObject({ artifactUpdate: { append: true, lastChunk: true } });
  });

  it('of a message ends when the task asks, one of a subscriber goes on to the end (A2A-S28)', async () => {
    const { agent, blocks } = await opened('SendStreamingMessage', aMessage());
    const subscriber = await opened('SubscribeToTask', { id }, agent);
    agent.tasks.status(id, 'input-required', 'Which?');
    expect((await blocks.rest()).slice(1).map(resultOf).map(nameOf)).toEqual(['task submitted', 'input-required']);
    await agent.rpc('SendMessage', aMessage('this', { taskId: id }));
    agent.tasks.status(id, 'auth-required');
    agent.tasks.status(id, 'completed');
    const seen = (await subscriber.blocks.rest()).slice(1).map(resultOf).map(nameOf);
    expect(seen).toEqual(['task submitted', 'input-required', 'working', 'auth-required', 'completed']);
  });

  it('of a message to a task that is over at once is the task alone', async () => {
    const agent = anAgent((taskId, _request, tasks) => {
      tasks.complete(taskId, 1);
    });
    const { blocks } = await opened('SendStreamingMessage', aMessage(), agent);
    expect((await blocks.rest()).slice(1).map(resultOf).map(nameOf)).toEqual(['task completed']);
  });

  it('of a task that is over, unknown or of another caller is an error, as JSON (A2A-S5)', async () => {
    const agent = anAgent();
    await agent.rpc('SendMessage', aMessage());
    const ask = (taskId: string, headers = {}) => agent.rpc('SubscribeToTask', { id: taskId }, headers);
    expect((await ask(id, { authorization: 'Bearer mallory' })).body['error']).toMatchObject({ code: -32001 });
    expect((await ask('f'.repeat(32))).body['error']).toMatchObject({ code: -32001 });
    agent.tasks.complete(id, 1);
    const over = await ask(id);
    expect(over.body['error']).toMatchObject({ code: -32004 });
    expect(over.headers.get('content-type')).toBe('application/json');
  });

  it('of one subscriber goes on when another leaves (A2A-S6)', async () => {
    const { agent, blocks } = await subscribed();
    const other = await opened('SubscribeToTask', { id }, agent);
    await other.blocks.next();
    await other.blocks.leave();
    agent.tasks.status(id, 'working');
    agent.tasks.status(id, 'completed');
    expect((await blocks.rest()).slice(1).map(resultOf).map(nameOf)).toEqual([
      'task submitted',
      'working',
      'completed',
    ]);
  });

  it('is kept open by a comment each 15 s', async () => {
    const { agent, blocks } = await subscribed();
    await blocks.next();
    await blocks.next();
    await agent.tasks.waited();
    await agent.timers.fire(15_000);
    expect(await blocks.next()).toBe(': keep-alive');
    await agent.timers.fire(15_000);
    expect(await blocks.next()).toBe(': keep-alive');
    agent.tasks.status(id, 'canceled');
    expect((await blocks.rest()).map(resultOf).map(nameOf)).toEqual(['canceled']);
    expect(agent.timers.delays).toEqual([]);
  });

  it('ends after three minutes, and a new one begins with the newer task (A2A-S7)', async () => {
    const { agent, blocks } = await subscribed();
    await blocks.next();
    await blocks.next();
    await agent.tasks.waited();
    await agent.timers.fire(180_000);
    expect(await blocks.rest()).toEqual([': the stream has reached its limit of time; subscribe again']);
    expect(agent.timers.delays).toEqual([]);
    agent.tasks.status(id, 'working');
    const again = await opened('SubscribeToTask', { id }, agent);
    await again.blocks.next();
    expect(nameOf(resultOf(await again.blocks.next()))).toBe('task working');
  });

  it('has no blank line but after data: some parsers take one for an event without data', async () => {
    const agent = anAgent();
    const text = (await agent.rpcResponse('SendStreamingMessage', aMessage())).text();
    await agent.tasks.waited();
    await agent.timers.fire(15_000);
    agent.tasks.status(id, 'working');
    await agent.tasks.waited();
    await agent.timers.fire(15_000);
    await agent.timers.fire(180_000);
    const [closing, ...blocks] = (await text).split('\n\n').toReversed();
    expect(blocks).toHaveLength(2);
    expect(blocks.map((block) => block.split('\n').some((line) => line.startsWith('data: ')))).toEqual([true, true]);
    expect(closing).toBe(': keep-alive\n: the stream has reached its limit of time; subscribe again\n');
  });

  it('of a client that leaves stops to follow the task', async () => {
    const { agent, blocks } = await subscribed();
    await blocks.next();
    await blocks.next();
    await agent.tasks.waited();
    await blocks.leave();
    expect(agent.timers.delays).toEqual([]);
    agent.tasks.status(id, 'working');
    expect(agent.errors).toEqual([]);
  });

  it('that fails in its midst ends with the error, and does not tell what failed', async () => {
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
    const { blocks } = await opened('SendStreamingMessage', aMessage(), agent);
    const last = dataOf((await blocks.rest()).at(-1));
    expect(last).toMatchObject({ id: 'q1', error: { code: -32603, message: 'the request could not be handled' } });
    expect(agent.errors).toEqual([['request failed', { error: new Error('secret') }]]);
  });
});

describe('a stream with the sequence extension', () => {
  it('has the generation in each event, and as the id of each', async () => {
    const { agent, response, blocks } = await subscribed(withSequence);
    expect(response.headers.get('a2a-extensions')).toBe(sequence);
    agent.tasks.artifact(id, { artifactId: 'a', parts: [{ text: 'x' }] });
    agent.tasks.status(id, 'completed');
    const events = (await blocks.rest()).slice(1);
    expect(events.map((block) => block.split('\n')[0])).toEqual(['id: 1', 'id: 2', 'id: 3']);
    expect(events.map(resultOf)).toMatchObject([
      { task: { metadata: { [sequence]: { generation: 1 } } } },
      { artifactUpdate: { metadata: { [sequence]: { generation: 2 } } } },
      { statusUpdate: { metadata: { [sequence]: { generation: 3 } } } },
    ]);
  });

  it.each([
    ['the parameter', {}, { afterGeneration: '2' }],
    ['the header', { 'last-event-id': '2' }, {}],
  ])('goes on after the event that %s names, without a snapshot', async (_what, headers, params) => {
    const agent = anAgent();
    await agent.rpc('SendMessage', aMessage());
    for (const text of ['two', 'three', 'four']) agent.tasks.status(id, 'working', text);
    const { blocks } = await opened('SubscribeToTask', { id, ...params }, agent, { ...withSequence, ...headers });
    agent.tasks.status(id, 'completed');
    const events = (await blocks.rest()).slice(1);
    expect(events.map((block) => block.split('\n')[0])).toEqual(['id: 3', 'id: 4', 'id: 5']);
    expect(resultOf(events[0])).toMatchObject({ statusUpdate: { contextId: `context-of-${id}` } });
  });

  it('has the end of a task that ended meanwhile, once', async () => {
    const agent = anAgent();
    await agent.rpc('SendMessage', aMessage());
    agent.tasks.status(id, 'completed');
    const { blocks } = await opened('SubscribeToTask', { id, afterGeneration: 1 }, agent, withSequence);
    expect((await blocks.rest()).slice(1).map(resultOf).map(nameOf)).toEqual(['completed']);
    const answer = await agent.rpc('SubscribeToTask', { id, afterGeneration: 2 }, withSequence);
    expect(answer.body['error']).toMatchObject({ code: -32004 });
  });

  it('does not begin after an event that has not been', async () => {
    const agent = anAgent();
    await agent.rpc('SendMessage', aMessage());
    const answer = await agent.rpc('SubscribeToTask', { id, afterGeneration: 9 }, withSequence);
    expect(answer.body['error']).toMatchObject({ code: -32602 });
  });

  it('is needed for both: without it a stream begins with the task and tells no generation', async () => {
    const { agent, blocks } = await subscribed({ 'last-event-id': '1' }, { afterGeneration: 1 });
    agent.tasks.status(id, 'completed');
    const [task, status] = (await blocks.rest()).slice(1).map(resultOf);
    expect(task!['task']).not.toHaveProperty('metadata');
    expect(status!['statusUpdate']).not.toHaveProperty('metadata');
  });
});

describe('a stream of 0.3', () => {
  const version = { 'a2a-version': '' };
  const message = { message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] } };

  it('says which event is its last', async () => {
    const { agent, blocks } = await opened('message/stream', message, anAgent(), version);
    agent.tasks.status(id, 'working');
    agent.tasks.artifact(id, { artifactId: 'a', parts: [{ data: [1] }] });
    agent.tasks.status(id, 'input-required');
    const events = (await blocks.rest()).slice(1).map(resultOf);
    expect(events.map(({ kind, final }) => [kind, final])).toEqual([
      ['task', undefined],
      ['status-update', false],
      ['artifact-update', undefined],
      ['status-update', true],
    ]);
  });

  it('of a subscriber goes on after a question', async () => {
    const agent = anAgent();
    await agent.rpc('message/send', { ...message, configuration: { blocking: false } }, version);
    const { blocks } = await opened('tasks/resubscribe', { id }, agent, version);
    agent.tasks.status(id, 'input-required');
    agent.tasks.status(id, 'failed', 'no');
    const events = (await blocks.rest()).slice(1).map(resultOf);
    expect(events.map(({ final }) => final)).toEqual([undefined, false, true]);
  });
});
