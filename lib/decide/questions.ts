import { jsonBytes } from '../base/json-limit.js';
import type { JsonValue } from '../base/json.js';
import { formMaxBytes, questionsMax } from '../base/limits.js';
import type { RemoteQuestion } from '../history/remote-question.js';

/** Those of a server's questions that are taken in: not too many, none too large. */
export function boundedQuestions(questions: readonly RemoteQuestion[]): readonly RemoteQuestion[] {
  return questions
    .filter((question) => jsonBytes(question as unknown as JsonValue) <= formMaxBytes)
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
