import { jsonBytes } from '../base/json-limit.js';
import type { JsonValue } from '../base/json.js';
import { questionMaxBytes, questionsMax } from '../base/limits.js';
import type { RemoteQuestion } from '../history/remote-question.js';

/** Those of a server's questions that are taken in: not too many, none too large. */
export function boundedQuestions(questions: readonly RemoteQuestion[]): readonly RemoteQuestion[] {
  return questions
    .filter((question) => jsonBytes(question as unknown as JsonValue) <= questionMaxBytes)
    .slice(0, questionsMax);
}

/**
 * What a task asks now, bounded, if any of it is not among what was recorded last. What its server asked before there was
 * a task may have had the same keys.
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

/** Keys under which a server now asks something else than it did: a key names one question for good. */
export function changedQuestions(
  last: { readonly list: readonly RemoteQuestion[] } | undefined,
  asked: readonly RemoteQuestion[],
): readonly string[] {
  const before = new Map((last?.list ?? []).map((question) => [question.key, JSON.stringify(question)]));
  return asked
    .filter((question) => before.has(question.key) && before.get(question.key) !== JSON.stringify(question))
    .map(({ key }) => key);
}
