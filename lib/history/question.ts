import type { JsonObject } from '../base/json.js';

/** A question to a person. */
export interface Question {
  readonly message: string;
  /** JSON Schema for accepted answers; regular expressions and references in it are not checked. Default: none. */
  readonly schema?: JsonObject;
  /** A page for the person to open; shown, never fetched. */
  readonly url?: string;
  /** The remote server whose task asks the question. */
  readonly server?: string;
}
