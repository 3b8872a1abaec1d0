import { type Message, Role, type SendMessageRequest, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import type { Task as Task03 } from 'a2a-sdk-v03';
import { ClientFactory as ClientFactory03 } from 'a2a-sdk-v03/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PushConfig } from '../../../../lib/serve/push-configs.js';
import type { ServeConfig } from '../../../../lib/workflow/serve.js';
import { serveOnLoopback } from '../../../support/loopback-app.js';
import { MemoryPushConfigs } from '../../../support/memory-push-configs.js';
import { ScriptedTasks } from '../../../support/scripted-tasks.js';
import { anAgent, serve } from './agent.js';

const textOf = (request: { parts: readonly object[] }): unknown => (request.parts[0] as { text?: string }).text;

/** Starts an agent that does as the text of a message says. */
async function anAgentOnLoopback() {
  const tasks = new ScriptedTasks((taskId, { message }, scripted) => {
    const text = textOf(message);
    if (text === 'wait') return;
    if (text === 'ask') scripted.status(taskId, 'input-required', 'Which month?');
    else scripted.complete(taskId, { said: String(text) });
  });
  const configs = new Map<string, Map<string, PushConfig>>();
  const { url, stop } = await serveOnLoopback((ownUrl) => {
    const served: ServeConfig = {
      ...serve,
      agent: { ...serve.agent, url: ownUrl },
      skills: { ...serve.skills, audit: { description: 'For callers', listed: 'callers' } },
    };
    const admit = () => {
      const own = tasks.of('alice');
      return { tasks: own, pushConfigs: new MemoryPushConfigs(own, configs) };
    };
    const { app } = anAgent(undefined, { serve: served, pushes: true, admit });
    return (request) => app.fetch(request);
  });
  return { url, stop, tasks };
}

let agent: Awaited<ReturnType<typeof anAgentOnLoopback>>;
beforeEach(async () => {
  agent = await anAgentOnLoopback();
});
afterEach(() => agent.stop());

let messages = 0;

describe.each(['JSONRPC', 'HTTP+JSON'])('the official client of 1.0 over %s', (transport) => {
  const connect = (path?: string): Promise<Client> =>
    new ClientFactory(
      ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [transport] }),
    ).createFromUrl(agent.url, path);
  const aSend = (text: string, more: Partial<Message> = {}, returnImmediately = false): SendMessageRequest => ({
    tenant: '',
    metadata: undefined,
    message: {
      messageId: `message-${++messages}`,
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
  });
  const collected = async (events: AsyncIterable<StreamResponse>): Promise<string[]> => {
    const cases: string[] = [];
    for await (const { payload } of events) cases.push(payload!.$case);
    return cases;
  };

  it('sends, reads, answers, lists and cancels', async () => {
    const client = await connect();
    const done = (await client.sendMessage(aSend('hello'))) as Task;
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(done.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'data', value: { said: 'hello' } });
    expect(await client.getTask({ tenant: '', id: done.id })).toEqual(done);

    const asked = (await client.sendMessage(aSend('ask'))) as Task;
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(asked.status?.message?.parts[0]?.content).toEqual({ $case: 'text', value: 'Which month?' });
    const { id: taskId, contextId } = asked;
    const answered = (await client.sendMessage(aSend('October', { taskId, contextId }))) as Task;
    expect([answered.id, answered.status?.state]).toEqual([taskId, TaskState.TASK_STATE_COMPLETED]);

    const waiting = (await client.sendMessage(aSend('wait', {}, true))) as Task;
    const canceled = await client.cancelTask({ tenant: '', id: waiting.id, metadata: undefined });
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const page = await client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_COMPLETED,
      pageSize: 1,
      pageToken: '',
      statusTimestampAfter: undefined,
    });
    expect([page.tasks.length, page.totalSize, page.pageSize]).toEqual([1, 2, 1]);
  });

  it('streams and subscribes', async () => {
    const client = await connect();
    expect(await collected(client.sendMessageStream(aSend('hello')))).toEqual(['task']);
    expect(await collected(client.sendMessageStream(aSend('ask')))).toEqual(['task']);
    const stream = client.sendMessageStream(aSend('wait'));
    const first = await stream.next();
    const { id } = (first.value as StreamResponse).payload!.value as Task;
    const subscribed = client.resubscribeTask({ tenant: '', id });
    expect(((await subscribed.next()).value as StreamResponse).payload?.$case).toBe('task');
    agent.tasks.complete(id, 1);
    expect(await collected(stream)).toEqual(['artifactUpdate', 'statusUpdate']);
    expect(await collected(subscribed)).toEqual(['artifactUpdate', 'statusUpdate']);
  });

  it('keeps push configs', async () => {
    const client = await connect();
    const { id: taskId } = (await client.sendMessage(aSend('wait', {}, true))) as Task;
    const given = {
      tenant: '',
      taskId,
      id: 'p1',
      url: 'https://hooks.example.com/a',
      token: 'secret',
      authentication: undefined,
    };
    const kept = { ...given, token: '' };
    expect(await client.createTaskPushNotificationConfig(given)).toEqual(kept);
    expect(await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'p1' })).toEqual(kept);
    const page = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(page)).configs).toEqual([kept]);
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'p1' });
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'p1' });
    expect((await client.listTaskPushNotificationConfig(page)).configs).toEqual([]);
  });

  it('reads the extended card, and that of an agent for one skill', async () => {
    const client = await connect();
    const skills = async (of: Client) => (await of.getAgentCard()).skills.map(({ id }) => id);
    expect(await skills(client)).toEqual(['monthlyReport', 'triage', 'audit']);
    const one = await connect('/agents/monthlyReport/.well-known/agent-card.json');
    expect(await skills(one)).toEqual(['monthlyReport']);
    const task = (await one.sendMessage(aSend('hello'))) as Task;
    expect(agent.tasks.read(task.id).skill).toBe('monthlyReport');
  });

  it('knows our errors', async () => {
    const client = await connect();
    const { id } = (await client.sendMessage(aSend('hello'))) as Task;
    await expect(client.getTask({ tenant: '', id: 'nothing' })).rejects.toMatchObject({ reason: 'TASK_NOT_FOUND' });
    const cancel = client.cancelTask({ tenant: '', id, metadata: undefined });
    await expect(cancel).rejects.toMatchObject({ reason: 'TASK_NOT_CANCELABLE' });
    const toEnded = client.sendMessage(aSend('more', { taskId: id }));
    await expect(toEnded).rejects.toMatchObject({ reason: 'UNSUPPORTED_OPERATION' });
    await expect(client.resubscribeTask({ tenant: '', id }).next()).rejects.toThrow(/over/);
  });
});

