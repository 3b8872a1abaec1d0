import type { JsonValue } from '../../../../lib/base/json.js';

const prefix = 'answers ';

/** Returns the text of an answer that names its question. */
export const answerTo = (question: string): string => `${prefix}${question}`;

/** Returns the question that an answer names; undefined if it is for whatever is asked. */
export function answeredQuestion(content: JsonValue | undefined): string | undefined {
  const { text } = (content ?? {}) as { readonly text?: unknown };
  return typeof text === 'string' && text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
}
