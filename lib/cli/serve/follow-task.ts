import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../base/json.js';
import { ApiError, fromJson } from '../api-client.js';
import { CliError, exitCodes } from '../cli-error.js';
import { print } from '../output.js';
import type { AgentClient } from './agent-client.js';
import { formatNews } from './format-served.js';
import { isFinalState, newsIn, newsOfTask, type TaskNews } from './task-news.js';

const retryMs = 1_000;
/** Attempts in a row to come back to a stream that broke: longer than an engine takes to start again. */
const retriesMax = 60;

/** How a task is followed. */
export interface Following {
  readonly client: AgentClient;
  readonly taskId: string;
  /** The last generation that is known already. */
  readonly after: number;
  /** Returns the answer to the next question; undefined if there is none here. */
  readonly nextAnswer: () => Promise<string | undefined>;
  /** Whether to go on without an answer, which may come from elsewhere. Otherwise the command fails. */
  readonly waitsForOthers: boolean;
  /** Whether an answer that is refused can be given anew. */
  readonly isInteractive: boolean;
  readonly json?: boolean;
}

/**
 * Prints what comes to a task, each change once, to its end, over breaks of the stream. Answers its questions. Returns the state in which it ended.
 * @throws ApiError if the agent refuses; CliError if the task waits for an answer that nobody here gives
 */
export async function followTask(following: Following): Promise<string> {
  const { client, taskId } = following;
  let { after } = following;
  let failures = 0;
  for (;;) {
    const left = new AbortController();
    try {
      for await (const event of client.follow(taskId, after, left.signal)) {
        const news = newsIn(event);
        failures = 0;
        after = Math.max(after, news.generation);
        print(following, event, (screen) => formatNews(news, screen));
        if (news.kind !== 'status') continue;
        if (isFinalState(news.state)) return news.state;
        if (news.state === 'input-required') await answerQuestion(following, news);
      }
    } catch (error) {
      if (!mayPass(error) || ++failures > retriesMax) throw error;
    } finally {
      left.abort();
    }
    await sleep(retryMs);
  }
}

/** A stream that broke, or an engine that is starting, is tried again. */
function mayPass(error: unknown): boolean {
  return error instanceof ApiError ? error.isPassing : !(error instanceof CliError);
}

/** Answers a question, unless it has been answered since: then the stream says how it went on. */
async function answerQuestion(following: Following, { generation }: TaskNews): Promise<void> {
  const { client, taskId, nextAnswer, waitsForOthers, json } = following;
  if (newsOfTask(await client.task(taskId)).generation !== generation) return;
  for (;;) {
    const text = await nextAnswer();
    if (text === undefined && waitsForOthers) return;
    if (text === undefined) throw unanswered(taskId, json);
    const message = { messageId: randomUUID(), role: 'ROLE_USER', taskId, parts: [partOf(text)] };
    try {
      await client.send({ params: { message, configuration: { ifGenerationMatch: generation } } });
      return;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'QUESTION_CLOSED' || error.code === 'TASK_ENDED') return;
      if (error.code !== 'INPUT_INVALID' || !following.isInteractive) throw error;
      console.error(`outwait: ${error.message}`);
    }
  }
}

function unanswered(taskId: string, json: boolean | undefined): CliError {
  const message = `the task waits for an answer: outwait serve watch ${taskId} --answer '…'`;
  return new CliError(
    message,
    exitCodes.failed,
    json === true ? { error: { code: 'NOT_ANSWERED', message } } : undefined,
  );
}

/** Returns what a person typed as a part of a message: a JSON object as data, anything else as text. */
export function partOf(text: string): JsonObject {
  const data = fromJson(text);
  return data === undefined || Array.isArray(data) ? { text } : { data: data as JsonObject };
}
