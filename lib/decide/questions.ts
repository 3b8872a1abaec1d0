import { jsonBytes } from '../base/json-limit.js';
import type { JsonValue } from '../base/json.js';
import { questionMaxBytes, questionsMax } from '../base/limits.js';
import type { RemoteQuestion } from '../history/remote-question.js';

/** Returns the questions of a server that are recorded: at most `questionsMax`, none too large. */
export function boundedQuestions(questions: readonly RemoteQuestion[]): readonly RemoteQuestion[] {
  return questions
    .filter((question) => jsonBytes(question as unknown as JsonValue) <= questionMaxBytes)
    .slice(0, questionsMax);
}

/**
 * Returns the questions of a task, bounded, if any of them was not recorded last time; undefined otherwise. Questions
 * from before there was a task do not count: they may have had the same keys.
 */
export function unseenQuestions(
  last: { readonly list: readonly RemoteQuestion[]; readonly round?: number } | undefined,
  asked: readonly RemoteQuestion[],
): readonly RemoteQuestion[] | undefined {
  const questions = boundedQuestions(asked);
  const known = last?.round === undefined ? (last?.list ?? []) : [];
  const knownKeys = new Set(known.map(({ key }) => key));
  return questions.some(({ key }) => !knownKeys.has(key)) ? questions : undefined;
}

/**
 * Returns the keys under which a server now asks a different question, which is wrong: a key names one question for
 * ever.
 */
export function changedQuestions(
  last: { readonly list: readonly RemoteQuestion[] } | undefined,
  asked: readonly RemoteQuestion[],
): readonly string[] {
  const before = new Map((last?.list ?? []).map((question) => [question.key, JSON.stringify(question)]));
  return asked
    .filter((question) => before.has(question.key) && before.get(question.key) !== JSON.stringify(question))
    .map(({ key }) => key);
}
