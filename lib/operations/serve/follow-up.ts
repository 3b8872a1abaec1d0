import { EngineError } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import type { RemoteAnswer } from '../../history/remote-question.js';
import type { InboxRecord, TokenRecord } from '../../history/records.js';
import type { Part, TaskMessage } from '../../history/task-content.js';
import { isFinal } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import { loadAnswerContent } from '../requests/answer-question.js';
import { deliver } from '../requests/inbox.js';
import { signalMaxBytes } from '../requests/signal-run.js';
import { admitSignal } from '../requests/tenant-admission.js';
import { newSettlement } from '../settle-in-time.js';
import { wakeRunFor } from '../wake.js';
import { messageInboxId, readTask, type ReadTask } from './read-task.js';
import { untilFinal } from './watch-task.js';
import { defined } from '../../base/defined.js';
import { loadTextHooks } from './load-text-hooks.js';

/** A message to a task that exists. */
export interface FollowUp {
  readonly taskId: string;
  readonly message: TaskMessage;
  /** The message after `serve.text.incoming`, if it has been there. */
  readonly heard?: TaskMessage;
  /** The answer is refused unless the task has this generation. */
  readonly ifGenerationMatch?: number;
  /** Key of the question that is answered. Default: the oldest open one. */
  readonly answers?: string;
  /** Writes what must be there before a new message is, which nothing but a race refuses then. May repeat. */
  readonly prepare?: (generation: number) => Promise<void>;
}

/**
 * Takes a message to a task: the answer of the question that it names, or of the oldest open one, otherwise a message that
 * its workflow reads. A repeat of its id is told what the first one was told. Returns the question that it has answered.
 * @throws EngineError `TASK_NOT_FOUND`, `TASK_ENDED`; `QUESTION_CLOSED` if another answer came first; `INPUT_INVALID` for
 * an answer that does not fit; `KEY_REUSED`; `PAYLOAD_TOO_LARGE` for a large message, or for one more than a task takes;
 * `STORE_UNAVAILABLE` while the task is about to end
 */
export async function followUp(deps: Deps, request: FollowUp): Promise<WaitId | undefined> {
  const { taskId, message, ifGenerationMatch, answers } = request;
  checkJsonBytes('the message is', jsonBytes(message as unknown as JsonValue), signalMaxBytes);
  await admitSignal(deps, message as unknown as JsonValue);
  const task = await readTask(deps, taskId);
  const record = recordOf(deps, task, request);
  if (isFinal(task.fold.state)) {
    if (await isKnown(deps, taskId, record)) return undefined;
    throw new EngineError('TASK_ENDED', `the task has ended: it is ${task.fold.state}`);
  }
  // What an earlier run of the task has taken must not answer the question of a later one.
  if (task.head.runId !== taskId && (await isKnown(deps, taskId, record))) return undefined;
  if (messageBytes(task) > messagesMaxBytes) {
    if (await isKnown(deps, taskId, record)) return undefined;
    throw new EngineError('PAYLOAD_TOO_LARGE', `the task has had more than ${messagesMaxBytes} bytes of messages`);
  }
  const question = answers === undefined ? task.fold.openQuestions[0] : task.fold.questionWithKey(answers);
  if (ifGenerationMatch !== undefined && ifGenerationMatch !== task.fold.generation) {
    if (await isKnown(deps, taskId, record)) return undefined;
    throw new EngineError('QUESTION_CLOSED', `the task is at generation ${task.fold.generation}`);
  }
  if (question === undefined && answers !== undefined) {
    if (await isKnown(deps, taskId, record)) return undefined;
    throw questionClosed();
  }
  const heard = await hear(deps, { task, request }, record);
  if (heard === undefined) return undefined;
  const taken = { ...record, payload: heard };
  if (question === undefined) {
    await prepared(deps, { task, request }, record);
    return sendMessage(deps, { ...taken, runId: taskId });
  }
  return answer(deps, { task, request: { ...request, heard } }, { record: taken, waitId: question });
}

/** Messages of a task in all: whoever reads the task reads them, and so does each cold turn of it. */
const messagesMaxBytes = 32 * 1024 * 1024;

function messageBytes({ fold }: ReadTask): number {
  return fold.task.history.reduce(
    (bytes, { role, parts }) => bytes + (role === 'user' ? jsonBytes(parts as unknown as JsonValue) : 0),
    0,
  );
}

/** Returns the message as the workflow hears it; undefined if the app refuses it now but the task has it already. */
async function hear(
  deps: Deps,
  { task, request }: { readonly task: ReadTask; readonly request: FollowUp },
  record: MessageRecord,
): Promise<TaskMessage | undefined> {
  const { message, heard } = request;
  if (heard !== undefined || deps.app.serve?.text?.incoming === undefined) return heard ?? message;
  const { heardMessage } = await loadTextHooks();
  const { taskId, contextId, skill } = task.fold.task;
  const of = task.fold.openQuestions.length > 0 ? 'answer' : 'message';
  const info = { of, workflow: skill, taskId, contextId, ...defined({ callerId: deps.caller?.id }) } as const;
  try {
    return await heardMessage(deps, message, info);
  } catch (error) {
    if (await isKnown(deps, taskId, record)) return undefined;
    throw error;
  }
}

async function prepared(
  deps: Deps,
  { task, request: { taskId, prepare } }: { readonly task: ReadTask; readonly request: FollowUp },
  record: MessageRecord,
): Promise<void> {
  if (prepare === undefined || (await isKnown(deps, taskId, record))) return;
  await prepare(task.fold.generation);
}

