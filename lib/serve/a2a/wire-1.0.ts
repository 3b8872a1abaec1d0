// A2A 1.0: parameters and results, the same for JSON-RPC and HTTP+JSON. Pure.

import * as z from 'zod/mini';
import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { parseAs } from '../../http/parse.js';
import type { Artifact, Part, ServedTask, TaskMessage, TaskState, TaskStatus } from '../task/served-task.js';
import { fitted } from '../task/fitted.js';
import type { NewPushConfig, PushConfig } from '../push-configs.js';
import type { Call } from './call.js';
import { A2aError } from './errors.js';
import { pageMaxBytes, pageSizeDefault, pageSizeMax, partsMax, taskMaxBytes } from './limits.js';
import type { Answer, ListOperation, Operation, StreamEvent } from './operation.js';
import * as params from './params.js';
import { type CameMessage, sendOperation } from './send-request.js';
import { cursorOf, sequenceOf } from './sequence.js';
import type { Wire } from './wire.js';

const part = params.fields({
  text: params.maybeText,
  data: z.optional(params.anyJson),
  raw: z.nullish(params.base64),
  url: params.maybeText,
  filename: params.maybeText,
  mediaType: params.maybeText,
  metadata: params.metadata,
});

const message = params.fields({
  messageId: params.id,
  role: z.literal('ROLE_USER', 'must be ROLE_USER'),
  parts: z.array(part).check(z.minLength(1), z.maxLength(partsMax)),
  taskId: params.maybeId,
  contextId: params.maybeId,
  metadata: params.metadata,
});

const pushFields = {
  id: params.maybeId,
  url: z.string(),
  token: params.maybeText,
  authentication: z.nullish(z.object({ scheme: z.string(), credentials: params.maybeText })),
};
const pushConfig = params.fields(pushFields);

const sendParams = params.fields({
  message,
  configuration: z.nullish(
    params.fields({
      returnImmediately: z.nullish(z.boolean()),
      historyLength: params.historyLength,
      taskPushNotificationConfig: z.nullish(pushConfig),
      ifGenerationMatch: params.generation,
    }),
  ),
  metadata: params.metadata,
});
const taskParams = params.fields({ id: params.id, historyLength: params.historyLength });
const getParams = params.fields({
  id: params.id,
  historyLength: params.historyLength,
  currentGeneration: params.generation,
});
const subscribeParams = params.fields({ id: params.id, afterGeneration: params.generation });
const listParams = params.fields({
  contextId: params.maybeId,
  status: params.maybeText,
  pageSize: z.nullish(z.int().check(z.gte(1), z.lte(pageSizeMax))),
  pageToken: params.maybeText,
  historyLength: params.historyLength,
  statusTimestampAfter: params.maybeText,
  includeArtifacts: z.nullish(z.boolean()),
});
const setPushParams = params.fields({ ...pushFields, taskId: params.id });
const onePushParams = params.fields({ taskId: params.id, id: params.id });
const listPushParams = params.fields({
  taskId: params.id,
  // Zero is what ProtoJSON writes for a missing number.
  pageSize: z.nullish(z.int().check(z.gte(0), z.lte(pageSizeMax))),
  pageToken: params.maybeText,
});

type Read = (given: JsonValue, call: Call) => Operation;
const read = <Schema extends z.ZodMiniType>(schema: Schema, given: JsonValue): z.infer<Schema> =>
  parseAs(schema, given, 'params');

