// A program: the official client of A2A 0.3. It calls each method of the agent at a URL, and prints what it has seen, and
// every reply of which it did not give back what came.

import { writeSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Message, Part, Task } from 'a2a-sdk-v03';
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from 'a2a-sdk-v03/client';
import type { ClientOptions, Report, Seen } from './official-clients.js';
import { Replies } from './replies.js';

const { url, key, hookUrl } = JSON.parse(process.argv[2] ?? '') as ClientOptions;
const replies = new Replies(url, key);
/** What the client has returned: its types of 0.3 are those of the JSON itself. */
const returned: unknown[] = [];

function noted<Value>(value: Value): Value {
  returned.push(JSON.parse(JSON.stringify(value ?? null)));
  return value;
}

async function connect(): Promise<Client> {
  const given = { fetchImpl: replies.fetch };
  // The client types its options as a class that it does not export.
  return new ClientFactory({
    cardResolver: new DefaultAgentCardResolver(given),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
    transports: [new JsonRpcTransportFactory(given)],
  }).createFromUrl(url);
}

let messages = 0;
const text = (value: string): Part => ({ kind: 'text', text: value });
const skill = (name: string, given: object = {}): Part => ({ kind: 'data', data: { skill: name, arguments: given } });

function aSend(part: Part, more: Partial<Message> = {}, blocking = true) {
  const messageId = `message-0.3-${++messages}`;
  const message: Message = { kind: 'message', messageId, role: 'user', parts: [part], ...more };
  return { message, configuration: { blocking } };
}

async function kindsOf(events: AsyncIterable<{ kind: string }>): Promise<string[]> {
  const kinds: string[] = [];
  for await (const event of events) {
    noted(event);
    const { status } = event as { readonly status?: { readonly state: string } };
    kinds.push(event.kind === 'status-update' ? (status?.state ?? '') : event.kind);
  }
  return kinds;
}

/** Calls everything that the agent does. */
async function tour(client: Client): Promise<Seen> {
  const card = noted(await client.getAgentCard());
  const done = noted(await client.sendMessage(aSend(text('hello')))) as Task;
  const again = noted(await client.getTask({ id: done.id }));

  const asked = noted(await client.sendMessage(aSend(skill('talk', { of: 'sky' })))) as Task;
  const { id: taskId, contextId } = asked;
  const config = { taskId, pushNotificationConfig: { id: 'p1', url: hookUrl, token: 'secret' } };
  const kept = noted(await client.setTaskPushNotificationConfig(config));
  const read = noted(await client.getTaskPushNotificationConfig({ id: taskId }));
  const second = { ...config, pushNotificationConfig: { ...config.pushNotificationConfig, id: 'p2' } };
  noted(await client.setTaskPushNotificationConfig(second));
  const idsOf = async (): Promise<string> => {
    const listed = noted(await client.listTaskPushNotificationConfig({ id: taskId }));
    return listed.map(({ pushNotificationConfig: { id } }) => id).join();
  };
  const listed = await idsOf();
  await client.deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: 'p2' });
  const left = await idsOf();

  const watching = client.resubscribeTask({ id: taskId });
  const snapshot = noted((await watching.next()).value as Task);
  const answer = aSend(text('blue'), { taskId, contextId }, false);
  const answered = noted(await client.sendMessage(answer)) as Task;
  const watched = await kindsOf(watching);
  const painted = noted(await client.getTask({ id: taskId }));

  const streamed = await kindsOf(client.sendMessageStream(aSend(skill('talk', { of: 'sea' }))));
  const listening = noted(await client.sendMessage(aSend(skill('listen'), {}, false))) as Task;
  const canceled = noted(await client.cancelTask({ id: listening.id }));
  const unknown = await client.getTask({ id: 'none' }).catch((error: unknown) => String(error));
  return {
    skills: card.skills.map(({ id }) => id),
    sent: done.status.state,
    isSame: isDeepStrictEqual(again, done),
    asked: asked.status.state,
    configs: [
      ...[kept, read].map(({ pushNotificationConfig: { id } }) => id ?? ''),
      (kept.pushNotificationConfig.token ?? '') + (read.pushNotificationConfig.token ?? ''),
      ...[listed, left],
    ],
    snapshot: snapshot.kind,
    answered: answered.id === taskId,
    watched,
    artifacts: (painted.artifacts ?? []).map(({ artifactId, parts }) => [
      artifactId,
      ...parts.map((part) => (part.kind === 'text' ? part.text : part.kind === 'data' ? part.data : undefined)),
    ]),
    streamed,
    begun: listening.status.state,
    canceled: canceled.status.state,
    // Lists came with 1.0.
    found: [true],
    unknown: typeof unknown === 'string',
    taskId,
  };
}

const seen = await tour(await connect());
const changed = (await replies.all()).filter(
  ({ method, value }) =>
    // The client reads its first card for itself.
    method !== 'card' &&
    method !== 'tasks/pushNotificationConfig/delete' &&
    !returned.some((one) => isDeepStrictEqual(one, value)),
);
const report: Report = { seen, changed, methods: replies.methods() };
writeSync(1, JSON.stringify(report));
process.exit(0);
