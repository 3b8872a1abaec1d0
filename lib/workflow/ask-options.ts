import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../base/json.js';
import type { Duration } from '../base/time.js';
import type { Question } from '../history/question.js';

/** A question to a person, and how long to wait for the answer. */
export interface AskOptions extends Omit<Question, 'schema'> {
  /**
   * JSON Schema to check an accepted answer against, except for its regular expressions and references. Default: none.
   */
  readonly schema?: JsonObject;
  /** Name of the wait, shown in the list of what the run waits for. Default `question`. */
  readonly name?: string;
  /** Longest wait; after it the call fails with `INPUT_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
}

/**
 * A schema that types and parses an answer, and can be converted to JSON Schema for a form: for example one of zod or
 * arktype.
 */
export type AnswerSchema<Content> = StandardSchemaV1<unknown, Content> & StandardJSONSchemaV1<unknown, Content>;

/** A question whose schema types and parses the content of an accepted answer. */
export interface TypedAskOptions<Content> extends Omit<AskOptions, 'schema'> {
  readonly schema: AnswerSchema<Content>;
}

/** A person's answer. */
export type TypedAnswer<Content> =
  { readonly action: 'accept'; readonly content: Content } | { readonly action: 'decline' | 'cancel' };
