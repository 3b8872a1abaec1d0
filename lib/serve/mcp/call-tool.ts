import { hasCode } from '../../base/errors.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';
import type { SkillConfig } from '../../workflow/serve.js';
import { rested } from '../rested.js';
import { isFinal, type ServedTask } from '../task/served-task.js';
import { type Answer, type Call, modern, responseOf, result, tasksExtension, type Visit } from './call.js';
import { answerQuestions } from './answer-questions.js';
import { askable, inputRequests, namesOf } from './elicitation.js';
import { badRequest, invalidParams, McpError, methodNotFound, needsCapability, refusalText } from './errors.js';
import { checkParamHeaders } from './headers.js';
import { type CalledTool, requestState, stateIn } from './request-state.js';
import { progressOf } from './progress.js';
import { handleOf, handleText } from './run-handle.js';
import { callRunTool, isRunTool } from './run-tools.js';
import { startSkill } from './start-skill.js';
import { legacyTask, taskFields } from './task-view.js';
import { complete, toolResult } from './tool-result.js';
import { inputSchemaOf } from './tools.js';

/** The call of a served workflow. */
interface SkillCalled extends CalledTool {
  readonly config: SkillConfig;
}

/** Calls a tool. @throws McpError `-32602` unknown tool, `-32021`, `-32020`; EngineError as `Tasks.send` */
export async function callTool(call: Call, visit: Visit): Promise<Answer> {
  const { name, arguments: args = {} } = call.params;
  if (typeof name !== 'string') throw badRequest(invalidParams, 'name must be the name of a tool');
  if (!isJsonObject(args)) throw badRequest(invalidParams, 'arguments must be an object');
  if (isRunTool(name)) return result(await callRunTool(name, args, call, visit));
  const { skills = {} } = visit.endpoint.serve;
  const config = Object.hasOwn(skills, name) ? skills[name] : undefined;
  if (config === undefined) throw new McpError(invalidParams, `Unknown tool: ${name}`);
  const called = { name, args, config };
  const isTask = becomesTask(call, called);
  if (call.version === modern) checkParamHeaders(call.headers, inputSchemaOf(visit.endpoint, name), args);
  const begun = await begin(called, call, visit);
  if ('refused' in begun) {
    const { refused: text } = begun;
    return result(complete({ content: [{ type: 'text', text }], isError: true }, call.version));
  }
  if (isTask) return asTask(begun.task, called, call, visit);
  const { progressToken } = call.meta;
  if (typeof progressToken === 'string' || typeof progressToken === 'number')
    return { kind: 'stream', messages: withProgress(begun.task, called, call, visit) };
  return result(promptAnswer(await prompted(begun.task, visit), called, call, visit));
}

/** Returns whether the call is answered with a task. @throws McpError if it must be one, or must not, and cannot */
function becomesTask(call: Call, { name, config: { task = 'optional' } }: SkillCalled): boolean {
  if (call.version === modern) {
    if (declaresTasks(call)) return task !== 'forbidden';
    if (task !== 'required') return false;
    throw needsCapability({ extensions: { [tasksExtension]: {} } }, `the tool ${name} is called as a task only`);
  }
  const isAsked = call.version === '2025-11-25' && isJsonObject(call.params['task']);
  if (isAsked ? task === 'forbidden' : task === 'required')
    throw new McpError(
      methodNotFound,
      `the tool ${name} ${isAsked ? 'is not called as a task' : 'is called as a task only'}`,
    );
  return isAsked;
}

export function declaresTasks({ capabilities }: Call): boolean {
  const { extensions } = capabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[tasksExtension]);
}

type Begun = { readonly task: ServedTask } | { readonly refused: string };

/** Starts the workflow, or brings it the answers of a repeated call. A start that is refused makes no task. */
async function begin(called: SkillCalled, call: Call, visit: Visit): Promise<Begun> {
  const { requestState: state, inputResponses } = call.params;
  if (call.version === modern && state !== undefined) {
    const { taskId, asked } = stateIn(state, called, visit.endpoint);
    const task = await visit.tasks.read(taskId);
    if (!isJsonObject(inputResponses)) return { task };
    try {
      return { task: await answerQuestions(task, byKey(inputResponses, task, asked), visit) };
    } catch (error) {
      // The question is asked again.
      if (!hasCode(error, 'INPUT_INVALID')) throw error;
      return { task: await visit.tasks.read(task.taskId) };
    }
  }
  try {
    return { task: await startSkill({ skill: called.name, args: called.args }, call, visit) };
  } catch (error) {
    const refused = refusalText(error);
    if (refused === undefined) throw error;
    return { refused };
  }
}

/** Returns the answers by the keys of the questions that were asked, which a client knows by their names. */
function byKey(responses: JsonObject, { questions = [] }: ServedTask, asked: readonly string[]): JsonObject {
  const nameOf = namesOf(questions);
  const given = questions.filter(
    (question) => asked.includes(question.key) && Object.hasOwn(responses, nameOf(question)),
  );
  return Object.fromEntries(given.map((question) => [question.key, responses[nameOf(question)] ?? null]));
}

async function asTask(task: ServedTask, called: SkillCalled, call: Call, visit: Visit): Promise<Answer> {
  const { clock } = visit.endpoint;
  if (call.version !== modern) return result({ task: legacyTask(task, clock.nowMs()) });
  if (called.config.asksFirst === true) {
    const asking = call.params['requestState'] === undefined ? await prompted(task, visit) : task;
    const asked = inputRequired(asking, called, call, visit);
    if (asked !== undefined) return result(asked);
  }
  return result({ resultType: 'task', ...taskFields(task, clock.nowMs(), call.capabilities) });
}

/** Waits until the task has ended or asks, as long as a call may take. */
async function prompted(task: ServedTask, { tasks, endpoint, signal }: Visit): Promise<ServedTask> {
  return rested(tasks, task, { untilMs: endpoint.clock.nowMs() + endpoint.promptMaxMs, signal });
}

/** Returns the result of a task that has ended, the questions of one that asks, otherwise its handle. */
function promptAnswer(task: ServedTask, called: SkillCalled, call: Call, visit: Visit): JsonObject {
  if (isFinal(task.status.state)) return toolResult(task, call.version);
  const asked = inputRequired(task, called, call, visit);
  if (asked !== undefined) return asked;
  const content = [{ type: 'text', text: handleText(task) }];
  return complete({ content, structuredContent: handleOf(task), isError: false }, call.version);
}

/** Asks the client in answer to its call, if it can be asked. It repeats the call with the answers. */
function inputRequired(task: ServedTask, called: SkillCalled, call: Call, visit: Visit): JsonObject | undefined {
  if (call.version !== modern) return undefined;
  const questions = askable(task.questions, call.capabilities);
  if (questions.length === 0) return undefined;
  const { taskId } = task;
  const state = requestState({ taskId, asked: questions.map(({ key }) => key) }, called, visit.endpoint);
  const requests = inputRequests(questions, namesOf(task.questions ?? []));
  return { resultType: 'input_required', inputRequests: requests, requestState: state };
}

/** Sends what the workflow says while the call waits, then the response. */
async function* withProgress(
  task: ServedTask,
  called: SkillCalled,
  call: Call,
  visit: Visit,
): AsyncGenerator<JsonObject, undefined> {
  yield* progressOf(task, call.meta['progressToken'] as string | number, visit);
  const now = await visit.tasks.read(task.taskId);
  yield responseOf(call.id, promptAnswer(now, called, call, visit));
  return undefined;
}