async function sendMessage(deps: Deps, record: InboxRecord): Promise<undefined> {
  if ((await deliver(deps, record)).accepted) return undefined;
  const { state } = await untilFinal(deps, record.runId);
  if (isFinal(state)) throw new EngineError('TASK_ENDED', `the task has ended: it is ${state}`);
  throw aboutToEnd();
}

const aboutToEnd = (): EngineError => new EngineError('STORE_UNAVAILABLE', 'the task is about to end');

type MessageRecord = InboxRecord & { readonly kind: 'message' };

async function answer(
  deps: Deps,
  { task, request }: { readonly task: ReadTask; readonly request: FollowUp },
  { record, waitId }: { readonly record: MessageRecord; readonly waitId: WaitId },
): Promise<WaitId | undefined> {
  const { runId } = task.head;
  const token = await deps.store.tokens.read(runId, waitId);
  const given = answerOf(record.payload, token);
  if (!(await fits(deps, { token, given }, { request, record }))) return undefined;
  await prepared(deps, { task, request }, record);
  const outcome = { kind: 'completed', result: given as unknown as JsonValue, isError: false } as const;
  const settlement = newSettlement(deps, { by: 'caller', outcome });
  const servedTasks = await deps.store.servedTasks();
  const put = await servedTasks.answer({ ...record, runId, answers: waitId }, settlement);
  switch (put) {
    case 'accepted':
      await wakeRunFor(deps, runId, { waitId });
      return waitId;
    case 'closed':
      if (await isKnown(deps, request.taskId, record)) return waitId;
      throw questionClosed();
    case 'run_ended':
    case 'run_not_found':
      await untilPast(deps, request.taskId, runId);
      // The run has ended, or continued, since it was read: what the message is now is decided anew.
      return followUp(deps, request);
  }
}

function questionClosed(): EngineError {
  return new EngineError('QUESTION_CLOSED', 'the question has been answered, or its time is over');
}

/**
 * Returns false for a message that the task has already: it is then the answer to an earlier question, which need not
 * fit this one.
 * @throws EngineError `INPUT_INVALID` for a new one that does not fit
 */
async function fits(
  deps: Deps,
  { token, given }: { readonly token: TokenRecord | undefined; readonly given: RemoteAnswer },
  { request, record }: { readonly request: FollowUp; readonly record: MessageRecord },
): Promise<boolean> {
  if (given.action !== 'accept') return true;
  const { checkContent } = await loadAnswerContent();
  try {
    checkContent(token?.form?.schema, given.content);
    return true;
  } catch (error) {
    if (await isKnown(deps, request.taskId, record)) return false;
    throw error;
  }
}

/** Waits until a run that is about to end has ended, with its task or not. @throws EngineError `STORE_UNAVAILABLE` after 2 s */
async function untilPast(deps: Deps, taskId: string, runId: string): Promise<void> {
  if ((await readTask(deps, taskId)).head.runId !== runId) return;
  const { state, runId: current } = await untilFinal(deps, taskId);
  if (!isFinal(state) && current === runId) throw aboutToEnd();
}

/** The digest is that of the message as it was sent. */
function recordOf(deps: Deps, { head }: ReadTask, { message }: FollowUp): MessageRecord {
  const atMs = deps.clock.nowMs();
  return {
    ...{ runId: head.runId, inboxId: messageInboxId(message.messageId), kind: 'message', payload: message },
    ...{ atMs, dueAtMs: atMs, position: head.inboxCount },
    sentDigest: deps.tokens.sentDigest(`message\n${canonicalJson(message as unknown as JsonValue)}`),
    ...defined({ by: deps.caller?.id }),
  };
}

/** Returns true if one of the runs of the task has the message. */
async function isKnown(deps: Deps, taskId: string, record: MessageRecord): Promise<boolean> {
  for (let runId: string | undefined = taskId; runId !== undefined;) {
    const known = await deps.store.inbox.known({ ...record, runId });
    if (known === 'reused') throw new EngineError('KEY_REUSED', 'the message id was used before for another message');
    if (known === 'known') return true;
    runId = (await deps.store.heads.glance(runId))?.nextRunId;
  }
  return false;
}

/**
 * Returns the answer that a message is. A data part is the content, or the answer itself if it has an `action`; text is
 * the value of the only property that the question asks for, or the property `text`.
 */
export function answerOf({ parts }: TaskMessage, token: Pick<TokenRecord, 'form'> | undefined): RemoteAnswer {
  const data = parts.find((part): part is Part & { readonly data: JsonValue } => 'data' in part)?.data;
  if (isJsonObject(data)) {
    const { action } = data;
    if (action === 'decline' || action === 'cancel') return { action };
    if (action === 'accept') return data as unknown as RemoteAnswer;
    return { action: 'accept', content: data };
  }
  const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n');
  return { action: 'accept', content: contentOf(data ?? text, token?.form?.schema) };
}

function contentOf(value: JsonValue, schema: JsonObject | undefined): JsonObject {
  const properties = schema?.['properties'];
  const [only, ...others] = isJsonObject(properties) ? Object.entries(properties) : [];
  if (only === undefined || others.length > 0) return { [typeof value === 'string' ? 'text' : 'value']: value };
  const [name, of] = only;
  return { [name]: isJsonObject(of) ? fitted(value, of['type']) : value };
}

/** Converts a text to the type that is asked for, if it is the text of such a value. */
function fitted(value: JsonValue, type: JsonValue | undefined): JsonValue {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if ((type === 'number' || type === 'integer') && text !== '' && Number.isFinite(Number(text))) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return value;
}
