import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { lazy } from '../../base/lazy.js';
import type { OpenStream } from '../../serve/open-streams.js';
import type { Followed, FollowOptions, ListRequest, SendRequest, TaskPage, Tasks, Until } from '../../serve/tasks.js';
import { isFinal, type ServedTask } from '../../serve/task/served-task.js';
import type { ServeConfig } from '../../workflow/serve.js';
import type { Deps } from '../deps.js';
import { cancelTask } from './cancel-task.js';
import type { FollowUp } from './follow-up.js';
import { listTasks } from './list-tasks.js';
import { placeToWait } from './place-to-wait.js';
import { readTask } from './read-task.js';
import type { Started } from './start-task.js';
import { changesOf, type Pausing, requireOpen, untilTakenIn, waitForTask } from './watch-task.js';

/** Metadata of a task are in each of its answers, and in lists. */
const taskMetadataMaxBytes = 32 * 1024;
/** Limit of a further message with all that it has, too. */
const messageMetadataMaxBytes = 256 * 1024;

/** Loads what takes messages: a process that only shows tasks, or sends streams of them, starts faster without it. */
export const loadSendParts = lazy(() => import('./send-parts.js'));
/** Loads what a message with a push config needs; few have one. */
export const loadPushConfigs = lazy(() => import('./push-configs.js'));

/**
 * Creates what doors use of served workflows, for the caller of `deps`. It keeps nothing: any process serves any task.
 * `openStream`: long waits are counted with the streams. Default: they are not.
 */
export function createTasks(deps: Deps, serve: ServeConfig, openStream?: OpenStream): Tasks {
  const inPlace = async <Result>(until: Until, wait: (pausing: Pausing) => Promise<Result>): Promise<Result> => {
    const place = placeToWait(openStream, until, deps.clock.nowMs());
    try {
      return await wait(place.pausing);
    } finally {
      await place.leave();
    }
  };
  const followInPlace = async function* (
    { afterGeneration, ...until }: FollowOptions & Until,
    taskId: string,
  ): AsyncGenerator<Followed> {
    const place = placeToWait(openStream, until, deps.clock.nowMs());
    try {
      yield* follow(deps, taskId, { ...place.pausing, ...defined({ afterGeneration }) });
    } finally {
      await place.leave();
    }
  };
  const read = async (taskId: string): Promise<ServedTask> => (await readTask(deps, taskId)).fold.task;
  return {
    send: async (request, until) => {
      const { taskId, answered, task } = await sendWithPush(deps, serve, request);
      // A start is accepted whatever a read would come to.
      if (task !== undefined) return task;
      if (answered === undefined || until === undefined) return read(taskId);
      return inPlace(until, async (pausing) => untilTakenIn(deps, { taskId, waitId: answered }, pausing));
    },
    read,
    list: async (request: ListRequest): Promise<TaskPage> => listTasks(deps, request),
    cancel: async (taskId, { waitMs } = {}) => {
      if (waitMs === undefined) return cancelTask(deps, taskId);
      const untilMs = deps.clock.nowMs() + waitMs;
      return inPlace({ untilMs }, async (pausing) => cancelTask(deps, taskId, pausing));
    },
    waitFor: async (taskId, { until, ...wait }) =>
      inPlace(wait, async (pausing) => waitForTask(deps, taskId, { ...pausing, until })),
    follow: (taskId, { untilMs, ...options }) =>
      untilMs === undefined
        ? follow(deps, taskId, { ...options, untilMs: Infinity })
        : followInPlace({ ...options, untilMs }, taskId),
  };
}

/** The task of a message, and the question of it that the message has answered. */
interface Sent extends Started {
  readonly answered?: WaitId;
}

/** Takes a message, with the push config that comes with it. A repeat of the message changes no config. */
async function sendWithPush(deps: Deps, serve: ServeConfig, request: SendRequest): Promise<Sent> {
  const { push, message, key = message.messageId } = request;
  if (push === undefined) return send(deps, serve, request);
  const { checkPushConfig, putConfigOfMessage, putConfigOfStart } = await loadPushConfigs();
  await checkPushConfig(deps, push);
  const config = { ...push, id: push.id ?? deps.digest(`push ${key}`).slice(0, 32) };
  const { taskId } = request;
  if (taskId !== undefined)
    return sendMore(deps, serve, {
      ...{ ...request, taskId },
      prepare: async (cursor) => putConfigOfMessage(deps, { taskId, config, cursor }),
    });
  const started = await start(deps, serve, request);
  await putConfigOfStart(deps, started.taskId, config);
  return started;
}

