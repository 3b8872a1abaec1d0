import { isJsonObject, type JsonObject } from '../../base/json.js';
import { defined } from '../../base/defined.js';
import { answerQuestions } from './answer-questions.js';
import { type Answer, type Call, dedupesExtension, modern, result, tasksExtension, type Visit } from './call.js';
import { callTool, declaresTasks } from './call-tool.js';
import { badRequest, invalidParams, McpError, methodNotFound, needsCapability } from './errors.js';
import { hasCode, isEngineError } from '../../base/errors.js';
import { cacheTtlMs } from './limits.js';
import { listen } from './listen.js';
import { detailedTask } from './task-view.js';
import { toolPage } from './tools.js';

type Method = (call: Call, visit: Visit) => Answer | Promise<Answer>;

const methods: Readonly<Record<string, Method>> = {
  'server/discover': (_, { endpoint }) => {
    const { agent } = endpoint.serve;
    return result({
      resultType: 'complete',
      supportedVersions: [modern],
      capabilities: { tools: {}, extensions: { [tasksExtension]: {}, [dedupesExtension]: {} } },
      instructions: agent.description,
      ...cached,
    });
  },
  'tools/list': ({ params }, { endpoint }) =>
    result({ resultType: 'complete', ...toolPage(endpoint, modern, params['cursor']), ...cached }),
  'tools/call': callTool,
  'subscriptions/listen': listen,
  'tasks/get': async (call, { tasks, endpoint }) => {
    const task = await tasks.read(taskIdOf(call));
    return result({ resultType: 'complete', ...detailedTask(task, endpoint.clock.nowMs(), call.capabilities) });
  },
  'tasks/update': async (call, visit) => {
    const taskId = taskIdOf(call);
    const { inputResponses } = call.params;
    if (!isJsonObject(inputResponses)) throw badRequest(invalidParams, 'inputResponses must be an object');
    try {
      await answerQuestions(await visit.tasks.read(taskId), inputResponses, visit);
    } catch (error) {
      throw refusedAnswer(error);
    }
    return acknowledged;
  },
  'tasks/cancel': async (call, { tasks }) => {
    try {
      await tasks.cancel(taskIdOf(call), { waitMs: 0 });
    } catch (error) {
      // It may have ended in any way.
      if (!hasCode(error, 'TASK_ENDED')) throw error;
    }
    return acknowledged;
  },
};

/** What a client may keep is for its caller alone. */
const cached = { ttlMs: cacheTtlMs, cacheScope: 'private' };

const acknowledged = result({ resultType: 'complete' });

/**
 * Answers a request of 2026-07-28.
 * @throws McpError `-32601`, `-32021`, `-32602` and what tools throw; EngineError as `Tasks`
 */
export async function answerModern(call: Call, visit: Visit): Promise<Answer> {
  const { method } = call;
  const found = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (found === undefined) throw new McpError(methodNotFound, `Method not found: ${method}`, { http: 404 });
  if (method.startsWith('tasks/') && !declaresTasks(call))
    throw needsCapability({ extensions: { [tasksExtension]: {} } }, `${method} is for clients that declare tasks`);
  const answer = await found(call, visit);
  return answer.kind === 'result' ? result(withServerInfo(answer.result, visit)) : answer;
}

function withServerInfo(of: JsonObject, { endpoint }: Visit): JsonObject {
  const meta = isJsonObject(of['_meta']) ? of['_meta'] : {};
  return { ...of, _meta: { ...meta, 'io.modelcontextprotocol/serverInfo': serverInfo(endpoint.serve) } };
}

/** Returns what the server is called. */
export function serverInfo({ agent }: Visit['endpoint']['serve']): JsonObject {
  const { name, version = '1', documentationUrl, iconUrl } = agent;
  return {
    name,
    version,
    ...defined({ websiteUrl: documentationUrl, icons: iconUrl === undefined ? undefined : [{ src: iconUrl }] }),
  };
}

/** Returns the task that a call names. @throws McpError `-32602` */
export function taskIdOf({ params }: Call): string {
  const { taskId } = params;
  if (typeof taskId === 'string') return taskId;
  throw badRequest(invalidParams, 'taskId must be the id of a task');
}

/** An answer that does not fit leaves its question open, and the client is told what is wrong. */
function refusedAnswer(error: unknown): unknown {
  if (!isEngineError(error) || error.code !== 'INPUT_INVALID') return error;
  return new McpError(invalidParams, error.message, { data: { code: error.code } });
}
