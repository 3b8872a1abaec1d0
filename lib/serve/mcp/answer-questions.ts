import { hasCode } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { OpenQuestion, ServedTask } from '../task/served-task.js';
import type { Visit } from './call.js';
import { answerParts } from './elicitation.js';

/** How long a client waits for its answers to be taken in. */
const takenMaxMs = 2_000;

/**
 * Delivers answers to the questions of a task by their keys; those to unknown or closed questions are ignored. Then waits
 * until none of them is shown as open.
 * @throws EngineError `INPUT_INVALID` for an answer that does not fit; those before it have been delivered
 */
export async function answerQuestions(task: ServedTask, responses: JsonObject, visit: Visit): Promise<ServedTask> {
  const { tasks, endpoint, signal } = visit;
  const { taskId, questions = [] } = task;
  const answered = questions.filter(({ key }) => Object.hasOwn(responses, key));
  for (const question of answered) await answerQuestion(taskId, question, responses, visit);
  if (answered.length === 0) return task;
  const keys = new Set(answered.map(({ key }) => key));
  const isTaken = ({ questions: open = [] }: ServedTask): boolean => !open.some(({ key }) => keys.has(key));
  return tasks.waitFor(taskId, { untilMs: endpoint.clock.nowMs() + takenMaxMs, signal, until: isTaken });
}

async function answerQuestion(
  taskId: string,
  question: OpenQuestion,
  responses: JsonObject,
  { tasks }: Visit,
): Promise<void> {
  const { key } = question;
  const parts = answerParts(question, responses[key]);
  try {
    // The id is a function of the question: a repeated answer is told what the first one was told.
    await tasks.send({ taskId, answers: key, message: { messageId: `answer-${key}`, role: 'user', parts } });
  } catch (error) {
    // Another answer came first, or the task has ended.
    if (!hasCode(error, 'QUESTION_CLOSED') && !hasCode(error, 'KEY_REUSED') && !hasCode(error, 'TASK_ENDED'))
      throw error;
  }
}