async function send(deps: Deps, serve: ServeConfig, request: SendRequest): Promise<Sent> {
  const { taskId } = request;
  return taskId === undefined ? start(deps, serve, request) : sendMore(deps, serve, { ...request, taskId });
}

async function sendMore(
  deps: Deps,
  serve: ServeConfig,
  { contextId, ...request }: SendRequest & Pick<FollowUp, 'taskId' | 'prepare'>,
): Promise<Sent> {
  const { taskId, message, ifGenerationMatch, answers, prepare } = request;
  const { fold } = await readTask(deps, taskId);
  if (contextId !== undefined && contextId !== fold.task.contextId)
    throw new EngineError('INPUT_INVALID', 'the task belongs to another context');
  const { admitMessage, followUp } = await loadSendParts();
  await admitMessage(deps, serve);
  const answered = await followUp(deps, { taskId, message, ...defined({ ifGenerationMatch, answers, prepare }) });
  return { taskId, ...defined({ answered }) };
}

async function start(deps: Deps, serve: ServeConfig, request: SendRequest): Promise<Started> {
  const { skill, message, metadata, key, traceparent, arguments: given } = request;
  const { onMessage } = serve;
  const workflow = skill ?? onMessage;
  if (workflow === undefined) throw new EngineError('SKILL_NOT_FOUND', `a message must name a skill: ${names(serve)}`);
  const config = Object.hasOwn(serve.skills ?? {}, workflow) ? serve.skills?.[workflow] : undefined;
  if (config === undefined && workflow !== onMessage)
    throw new EngineError('SKILL_NOT_FOUND', `no skill is named "${workflow}"; skills: ${names(serve)}`);
  checkMetadata('request', metadata, taskMetadataMaxBytes);
  checkMetadata('message', message.metadata, messageMetadataMaxBytes);
  const contextId = request.contextId ?? deps.random.hex(16);
  const context = config?.context ?? (workflow === onMessage ? 'queue' : 'parallel');
  const ownConcurrency = deps.app.workflows.get(workflow)?.flowControl?.concurrency;
  const input =
    skill === undefined
      ? { messageId: message.messageId, parts: message.parts, metadata: message.metadata ?? {}, contextId }
      : given;
  const { startTask } = await loadSendParts();
  return startTask(deps, serve, {
    ...{ workflow, message, contextId, isInputOnly: skill !== undefined },
    isQueued: context === 'queue' && ownConcurrency === undefined,
    // The id of its message and a context id of ours may differ: the key is what the start is known by.
    sent: {
      content: (skill === undefined ? message.parts : (given ?? null)) as JsonValue,
      contextId: request.contextId ?? null,
    },
    ...defined({ input: input, metadata, key, traceparent }),
  });
}

/** @throws EngineError `PAYLOAD_TOO_LARGE` */
function checkMetadata(of: string, metadata: JsonObject | undefined, maxBytes: number): void {
  if (metadata !== undefined) checkJsonBytes(`the metadata of the ${of} are`, jsonBytes(metadata), maxBytes);
}

function names({ skills = {} }: ServeConfig): string {
  return Object.keys(skills).join(', ');
}

async function* follow(
  deps: Deps,
  taskId: string,
  { afterGeneration, ...pausing }: Pausing & { readonly afterGeneration?: number },
): AsyncGenerator<Followed> {
  const read = await readTask(deps, taskId);
  const { fold, past } = read;
  const isBehind = afterGeneration !== undefined && afterGeneration < fold.generation;
  if (!isBehind) requireOpen(read);
  if (afterGeneration === undefined) yield { kind: 'snapshot', task: fold.task };
  else for (const event of past) if (event.generation > afterGeneration) yield event;
  if (isFinal(fold.state)) return;
  for await (const events of changesOf(deps, read, pausing)) yield* events;
}
