import { defined } from '../../base/defined.js';
import { EngineError, hasCode } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { Clock, EpochMs } from '../../base/time.js';
import { isFinal, type ServedTask, type TaskState } from '../task/served-task.js';
import type { OpenedStream, OpenStream } from '../open-streams.js';
import type { PushConfigs } from '../push-configs.js';
import { rested } from '../rested.js';
import type { Followed, Tasks } from '../tasks.js';
import type { A2aVersion } from './call.js';
import { A2aError } from './errors.js';
import { historyLengthDefault, streamRetrySeconds } from './limits.js';
import type { Answer, ListOperation, Operation, SendOperation, StreamAnswer, StreamEvent } from './operation.js';

/** What an operation is performed with: that of one caller. */
export interface Visit {
  readonly tasks: Tasks;
  /** Missing where nothing is pushed. */
  readonly pushConfigs?: PushConfigs | undefined;
  /** The card with what only callers may know; missing if there is nothing of that kind. */
  readonly extendedCard?: ((version: A2aVersion) => Promise<JsonObject>) | undefined;
  readonly clock: Clock;
  /** Longest wait of a blocking message. */
  readonly blockMaxMs: number;
  /** Missing where as many streams may be open as come. */
  readonly openStream?: OpenStream | undefined;
  /** Aborts when the client has left, or the stream has reached its limit of time. */
  readonly signal: AbortSignal;
  /** Aborts it. */
  readonly end: () => void;
}

/** Performs an operation. @throws EngineError as `Tasks` and `PushConfigs`; A2aError */
export async function perform(operation: Operation, visit: Visit, version: A2aVersion): Promise<Answer> {
  const { tasks } = visit;
  switch (operation.kind) {
    case 'send':
      return send(operation, visit);
    case 'get': {
      const { taskId, historyLength, afterGeneration: seen = 0 } = operation;
      const task = await tasks.read(taskId);
      const isNew = task.generation > seen || isFinal(task.status.state);
      const until = ({ generation }: ServedTask): boolean => generation > seen;
      const wait = { untilMs: visit.clock.nowMs() + visit.blockMaxMs, signal: visit.signal, until };
      return { kind: 'task', task: isNew ? task : await rested(tasks, task, wait), historyLength, wasSent: false };
    }
    case 'list':
      return list(operation, tasks);
    case 'cancel': {
      const task = await tasks.cancel(operation.taskId);
      return { kind: 'task', task, historyLength: historyLengthDefault, wasSent: false };
    }
    case 'subscribe':
      return subscribe(operation, visit);
    case 'extended_card':
      if (visit.extendedCard === undefined)
        throw new A2aError('UNSUPPORTED_OPERATION', 'the agent has no extended card');
      return { kind: 'card', card: await visit.extendedCard(version) };
    case 'set_push':
    case 'read_push':
    case 'list_pushes':
    case 'remove_push':
      return ofPush(operation, pushConfigsOf(visit));
  }
}

function pushConfigsOf({ pushConfigs }: Visit): PushConfigs {
  if (pushConfigs !== undefined) return pushConfigs;
  throw new A2aError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'the agent does not push news of its tasks');
}

type PushOperation = Extract<Operation, { kind: 'set_push' | 'read_push' | 'list_pushes' | 'remove_push' }>;

async function ofPush(operation: PushOperation, configs: PushConfigs): Promise<Answer> {
  const { taskId } = operation;
  switch (operation.kind) {
    case 'set_push':
      return { kind: 'push', taskId, config: await configs.set(taskId, operation.config) };
    case 'read_push':
      return { kind: 'push', taskId, config: await configs.read(taskId, operation.id) };
    case 'list_pushes': {
      const { pageSize, pageToken } = operation;
      return { kind: 'pushes', taskId, ...(await configs.list(taskId, { pageSize, ...defined({ pageToken }) })) };
    }
    case 'remove_push':
      await configs.remove(taskId, operation.id);
      return { kind: 'removed' };
  }
}

async function list(asked: ListOperation, tasks: Tasks): Promise<Answer> {
  return { kind: 'page', page: await tasks.list(asked.request), asked };
}

async function send(operation: SendOperation, visit: Visit): Promise<Answer> {
  const { request, until, historyLength } = operation;
  if (request.push !== undefined) pushConfigsOf(visit);
  const { tasks, clock, blockMaxMs, signal } = visit;
  const untilMs = clock.nowMs() + blockMaxMs;
  if (until === 'streamed') return sendStreamed(operation, untilMs, visit);
  const task = await tasks.send(request, until === 'accepted' ? undefined : { untilMs, signal });
  return {
    kind: 'task',
    task: until === 'accepted' ? task : await rested(tasks, task, { untilMs, signal }),
    ...{ historyLength, wasSent: true },
  };
}