const methods: Readonly<Record<string, Read>> = {
  SendMessage: (given, call) => sendOperation(cameMessage(read(sendParams, given)), false, call),
  SendStreamingMessage: (given, call) => sendOperation(cameMessage(read(sendParams, given)), true, call),
  GetTask: (given, call) => {
    const { id, historyLength, currentGeneration } = read(getParams, given);
    const after = cursorOf(currentGeneration, { extensions: call.extensions });
    return { kind: 'get', taskId: id, historyLength: params.historyLengthOf(historyLength), ...after };
  },
  ListTasks: (given) => listOperation(read(listParams, given)),
  CancelTask: (given) => ({ kind: 'cancel', taskId: read(taskParams, given).id }),
  SubscribeToTask: (given, call) => {
    const { id, afterGeneration } = read(subscribeParams, given);
    return { kind: 'subscribe', taskId: id, ...cursorOf(afterGeneration, call) };
  },
  CreateTaskPushNotificationConfig: (given) => {
    const { taskId, ...config } = read(setPushParams, given);
    return { kind: 'set_push', taskId, config: newPushConfig(config) };
  },
  GetTaskPushNotificationConfig: (given) => ({ kind: 'read_push', ...read(onePushParams, given) }),
  ListTaskPushNotificationConfigs: (given) => {
    const { taskId, pageSize, pageToken } = read(listPushParams, given);
    const token = params.given(pageToken);
    return {
      kind: 'list_pushes',
      taskId,
      pageSize: pageSize === 0 ? pageSizeDefault : (pageSize ?? pageSizeDefault),
      ...defined({ pageToken: token }),
    };
  },
  DeleteTaskPushNotificationConfig: (given) => ({ kind: 'remove_push', ...read(onePushParams, given) }),
  GetExtendedAgentCard: () => ({ kind: 'extended_card' }),
};

export const wire10: Wire = {
  version: '1.0',
  methods: new Set(Object.keys(methods)),
  decode: (method, given, call) => {
    const decode = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (decode === undefined) throw new A2aError('METHOD_NOT_FOUND', 'A2A 1.0 has no such method');
    return decode(given, call);
  },
  result: resultOf,
  event: eventOf,
};

function cameMessage({ message: came, configuration, metadata }: z.infer<typeof sendParams>): CameMessage {
  const { messageId, parts, taskId, contextId } = came;
  const push = configuration?.taskPushNotificationConfig;
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
    returnImmediately: configuration?.returnImmediately === true,
    historyLength: params.historyLengthOf(configuration?.historyLength),
  };
}

/** @throws EngineError `INPUT_INVALID` unless the part has exactly one content */
function partFrom(came: z.infer<typeof part>, at: number): Part {
  const { text, raw, url } = came;
  const details = defined({ mediaType: params.given(came.mediaType), metadata: params.given(came.metadata) });
  const file = { ...defined({ filename: params.given(came.filename) }), ...details };
  const contents: Part[] = [];
  if (typeof text === 'string') contents.push({ text, ...details });
  if (came.data !== undefined) contents.push({ data: came.data, ...details });
  if (typeof raw === 'string') contents.push({ raw: params.normalBase64(raw), ...file });
  if (typeof url === 'string') contents.push({ url, ...file });
  const [content] = contents;
  if (content !== undefined && contents.length === 1) return content;
  throw new EngineError('INPUT_INVALID', `parts.${at} must have exactly one of text, data, raw and url`);
}

function newPushConfig({ id, url, token, authentication }: z.infer<typeof pushConfig>): NewPushConfig {
  const credentials = params.given(authentication?.credentials);
  return {
    url,
    wire: '1.0',
    ...defined({
      id: params.given(id),
      token: params.given(token),
      authentication:
        authentication === null || authentication === undefined
          ? undefined
          : { scheme: authentication.scheme, ...defined({ credentials }) },
    }),
  };
}

const stateWords: Readonly<Record<TaskState, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
};
const states = new Map(Object.entries(stateWords).map(([state, word]) => [word, state as TaskState]));

