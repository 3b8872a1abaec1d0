// Runs as hosts see them that know no tasks: a handle, and in words what to do with it. Pure.

import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import { isFinal, type ServedTask } from '../task/served-task.js';
import type { McpVersion } from './call.js';
import { complete, outputOf, textOf, toolResult } from './tool-result.js';

/** JSON Schema of a handle, of a run that goes on or has ended. */
export const handleSchema: JsonObject = {
  type: 'object',
  properties: {
    runId: { type: 'string', description: 'The handle of the run. It stays valid; keep it.' },
    tool: { type: 'string' },
    status: { type: 'string', enum: ['working', 'input_required', 'completed', 'failed', 'cancelled'] },
    message: { type: 'string', description: 'What the run says of itself.' },
    questions: {
      type: 'array',
      items: {
        type: 'object',
        properties: { key: { type: 'string' }, message: { type: 'string' }, schema: {}, url: { type: 'string' } },
        required: ['key', 'message'],
      },
    },
    result: { description: 'What a completed run has returned.' },
  },
  required: ['runId', 'tool', 'status'],
};

/** Returns a run as structured content. */
export function handleOf(task: ServedTask): JsonObject {
  const result = task.status.state === 'completed' ? (outputOf(task) ?? null) : undefined;
  return { ...stateOf(task), ...defined({ result }) };
}

/** Returns a run as structured content, without its result. */
export function stateOf(task: ServedTask): JsonObject {
  const { taskId, skill, status, questions } = task;
  return {
    runId: taskId,
    tool: skill,
    status: statusWord(task),
    ...defined({
      message: textOf(status.message),
      questions: questions?.map(({ key, message, schema, url }) => ({ key, message, ...defined({ schema, url }) })),
    }),
  };
}

/** Returns the state of a run in one word. */
export function statusWord({ status, questions }: ServedTask): string {
  switch (status.state) {
    case 'completed':
      return 'completed';
    case 'canceled':
      return 'cancelled';
    case 'failed':
    case 'rejected':
      return 'failed';
    case 'submitted':
    case 'working':
    case 'input-required':
    case 'auth-required':
      return questions === undefined ? 'working' : 'input_required';
  }
}

/** Returns the result of a tool that is asked about a run: that of the run, if it has one, or its handle. */
export function runResult(task: ServedTask, version: McpVersion): JsonObject {
  const structuredContent = handleOf(task);
  if (isFinal(task.status.state)) return { ...toolResult(task, version), structuredContent };
  return complete({ content: [{ type: 'text', text: handleText(task) }], structuredContent, isError: false }, version);
}

/** Tells a model what has become of its call and what it can do. It is never told to wait: most runs need nobody. */
export function handleText({ taskId, skill, status, questions }: ServedTask): string {
  const id = JSON.stringify({ runId: taskId });
  const [question] = questions ?? [];
  if (question !== undefined) return `${questionText(taskId, question)} Until then the run waits.`;
  const said = textOf(status.message);
  return [
    `The call of ${skill} goes on as run ${taskId}${said === undefined ? '' : `, which says: ${said}`}.`,
    'It runs by itself and its result is kept, so go on with something else, or finish and tell the user the run id.',
    `To get its state or result at any later time, call run_status with ${id}.`,
    `Only if the result is needed now, call wait_for_run with ${id}, which returns within 50 seconds.`,
    `To end it, call cancel_run with ${id}. Do not call ${skill} again for the same work: that starts another run.`,
  ].join(' ');
}

function questionText(
  runId: string,
  { key, message, schema, url }: NonNullable<ServedTask['questions']>[number],
): string {
  const answer = JSON.stringify({ runId, question: key, action: 'accept', content: {} });
  const asked = `Run ${runId} asks: ${message}${url === undefined ? '' : ` (see ${url})`}`;
  const form = schema === undefined ? '' : `, with content of this JSON Schema: ${JSON.stringify(schema)}`;
  return `${asked}\nAsk the user unless the answer is known. Answer by signal_run with ${answer}${form}; or with the action "decline".`;
}
