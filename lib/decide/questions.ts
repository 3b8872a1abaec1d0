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

/** What a server asks now, bounded, if any of it is not among `known`. */
export function unseenQuestions(
  known: readonly RemoteQuestion[],
  asked: readonly RemoteQuestion[],
): readonly RemoteQuestion[] | undefined {
  const questions = boundedQuestions(asked);
  const knownKeys = new Set(known.map(({ key }) => key));
  return questions.some(({ key }) => !knownKeys.has(key)) ? questions : undefined;
}