function listOperation(given: z.infer<typeof listParams>): ListOperation {
  const word = params.given(given.status);
  const state = word === undefined || word === 'TASK_STATE_UNSPECIFIED' ? undefined : states.get(word);
  if (state === undefined && word !== undefined && word !== 'TASK_STATE_UNSPECIFIED')
    throw new EngineError('INPUT_INVALID', 'params is not valid: status: is not a state of a task');
  const after = params.given(given.statusTimestampAfter);
  const statusAfterMs = after === undefined ? undefined : Date.parse(after);
  if (statusAfterMs !== undefined && Number.isNaN(statusAfterMs))
    throw new EngineError('INPUT_INVALID', 'params is not valid: statusTimestampAfter: is not a timestamp');
  const historyLength = params.historyLengthOf(given.historyLength, 0);
  return {
    kind: 'list',
    request: {
      pageSize: given.pageSize ?? pageSizeDefault,
      contents: { historyLength, artifacts: given.includeArtifacts === true, maxBytes: pageMaxBytes },
      ...defined({
        contextId: params.given(given.contextId),
        state,
        statusAfterMs,
        pageToken: params.given(given.pageToken),
      }),
    },
    historyLength,
    includeArtifacts: given.includeArtifacts === true,
  };
}

function resultOf(answer: Exclude<Answer, { kind: 'stream' }>, call: Call): JsonValue {
  switch (answer.kind) {
    case 'task': {
      const task = taskOf(answer.task, answer.historyLength, call);
      return answer.wasSent ? { task } : task;
    }
    case 'page': {
      const { page, asked } = answer;
      const maxBytes = pageMaxBytes / Math.max(1, page.tasks.length);
      const shown = page.tasks.map((task) =>
        taskOf(asked.includeArtifacts ? task : { ...task, artifacts: [] }, asked.historyLength, call, maxBytes),
      );
      return {
        tasks: shown,
        nextPageToken: page.nextPageToken ?? '',
        pageSize: asked.request.pageSize,
        totalSize: page.totalSize,
      };
    }
    case 'push':
      return pushOf(answer.taskId, answer.config);
    case 'pushes': {
      const configs = answer.configs.map((config) => pushOf(answer.taskId, config));
      return { configs, nextPageToken: answer.nextPageToken ?? '' };
    }
    case 'removed':
      return {};
    case 'card':
      return answer.card;
  }
}

/** Returns a StreamResponse. */
function eventOf({ followed, taskId, contextId, historyLength }: StreamEvent, call: Call): JsonObject {
  if (followed.kind === 'snapshot') return { task: taskOf(followed.task, historyLength, call) };
  const metadata = sequenceOf(followed.generation, call);
  if (followed.kind === 'status')
    return {
      statusUpdate: { taskId, contextId, status: statusOf(followed.status, { taskId, contextId }), ...metadata },
    };
  const { artifact, append, lastChunk } = followed;
  return {
    artifactUpdate: {
      taskId,
      contextId,
      artifact: artifactOf(artifact),
      ...defined({ append: append || undefined, lastChunk: lastChunk || undefined }),
      ...metadata,
    },
  };
}

function taskOf(task: ServedTask, historyLength: number, call: Call, maxBytes = taskMaxBytes): JsonObject {
  const { taskId, contextId, status, generation } = task;
  const { history, artifacts } = fitted(task, historyLength, maxBytes);
  const metadata = { ...task.metadata, ...sequenceOf(generation, call).metadata };
  return {
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
    state: stateWords[state],
    timestamp: new Date(atMs).toISOString(),
    ...defined({ message: said === undefined ? undefined : messageOf(said, names) }),
  };
}

function messageOf({ messageId, role, parts, metadata }: TaskMessage, { taskId, contextId }: Names): JsonObject {
  return {
    messageId,
    taskId,
    contextId,
    role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
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
  const details = defined({ mediaType: params.given(given.mediaType), metadata: given.metadata });
  if ('text' in given) return { text: given.text, ...details };
  if ('data' in given) return { data: given.data, ...details };
  const file = { ...details, ...defined({ filename: params.given(given.filename) }) };
  return 'raw' in given ? { raw: given.raw, ...file } : { url: given.url, ...file };
}

function pushOf(taskId: string, { id, url, authentication }: PushConfig): JsonObject {
  return { taskId, id, url, ...defined({ authentication: authentication && defined(authentication) }) };
}
