// A2A 0.3 over JSON-RPC. Pure.

import * as z from 'zod/mini';
import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { parseAs } from '../../http/parse.js';
import type { Artifact, Part, ServedTask, TaskMessage, TaskStatus } from '../task/served-task.js';
import { fitted } from '../task/fitted.js';
import type { NewPushConfig, PushConfig } from '../push-configs.js';
import type { Call } from './call.js';
import { A2aError } from './errors.js';
import { pageSizeMax, partsMax, schemesMax, taskMaxBytes } from './limits.js';
import type { Answer, Operation, StreamEvent } from './operation.js';
import * as params from './params.js';
import { type CameMessage, sendOperation } from './send-request.js';
import { cursorOf, sequenceOf } from './sequence.js';
import type { Wire } from './wire.js';

const file = z.object({
  bytes: z.nullish(params.base64),
  uri: params.maybeText,
  name: params.maybeText,
  mimeType: params.maybeText,
});
const part = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('text'), text: z.string(), metadata: params.metadata }),
  z.object({ kind: z.literal('data'), data: params.object, metadata: params.metadata }),
  z.object({ kind: z.literal('file'), file, metadata: params.metadata }),
]);

const message = z.object({
  messageId: params.id,
  role: z.literal('user', 'must be user'),
  parts: z.array(part).check(z.minLength(1), z.maxLength(partsMax)),
  taskId: params.maybeId,
  contextId: params.maybeId,
  metadata: params.metadata,
});

const pushConfig = z.object({
  id: params.maybeId,
  url: z.string(),
  token: params.maybeText,
  authentication: z.nullish(
    z.object({ schemes: z.array(z.string()).check(z.maxLength(schemesMax)), credentials: params.maybeText }),
  ),
});

const sendParams = z.object({
  message,
  configuration: z.nullish(
    z.object({
      blocking: z.nullish(z.boolean()),
      historyLength: params.historyLength,
      pushNotificationConfig: z.nullish(pushConfig),
      ifGenerationMatch: params.generation,
    }),
  ),
  metadata: params.metadata,
});
const taskParams = z.object({ id: params.id, historyLength: params.historyLength });
const getParams = z.extend(taskParams, { currentGeneration: params.generation });
const subscribeParams = z.object({ id: params.id, afterGeneration: params.generation });
const setPushParams = z.object({ taskId: params.id, pushNotificationConfig: pushConfig });
const readPushParams = z.object({ id: params.id, pushNotificationConfigId: params.maybeId });
const removePushParams = z.object({ id: params.id, pushNotificationConfigId: params.id });

type Read = (given: JsonValue, call: Call) => Operation;
const read = <Schema extends z.ZodMiniType>(schema: Schema, given: JsonValue): z.infer<Schema> =>
  parseAs(schema, given, 'params');

const methods: Readonly<Record<string, Read>> = {
  'message/send': (given, call) => sendOperation(cameMessage(read(sendParams, given)), false, call),
  'message/stream': (given, call) => sendOperation(cameMessage(read(sendParams, given)), true, call),
  'tasks/get': (given, call) => {
    const { id, historyLength, currentGeneration } = read(getParams, given);
    const after = cursorOf(currentGeneration, { extensions: call.extensions });
    return { kind: 'get', taskId: id, historyLength: params.historyLengthOf(historyLength), ...after };
  },
  'tasks/cancel': (given) => ({ kind: 'cancel', taskId: read(taskParams, given).id }),
  'tasks/resubscribe': (given, call) => {
    const { id, afterGeneration } = read(subscribeParams, given);
    return { kind: 'subscribe', taskId: id, ...cursorOf(afterGeneration, call) };
  },
  'tasks/pushNotificationConfig/set': (given) => {
    const { taskId, pushNotificationConfig } = read(setPushParams, given);
    return { kind: 'set_push', taskId, config: newPushConfig(pushNotificationConfig) };
  },
  'tasks/pushNotificationConfig/get': (given) => {
    const { id: taskId, pushNotificationConfigId } = read(readPushParams, given);
    return { kind: 'read_push', taskId, ...defined({ id: params.given(pushNotificationConfigId) }) };
  },
  // The list of 0.3 has no pages.
  'tasks/pushNotificationConfig/list': (given) => ({
    kind: 'list_pushes',
    taskId: read(taskParams, given).id,
    pageSize: pageSizeMax,
  }),
  'tasks/pushNotificationConfig/delete': (given) => {
    const { id: taskId, pushNotificationConfigId } = read(removePushParams, given);
    return { kind: 'remove_push', taskId, id: pushNotificationConfigId };
  },
  'agent/getAuthenticatedExtendedCard': () => ({ kind: 'extended_card' }),
};

export const wire03: Wire = {
  version: '0.3',
  methods: new Set(Object.keys(methods)),
  decode: (method, given, call) => {
    const decode = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (decode === undefined) throw new A2aError('METHOD_NOT_FOUND', 'A2A 0.3 has no such method');
    return decode(given, call);
  },
  result: resultOf,
  event: eventOf,
};

function cameMessage({ message: came, configuration, metadata }: z.infer<typeof sendParams>): CameMessage {
  const { messageId, parts, taskId, contextId } = came;
  const push = configuration?.pushNotificationConfig;
  return {
    message: {
      messageId,
      role: 'user',
      parts: parts.map(partFrom),
      ...defined({ metadata: params.given(came.metadata) }),
    },
    taskId: params.given(taskId),
    contextId: params.given(contextId),
    metadata: params.given(metadata),
    ifGenerationMatch: params.givenNumber(configuration?.ifGenerationMatch),
    push: push === null || push === undefined ? undefined : newPushConfig(push),
    returnImmediately: configuration?.blocking === false,
    historyLength: params.historyLengthOf(configuration?.historyLength),
  };
}

