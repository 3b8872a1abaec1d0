// A program: the official client of A2A 1.0. It calls each method of the agent at a URL, and prints what it has seen, and
// every reply that its own types do not give back unchanged.

import { writeSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import {
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  type Message,
  Role,
  SendMessageResponse,
  type SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import type { ClientOptions, Report, Seen } from './official-clients.js';
import { Replies } from './replies.js';

const { url, transport, key, hookUrl } = JSON.parse(process.argv[2] ?? '') as ClientOptions;

interface Codec {
  fromJSON(value: unknown): never;
  toJSON(value: never): unknown;
}
const codecs: Readonly<Record<string, Codec>> = {
  card: AgentCard,
  GetExtendedAgentCard: AgentCard,
  SendMessage: SendMessageResponse,
  SendStreamingMessage: StreamResponse,
  SubscribeToTask: StreamResponse,
  GetTask: Task,
  CancelTask: Task,
  ListTasks: ListTasksResponse,
  CreateTaskPushNotificationConfig: TaskPushNotificationConfig,
  GetTaskPushNotificationConfig: TaskPushNotificationConfig,
  ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsResponse,
} as Readonly<Record<string, unknown>> as Readonly<Record<string, Codec>>;

const replies = new Replies(url, key);

async function connect(): Promise<Client> {
  // The client types its options as a class that it does not export.
  /* eslint-disable @typescript-eslint/no-unsafe-class-instance-assignment */
  const given = { fetchImpl: replies.fetch };
  return new ClientFactory({
    cardResolver: new DefaultAgentCardResolver(given),
    transports: [new JsonRpcTransportFactory(given), new RestTransportFactory(given)],
    preferredTransports: [transport],
  }).createFromUrl(url);
  /* eslint-enable @typescript-eslint/no-unsafe-class-instance-assignment */
}

let messages = 0;
type Content = { $case: 'text'; value: string } | { $case: 'data'; value: object };
const text = (value: string): Content => ({ $case: 'text', value });
const skill = (name: string, given: object = {}): Content => ({
  $case: 'data',
  value: { skill: name, arguments: given },
});

function aSend(content: Content, more: Partial<Message> = {}, returnImmediately = false): SendMessageRequest {
  return {
    tenant: '',
    metadata: undefined,
    message: {
      messageId: `message-${transport}-${++messages}`,
      ...{ contextId: '', taskId: '', role: Role.ROLE_USER },
      parts: [{ content, metadata: undefined, filename: '', mediaType: '' }],
      ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
      ...more,
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
  };
}

const stateOf = (task: Task): string => TaskState[task.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED];

/** Reads a stream until a state, or its end; returns the kinds of its events. */
async function kindsOf(events: AsyncIterable<StreamResponse>): Promise<string[]> {
  const kinds: string[] = [];
  for await (const { payload } of events)
    kinds.push(
      payload?.$case === 'statusUpdate'
        ? TaskState[payload.value.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED]
        : (payload?.$case ?? ''),
    );
  return kinds;
}

/** Calls everything that the agent does. */
async function tour(client: Client): Promise<Seen> {
  const tenant = '';
  const card = await client.getAgentCard();
  const done = (await client.sendMessage(aSend(text('hello')))) as Task;
  const again = await client.getTask({ tenant, id: done.id });

  const asked = (await client.sendMessage(aSend(skill('talk', { of: 'sky' })))) as Task;
  const { id: taskId, contextId } = asked;
  const config = { tenant, taskId, id: 'p1', url: hookUrl, token: 'secret', authentication: undefined };
  const kept = await client.createTaskPushNotificationConfig(config);
  const read = await client.getTaskPushNotificationConfig({ tenant, taskId, id: 'p1' });
  const page = { tenant, taskId, pageSize: 0, pageToken: '' };
  await client.createTaskPushNotificationConfig({ ...config, id: 'p2' });
  const listed = (await client.listTaskPushNotificationConfig(page)).configs.map(({ id }) => id);
  await client.deleteTaskPushNotificationConfig({ tenant, taskId, id: 'p2' });
  const left = (await client.listTaskPushNotificationConfig(page)).configs.map(({ id }) => id);

  const watching = client.resubscribeTask({ tenant, id: taskId });
  const snapshot = (await watching.next()).value as StreamResponse;
  const answered = (await client.sendMessage(aSend(text('blue'), { taskId, contextId }, true))) as Task;
  const watched = await kindsOf(watching);
  const painted = await client.getTask({ tenant, id: taskId });

  const streamed = await kindsOf(client.sendMessageStream(aSend(skill('talk', { of: 'sea' }))));
  const listening = (await client.sendMessage(aSend(skill('listen'), {}, true))) as Task;
  const begun = stateOf(listening);
  const canceled = await client.cancelTask({ tenant, id: listening.id, metadata: undefined });
  const found = await client.listTasks({
    ...{ tenant, contextId: '', status: TaskState.TASK_STATE_CANCELED, pageSize: 10, pageToken: '' },
    statusTimestampAfter: undefined,
  });
  const unknown = await client.getTask({ tenant, id: 'none' }).catch((error: unknown) => String(error));
  return {
    skills: card.skills.map(({ id }) => id),
    sent: stateOf(done),
    isSame: isDeepStrictEqual(again, done),
    asked: stateOf(asked),
    configs: [kept.id, read.id, kept.token + read.token, listed.join(), left.join()],
    snapshot: snapshot.payload?.$case ?? '',
    answered: answered.id === taskId,
    watched,
    artifacts: painted.artifacts.map(({ artifactId, parts }) => [
      artifactId,
      ...parts.map(({ content }) => content?.value as unknown),
    ]),
    streamed,
    begun,
    canceled: stateOf(canceled),
    found: found.tasks.map(({ id }) => id === listening.id),
    unknown: typeof unknown === 'string',
    taskId,
  };
}

/** Leaves out the token of a last page, which the protocol wants there and the types of the client drop. */
function withoutEmptyToken(value: unknown): unknown {
  const { nextPageToken, ...rest } = value as Readonly<Record<string, unknown>>;
  return nextPageToken === '' ? rest : value;
}

const seen = await tour(await connect());
const changed = (await replies.all()).flatMap(({ method, value }) => {
  const codec = codecs[method];
  if (codec === undefined) return [];
  const back = JSON.parse(JSON.stringify(codec.toJSON(codec.fromJSON(value)))) as unknown;
  return isDeepStrictEqual(back, withoutEmptyToken(value)) ? [] : [{ method, value, back }];
});
const report: Report = { seen, changed, methods: replies.methods() };
writeSync(1, JSON.stringify(report));
process.exit(0);