/** Takes a place for the stream before the message is sent, so that nothing has happened if there is none. */
async function sendStreamed(
  { request, historyLength }: SendOperation,
  untilMs: EpochMs,
  visit: Visit,
): Promise<Answer> {
  const place = await placeFor(visit);
  try {
    const task = await visit.tasks.send(request, { untilMs, signal: visit.signal, isInStream: true });
    const answer = await streamSent(task, historyLength, visit);
    return { ...answer, ...defined({ place }) };
  } catch (error) {
    visit.end();
    await place?.leave();
    throw error;
  }
}

/** Looks for the task first: most errors then cost no place. */
async function subscribe(operation: Extract<Operation, { kind: 'subscribe' }>, visit: Visit): Promise<StreamAnswer> {
  const { taskId, afterGeneration } = operation;
  const answer =
    afterGeneration === undefined
      ? await streamFromNow(visit, { taskId, endsOnQuestion: false, historyLength: historyLengthDefault })
      : await streamAfter(visit, taskId, afterGeneration);
  try {
    return { ...answer, ...defined({ place: await placeFor(visit) }) };
  } catch (error) {
    await answer.events.return?.();
    throw error;
  }
}

/** @throws A2aError `UNAVAILABLE` if as many streams are open as there may be */
async function placeFor({ openStream, signal, end }: Visit): Promise<OpenedStream | undefined> {
  if (openStream === undefined) return undefined;
  const place = await openStream({ signal, end });
  if (place !== undefined) return place;
  throw new A2aError(
    'UNAVAILABLE',
    'as many streams are open as there may be: send messages without a stream and poll the task, or have its news pushed',
    streamRetrySeconds,
  );
}

async function streamSent(task: ServedTask, historyLength: number, visit: Visit): Promise<StreamAnswer> {
  const { taskId, contextId } = task;
  const alone = (shown: ServedTask): StreamAnswer => {
    const followed = { kind: 'snapshot', task: shown } as const;
    return { kind: 'stream', events: single({ followed, taskId, contextId, isLast: true, historyLength }) };
  };
  try {
    return await streamFromNow(visit, { taskId, endsOnQuestion: true, historyLength });
  } catch (error) {
    // The task has ended meanwhile, or long ago if the message is a repeat.
    if (hasCode(error, 'TASK_ENDED')) return alone(await visit.tasks.read(taskId));
    if (hasCode(error, 'STORE_UNAVAILABLE')) return alone(task);
    throw error;
  }
}

interface Streamed {
  readonly taskId: string;
  /** Whether the stream ends when the task asks its caller. */
  readonly endsOnQuestion: boolean;
  readonly historyLength: number;
}

/** Waits for the first event, so that a task without a stream is answered with an error instead of one. */
async function streamFromNow(visit: Visit, streamed: Streamed): Promise<StreamAnswer> {
  const { tasks, signal } = visit;
  const source = tasks.follow(streamed.taskId, { signal });
  const events = streamOf(source, streamed);
  const first = await events.next();
  return { kind: 'stream', events: first.done === true ? events : chained(first.value, events) };
}

/** Streams what came after an event, which may be nothing for long: so the task is read first, for its errors. */
async function streamAfter({ tasks, signal }: Visit, taskId: string, afterGeneration: number): Promise<StreamAnswer> {
  const { contextId, generation, status } = await tasks.read(taskId);
  if (afterGeneration > generation)
    throw new EngineError(
      'INPUT_INVALID',
      `the task has had ${generation} events, the last one seen is ${afterGeneration}`,
    );
  if (afterGeneration === generation && isFinal(status.state))
    throw new EngineError('TASK_ENDED', 'the task is over, and its last event has been seen');
  const source = tasks.follow(taskId, { afterGeneration, signal });
  const streamed = { taskId, contextId, endsOnQuestion: false, historyLength: historyLengthDefault };
  return { kind: 'stream', events: streamOf(source, streamed) };
}

async function* streamOf(
  source: AsyncIterable<Followed>,
  { taskId, endsOnQuestion, historyLength, ...known }: Streamed & { readonly contextId?: string },
): AsyncGenerator<StreamEvent, undefined> {
  let contextId = known.contextId ?? '';
  for await (const followed of source) {
    if (followed.kind === 'snapshot') ({ contextId } = followed.task);
    const isLast = endsAfter(followed, endsOnQuestion);
    yield { followed, taskId, contextId, isLast, historyLength };
    if (isLast) return undefined;
  }
  return undefined;
}

function endsAfter(followed: Followed, endsOnQuestion: boolean): boolean {
  const state: TaskState | undefined =
    followed.kind === 'snapshot'
      ? followed.task.status.state
      : followed.kind === 'status'
        ? followed.status.state
        : undefined;
  return state !== undefined && (isFinal(state) || (endsOnQuestion && state === 'input-required'));
}

async function* single<Value>(value: Value): AsyncGenerator<Value, undefined> {
  yield value;
  return undefined;
}

async function* chained<Value>(first: Value, rest: AsyncGenerator<Value, undefined>): AsyncGenerator<Value, undefined> {
  try {
    yield first;
    return yield* rest;
  } finally {
    // The source of the events is told if the client leaves at the first one, too.
    await rest.return(undefined);
  }
}
