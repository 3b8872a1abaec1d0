import { defined } from '../../base/defined.js';
import { EngineError, hasCode, isEngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';
import { idempotencyKeyMaxBytes } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { Part, ServedTask } from '../task/served-task.js';
import type { Call, Visit } from './call.js';
import { refusalText } from './errors.js';
import { listedRunsMax } from './limits.js';
import { runResult, stateOf, statusWord } from './run-handle.js';
import { startSkill } from './start-skill.js';
import { complete } from './tool-result.js';

/** How long an answer may take until its question shows no more. */
const takenInMs = 2_000;

/** A run in the list is its state. */
const noContents = { historyLength: 0, artifacts: false, maxBytes: 0 };

type RunTool = (args: JsonObject, call: Call, visit: Visit) => Promise<ServedTask | JsonObject>;

const tools: Readonly<Record<string, RunTool>> = {
  start_run: async ({ tool, arguments: args = {}, key }, call, visit) => {
    const skills = visit.endpoint.serve.skills ?? {};
    if (typeof tool !== 'string' || !Object.hasOwn(skills, tool) || skills[tool]?.task === 'required')
      throw new EngineError('INPUT_INVALID', 'tool must name a tool that can be started');
    if (!isJsonObject(args)) throw new EngineError('INPUT_INVALID', 'arguments must be an object');
    return startSkill({ skill: tool, args, ...defined({ key: nameIn('key', key) }) }, call, visit);
  },
  run_status: async ({ runId }, call, { tasks }) => {
    if (runId !== undefined) return tasks.read(runIdIn(runId));
    const { tasks: runs } = await tasks.list({ pageSize: listedRunsMax, contents: noContents });
    const text = runs.map((task) => `${task.taskId}: ${task.skill}, ${statusWord(task)}`).join('\n');
    return complete(
      {
        content: [{ type: 'text', text: text === '' ? 'There are no runs.' : text }],
        structuredContent: { runs: runs.map(stateOf) },
        isError: false,
      },
      call.version,
    );
  },
  wait_for_run: async ({ runId }, _, { tasks, endpoint, signal }) =>
    tasks.waitFor(runIdIn(runId), { untilMs: endpoint.clock.nowMs() + endpoint.waitMaxMs, signal }),
  signal_run: async ({ runId, question, ...said }, _, { tasks, endpoint, signal }) => {
    const taskId = runIdIn(runId);
    const answers = nameIn('question', question);
    const messageId = answers === undefined ? endpoint.newId() : `answer-${answers}`;
    const message = { messageId, role: 'user', parts: partsOf(said) } as const;
    const untilMs = endpoint.clock.nowMs() + takenInMs;
    try {
      return await tasks.send({ taskId, message, ...defined({ answers }) }, { untilMs, signal });
    } catch (error) {
      // The id of the message is that of the question: another answer came first.
      if (!hasCode(error, 'KEY_REUSED')) throw error;
      throw new EngineError('QUESTION_CLOSED', 'the question has been answered, or its time is over');
    }
  },
  cancel_run: async ({ runId }, _, { tasks }) => {
    const taskId = runIdIn(runId);
    try {
      return await tasks.cancel(taskId);
    } catch (error) {
      if (hasCode(error, 'TASK_ENDED')) return tasks.read(taskId);
      throw error;
    }
  },
};

export function isRunTool(name: string): boolean {
  return Object.hasOwn(tools, name);
}

/** Calls a tool for runs. What a model can do something about is a result that says so. */
export async function callRunTool(name: string, args: JsonObject, call: Call, visit: Visit): Promise<JsonObject> {
  try {
    const answer = await tools[name]?.(args, call, visit);
    if (answer === undefined) throw new Error(`no tool ${name}`);
    return 'taskId' in answer ? runResult(answer as ServedTask, call.version) : answer;
  } catch (error) {
    const text = hasCode(error, 'TASK_NOT_FOUND')
      ? 'There is no run with this id. Call run_status without an id for the newest runs.'
      : hasCode(error, 'KEY_REUSED')
        ? `${error.message}.`
        : refusalText(error);
    if (text === undefined || !isEngineError(error)) throw error;
    return complete({ content: [{ type: 'text', text }], isError: true }, call.version);
  }
}

function runIdIn(given: unknown): string {
  if (typeof given === 'string' && given !== '') return given;
  throw new EngineError('INPUT_INVALID', 'runId must be the id of a run');
}

function textIn(name: string, given: unknown): string | undefined {
  if (given === undefined || (typeof given === 'string' && given !== '')) return given;
  throw new EngineError('INPUT_INVALID', `${name} must be a text that is not empty`);
}

/** Returns a name that is part of a key of the table. @throws EngineError `INPUT_INVALID` */
function nameIn(name: string, given: unknown): string | undefined {
  const text = textIn(name, given);
  if (text !== undefined) checkName(text, name, { maxBytes: idempotencyKeyMaxBytes });
  return text;
}

function partsOf({ action, content, text }: JsonObject): readonly Part[] {
  if (action === 'decline' || action === 'cancel') return [{ data: { action } }];
  if (action !== undefined && action !== 'accept')
    throw new EngineError('INPUT_INVALID', 'action must be accept, decline or cancel');
  if (text !== undefined) return [{ text: textIn('text', text) ?? '' }];
  if (isJsonObject(content)) return [{ data: { action: 'accept', content } }];
  throw new EngineError('INPUT_INVALID', 'content or text is needed');
}