/** Marks data that is not an object, which 0.3 cannot hold otherwise. */
const wrapped = 'data_part_compat';

function partFrom(came: z.infer<typeof part>, at: number): Part {
  const metadata = params.given(came.metadata);
  switch (came.kind) {
    case 'text':
      return { text: came.text, ...defined({ metadata }) };
    case 'data': {
      const { [wrapped]: isWrapped, ...own } = metadata ?? {};
      if (isWrapped !== true) return { data: came.data, ...defined({ metadata }) };
      return {
        data: came.data['value'] ?? null,
        ...defined({ metadata: Object.keys(own).length === 0 ? undefined : own }),
      };
    }
    case 'file': {
      const { bytes, uri, name, mimeType } = came.file;
      const details = defined({ filename: params.given(name), mediaType: params.given(mimeType), metadata });
      if (typeof bytes === 'string' && typeof uri !== 'string') return { raw: params.normalBase64(bytes), ...details };
      if (typeof uri === 'string' && typeof bytes !== 'string') return { url: uri, ...details };
      throw new EngineError('INPUT_INVALID', `parts.${at} must be a file with either bytes or uri`);
    }
  }
}

function newPushConfig({ id, url, token, authentication }: z.infer<typeof pushConfig>): NewPushConfig {
  const scheme = authentication?.schemes[0];
  const credentials = params.given(authentication?.credentials);
  return {
    url,
    wire: '0.3',
    ...defined({
      id: params.given(id),
      token: params.given(token),
      authentication: scheme === undefined ? undefined : { scheme, ...defined({ credentials }) },
    }),
  };
}

function resultOf(answer: Exclude<Answer, { kind: 'stream' }>, call: Call): JsonValue {
  switch (answer.kind) {
    case 'task':
      return taskOf(answer.task, answer.historyLength, call);
    case 'page':
      throw new A2aError('METHOD_NOT_FOUND', 'A2A 0.3 has no list of tasks');
    case 'push':
      return pushOf(answer.taskId, answer.config);
    case 'pushes':
      return answer.configs.map((config) => pushOf(answer.taskId, config));
    case 'removed':
      return null;
    case 'card':
      return answer.card;
  }
}

function eventOf({ followed, taskId, contextId, isLast, historyLength }: StreamEvent, call: Call): JsonObject {
  if (followed.kind === 'snapshot') return taskOf(followed.task, historyLength, call);
  const metadata = sequenceOf(followed.generation, call);
  if (followed.kind === 'status') {
    const status = statusOf(followed.status, { taskId, contextId });
    return { kind: 'status-update', taskId, contextId, status, final: isLast, ...metadata };
  }
  const { artifact, append, lastChunk } = followed;
  return {
    kind: 'artifact-update',
    taskId,
    contextId,
    artifact: artifactOf(artifact),
    append,
    lastChunk,
    ...metadata,
  };
}

function taskOf(task: ServedTask, historyLength: number, call: Call): JsonObject {
  const { taskId, contextId, status, generation } = task;
  const { history, artifacts } = fitted(task, historyLength, taskMaxBytes);
  const metadata = { ...task.metadata, ...sequenceOf(generation, call).metadata };
  return {
    kind: 'task',
    id: taskId,
    contextId,
    status: statusOf(status, { taskId, contextId }),
    ...defined({
      artifacts: artifacts.length === 0 ? undefined : artifacts.map(artifactOf),
      history: history.length === 0 ? undefined : history.map((said) => messageOf(said, { taskId, contextId })),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    }),
  };
}

interface Names {
  readonly taskId: string;
  readonly contextId: string;
}

function statusOf({ state, atMs, message: said }: TaskStatus, names: Names): JsonObject {
  return {
    state,
    timestamp: new Date(atMs).toISOString(),
    ...defined({ message: said === undefined ? undefined : messageOf(said, names) }),
  };
}

function messageOf({ messageId, role, parts, metadata }: TaskMessage, { taskId, contextId }: Names): JsonObject {
  return {
    kind: 'message',
    messageId,
    taskId,
    contextId,
    role,
    parts: parts.map(partOf),
    ...defined({ metadata }),
  };
}

function artifactOf({ artifactId, name, description, parts, metadata }: Artifact): JsonObject {
  return {
    artifactId,
    parts: parts.map(partOf),
    ...defined({ name: params.given(name), description: params.given(description), metadata }),
  };
}

function partOf(given: Part): JsonObject {
  const metadata = defined({ metadata: given.metadata });
  if ('text' in given) return { kind: 'text', text: given.text, ...metadata };
  if ('data' in given) {
    const { data } = given;
    if (isJsonObject(data)) return { kind: 'data', data, ...metadata };
    return { kind: 'data', data: { value: data }, metadata: { ...given.metadata, [wrapped]: true } };
  }
  const about = defined({ name: params.given(given.filename), mimeType: params.given(given.mediaType) });
  const content = 'raw' in given ? { bytes: given.raw } : { uri: given.url };
  return { kind: 'file', file: { ...content, ...about }, ...metadata };
}

function pushOf(taskId: string, { id, url, authentication }: PushConfig): JsonObject {
  const proof = authentication && {
    schemes: [authentication.scheme],
    ...defined({ credentials: authentication.credentials }),
  };
  return { taskId, pushNotificationConfig: { id, url, ...defined({ authentication: proof }) } };
}