describe('the official client of 0.3', () => {
  const aSend = (text: string, more: object = {}, blocking = true) => ({
    message: {
      kind: 'message' as const,
      messageId: `message-${++messages}`,
      role: 'user' as const,
      parts: [{ kind: 'text' as const, text }],
      ...more,
    },
    configuration: { blocking },
  });
  const connect = () => new ClientFactory03().createFromUrl(agent.url);
  const collected = async (events: AsyncIterable<{ kind: string }>): Promise<string[]> => {
    const kinds: string[] = [];
    for await (const { kind } of events) kinds.push(kind);
    return kinds;
  };

  it('sends, reads, answers and cancels', async () => {
    const client = await connect();
    const done = (await client.sendMessage(aSend('hello'))) as Task03;
    expect([done.kind, done.status.state]).toEqual(['task', 'completed']);
    expect(done.artifacts?.[0]?.parts).toEqual([{ kind: 'data', data: { said: 'hello' } }]);
    expect(await client.getTask({ id: done.id })).toEqual(done);
    const asked = (await client.sendMessage(aSend('ask'))) as Task03;
    expect(asked.status).toMatchObject({ state: 'input-required', message: { kind: 'message', role: 'agent' } });
    const answered = (await client.sendMessage(aSend('October', { taskId: asked.id }))) as Task03;
    expect([answered.id, answered.status.state]).toEqual([asked.id, 'completed']);
    const waiting = (await client.sendMessage(aSend('wait', {}, false))) as Task03;
    expect((await client.cancelTask({ id: waiting.id })).status.state).toBe('canceled');
  });

  it('streams and subscribes', async () => {
    const client = await connect();
    const stream = client.sendMessageStream(aSend('wait'));
    const { id } = (await stream.next()).value as Task03;
    const subscribed = client.resubscribeTask({ id });
    expect(((await subscribed.next()).value as Task03).kind).toBe('task');
    agent.tasks.complete(id, [1]);
    expect(await collected(stream)).toEqual(['artifact-update', 'status-update']);
    expect(await collected(subscribed)).toEqual(['artifact-update', 'status-update']);
  });

  it('keeps push configs, and reads the extended card', async () => {
    const client = await connect();
    const { id: taskId } = (await client.sendMessage(aSend('wait', {}, false))) as Task03;
    const given = { taskId, pushNotificationConfig: { id: 'p1', url: 'https://hooks.example.com/a', token: 'secret' } };
    const kept = { taskId, pushNotificationConfig: { id: 'p1', url: 'https://hooks.example.com/a' } };
    expect(await client.setTaskPushNotificationConfig(given)).toEqual(kept);
    expect(await client.getTaskPushNotificationConfig({ id: taskId })).toEqual(kept);
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([kept]);
    await client.deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: 'p1' });
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([]);
    expect((await client.getAgentCard()).skills.map(({ id }) => id)).toEqual(['monthlyReport', 'triage', 'audit']);
  });

  it('knows our errors', async () => {
    const client = await connect();
    await expect(client.getTask({ id: 'nothing' })).rejects.toThrow(/no task has this id|not found/i);
    const { id } = (await client.sendMessage(aSend('hello'))) as Task03;
    await expect(client.cancelTask({ id })).rejects.toThrow(/over|cancel/i);
  });
});
