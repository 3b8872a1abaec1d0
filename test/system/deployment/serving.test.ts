import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Message, Role, type SendMessageRequest, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeWithDynoxide } from '../../support/dynoxide.js';
import { readAssembly } from './cloud-assembly.js';
import { deploy, type Deployment } from './deployment.js';
import { Opened } from './opened.js';
import { StackClient } from './stack-client.js';
import { synthesize } from './synthesize.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const testTimeoutMs = 120_000;

describeWithDynoxide('served workflows of a stack that is deployed from its template', () => {
  const opened = new Opened();
  let stack: Deployment;
  let url: string;
  let key: string;
  let messages = 0;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outwait-serving-'));
    opened.onClose(() => rm(folder, { recursive: true, force: true }));
    await synthesize(folder, {
      app: join(here, 'apps/serving.config.ts'),
      serve: { access: { kind: 'keys' }, accountLogRole: false },
    });
    stack = await opened.add(deploy(await readAssembly(folder), { replicas: 2 }), (part) => part.stop());
    url = stack.outputs['ServeUrl'] ?? '';
    const { body } = await new StackClient(stack).request('POST', '/keys', { name: 'desk', roles: ['call'] });
    key = body['key'] as string;
  }, testTimeoutMs);

  afterAll(() => opened.close());

  const withKey: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    request.headers.set('authorization', `Bearer ${key}`);
    return stack.fetch(request);
  };
  // The client types its options as a class that it does not export.
  /* eslint-disable @typescript-eslint/no-unsafe-class-instance-assignment */
  const withFetch = { fetchImpl: withKey };
  const connect = (transport: 'JSONRPC' | 'HTTP+JSON'): Promise<Client> =>
    new ClientFactory({
      // The card needs no credential. It is read below the stage, which is in the path.
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: stack.fetch }),
      transports: [new JsonRpcTransportFactory(withFetch), new RestTransportFactory(withFetch)],
      preferredTransports: [transport],
    }).createFromUrl(`${url}/`);
  /* eslint-enable @typescript-eslint/no-unsafe-class-instance-assignment */
  const aSend = (value: object, more: Partial<Message> = {}): SendMessageRequest => ({
    tenant: '',
    metadata: undefined,
    message: {
      messageId: `message-${++messages}`,
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true },
  });

  it.each(['JSONRPC', 'HTTP+JSON'] as const)(
    'stream to the official client over %s, ask it, and take its answer',
    async (transport) => {
      const client = await connect(transport);
      const begun = client.sendMessageStream(aSend({ skill: 'report', arguments: { month: '2026-10' } }));
      const events: StreamResponse[] = [];
      const times: number[] = [];
      for await (const event of begun) {
        events.push(event);
        times.push(Date.now());
      }
      const first = events[0]?.payload;
      if (first?.$case !== 'task') throw new Error('a stream begins with the task');
      const { id: taskId, contextId } = first.value;
      const last = events.at(-1)?.payload;
      expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
      // The workflow sleeps a second in between: what it said before is not held back until the end.
      expect(times.at(-1)! - times[0]!).toBeGreaterThan(800);

      const answer = aSend({ board: true }, { taskId, contextId });
      await client.sendMessage(answer);
      const done = await ended(client, taskId);
      expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
      expect(done.artifacts.map(({ parts }) => parts.map(({ content }) => content?.value as unknown))).toEqual([
        [['2026-10'], ['end']],
        [{ month: '2026-10', action: 'accept', caller: 'desk' }],
      ]);
    },
    testTimeoutMs,
  );

  async function ended(client: Client, id: string): Promise<Task> {
    return vi.waitFor(
      async () => {
        const task = await client.getTask({ tenant: '', id });
        expect([TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_CANCELED]).toContain(task.status?.state);
        return task;
      },
      { timeout: 30_000, interval: 250 },
    );
  }

  it(
    'are listed, and cancelled, and the stream ends with the task',
    async () => {
      const client = await connect('JSONRPC');
      const stream = client.sendMessageStream(aSend({ skill: 'watch', arguments: {} }));
      const { payload } = (await stream.next()).value as StreamResponse;
      const { id } = payload?.value as Task;
      const page = await client.listTasks({
        ...{ tenant: '', contextId: '', pageSize: 10, pageToken: '' },
        ...{ status: TaskState.TASK_STATE_UNSPECIFIED, statusTimestampAfter: undefined },
      });
      expect(page.tasks.map((task) => task.id)).toContain(id);
      const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined });
      expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
      const states: (TaskState | undefined)[] = [];
      for await (const { payload: next } of stream)
        if (next?.$case === 'statusUpdate') states.push(next.value.status?.state);
      expect(states.at(-1)).toBe(TaskState.TASK_STATE_CANCELED);
    },
    testTimeoutMs,
  );

  it('are closed without a key, and have a card that names the stage', async () => {
    const card = (await (await stack.fetch(`${url}/.well-known/agent-card.json`)).json()) as { readonly url: string };
    expect(card.url).toBe(`${url}/a2a`);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
    for (const authorization of [undefined, 'Bearer owk_none', 'Bearer none']) {
      const response = await stack.fetch(`${url}/a2a`, {
        method: 'POST',
        headers: authorization === undefined ? headers : { ...headers, authorization },
        body,
      });
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain('tasks');
    }
    // A client that has the card gets it again: a response without a body would never end.
    const etag = (await stack.fetch(`${url}/.well-known/agent-card.json`)).headers.get('etag') ?? '';
    const again = await stack.fetch(`${url}/.well-known/agent-card.json`, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.json()]).toEqual([200, card]);
    expect((await stack.fetch(url.replace('/live', '/other') + '/a2a')).status).toBe(403);
  });

  it('are answered 503 with Retry-After where the function fails before it has answered', async () => {
    const held = stack.aws.hold(
      ({ session, service }) => session.startsWith('ServeFunction-') && service === 'dynamodb',
    );
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });
    const answer = withKey(`${url}/a2a`, { method: 'POST', headers, body });
    await stack.lambda.kill((await held).session);
    const { status, headers: answered } = await answer;
    expect([status, answered.get('retry-after')]).toEqual([503, '5']);
  });

  it('make use of all that is granted to their function, and report no problem', () => {
    const unused = stack.grants().filter(({ text, uses }) => uses === 0 && text.startsWith('ServeFunctionRole'));
    // A push config would send a message to the work queue; its receiver cannot be on this machine.
    expect(unused.map(({ text }) => text)).toEqual(['ServeFunctionRole sqs:SendMessage WorkQueue']);
    expect(stack.denials()).toEqual([]);
    expect(stack.aws.problems).toEqual([]);
    const levels = stack.logs.map(({ line }) => (JSON.parse(line) as { readonly level?: string }).level);
    expect(levels.filter((level) => level === 'error')).toEqual([]);
  });
});
