import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../base/json.js';
import type { Duration } from '../base/time.js';
import type { Question } from '../history/question.js';

export interface AskOptions extends Omit<Question, 'schema'> {
  /** JSON Schema that an accepted answer is checked against, but for its regular expressions and references. Default: none. */
  readonly schema?: JsonObject;
  /** What it is about; shown to whoever asks what the run waits for. Default `question`. */
  readonly name?: string;
  /** Longest wait; then `INPUT_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
}

/** A schema that can be written as JSON Schema, for a form, and that types and parses the answer: such as zod's, arktype's. */
export type AnswerSchema<Content> = StandardSchemaV1<unknown, Content> & StandardJSONSchemaV1<unknown, Content>;

/** A question with a schema that types and parses the content of an accepted answer. */
export interface TypedAskOptions<Content> extends Omit<AskOptions, 'schema'> {
  readonly schema: AnswerSchema<Content>;
}

/** What a person answered. */
export type TypedAnswer<Content> =
  { readonly action: 'accept'; readonly content: Content } | { readonly action: 'decline' | 'cancel' };
