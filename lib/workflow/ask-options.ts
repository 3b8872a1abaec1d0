import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../base/json.js';
import type { Duration } from '../base/time.js';
import type { Question } from '../history/question.js';

/** Whom a question is for. Whoever may answer questions may answer it, addressed or not. */
export interface Addressing {
  /**
   * Who is told that the question waits: a name in `people.receivers` of the app; or `caller`: the caller of a served
   * task is asked, and its answers come by the task. In a run that is not served, `caller` is the default:
   * `people.default`.
   */
  readonly to?: string;
  /**
   * Time after which whoever was told is reminded, and again after it, at most 20 times each; at least a minute. Default:
   * no reminders.
   */
  readonly remindAfter?: Duration;
  /** Another addressee, who is told if there is no answer after this time, at least a minute. Default: none. */
  readonly escalate?: { readonly after: Duration; readonly to: string };
}

/** A question to a person, and how long to wait for the answer. */
export interface AskOptions extends Omit<Question, 'schema'>, Addressing {
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
