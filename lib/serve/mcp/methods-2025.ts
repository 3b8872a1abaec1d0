// The revisions that begin with `initialize`. There are no sessions: each request tells its version in a header, and what
// the client can do is known at `initialize` only, so it is not asked.

import { defined } from '../../base/defined.js';
import { hasCode } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { isFinal, type ServedTask } from '../task/served-task.js';
import {
  type Answer,
  type Call,
  dedupesExtension,
  legacyVersions,
  type LegacyVersion,
  responseOf,
  result,
  type Visit,
} from './call.js';
import { callTool } from './call-tool.js';
import { internalError, invalidParams, McpError, methodNotFound } from './errors.js';
import { serverInfo, taskIdOf } from './methods-2026-07-28.js';
import { faultOf, legacyTask } from './task-view.js';
import { toolResult } from './tool-result.js';
import { toolPage } from './tools.js';

type Method = (call: Call, visit: Visit) => Answer | Promise<Answer>;

const methods: Readonly<Record<string, Method>> = {
  initialize,
  ping: () => result({}),
  'tools/list': ({ version, params }, { endpoint }) => result(toolPage(endpoint, version, params['cursor'])),
  'tools/call': callTool,
};

/** Tasks are of 2025-11-25 only. */
const taskMethods: Readonly<Record<string, Method>> = {
  'tasks/get': async (call, { tasks, endpoint }) =>
    result(legacyTask(await tasks.read(taskIdOf(call)), endpoint.clock.nowMs())),
  'tasks/result': taskResult,
  'tasks/cancel': cancel,
};

/** Answers a request. @throws McpError `-32601`, `-32602` and what tools throw; EngineError as `Tasks` */
export async function answerLegacy(call: Call, visit: Visit): Promise<Answer> {
  const { method, version } = call;
  const known = version === '2025-11-25' ? { ...methods, ...taskMethods } : methods;
  const found = Object.hasOwn(known, method) ? known[method] : undefined;
  if (found === undefined) throw new McpError(methodNotFound, `Method not found: ${method}`);
  return found(call, visit);
}

function initialize({ params }: Call, { endpoint }: Visit): Answer {
  const { agent } = endpoint.serve;
  const asked = legacyVersions.find((version) => version === params['protocolVersion']);
  const protocolVersion: LegacyVersion = asked ?? legacyVersions[0];
  const tasks = { cancel: {}, requests: { tools: { call: {} } } };
  return result({
    protocolVersion,
    capabilities: {
      tools: {},
      experimental: { [dedupesExtension]: {} },
      ...defined({ tasks: protocolVersion === '2025-11-25' ? tasks : undefined }),
    },
    serverInfo: serverInfo(endpoint.serve),
    instructions: agent.description,
  });
}

/** Waits for the end of the task, on a stream. At the limit of time the client is told to ask again. */
async function taskResult(call: Call, visit: Visit): Promise<Answer> {
  const task = await visit.tasks.read(taskIdOf(call));
  if (isFinal(task.status.state)) return result(resultOf(task, call));
  return { kind: 'stream', messages: resultInTime(task, call, visit), isLong: true };
}

async function* resultInTime(
  { taskId }: ServedTask,
  call: Call,
  { tasks, endpoint, signal }: Visit,
): AsyncGenerator<JsonObject, undefined> {
  const { clock, streamMaxMs } = endpoint;
  const untilMs = clock.nowMs() + streamMaxMs;
  const task = await tasks.waitFor(taskId, { untilMs, signal, until: () => false, isInStream: true });
  if (!isFinal(task.status.state))
    throw new McpError(internalError, 'the task has not ended yet; ask for its result again');
  yield responseOf(call.id, resultOf(task, call));
  return undefined;
}

function resultOf(task: ServedTask, { version }: Call): JsonObject {
  const { taskId, status } = task;
  if (status.state === 'canceled') throw new McpError(invalidParams, 'the task was cancelled: it has no result');
  if (task.isFault === true) {
    const { message } = faultOf(task);
    throw new McpError(internalError, message as string);
  }
  return { ...toolResult(task, version), _meta: { 'io.modelcontextprotocol/related-task': { taskId } } };
}

/** Answers only when the task is cancelled. @throws McpError `-32602` if it has ended, `-32603` if that takes too long */
async function cancel(call: Call, { tasks, endpoint }: Visit): Promise<Answer> {
  const { clock, promptMaxMs } = endpoint;
  const taskId = taskIdOf(call);
  if (isFinal((await tasks.read(taskId)).status.state)) throw hasEnded();
  try {
    const task = await tasks.cancel(taskId, { waitMs: promptMaxMs });
    if (isFinal(task.status.state)) return result(legacyTask(task, clock.nowMs()));
  } catch (error) {
    if (hasCode(error, 'TASK_ENDED')) throw hasEnded();
    throw error;
  }
  throw new McpError(internalError, 'the task is being cancelled; ask again');
}

function hasEnded(): McpError {
  return new McpError(invalidParams, 'the task has ended and cannot be cancelled');
}
