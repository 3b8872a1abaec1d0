import type { JsonObject } from '../base/json.js';

/** What a person is asked. */
export interface Question {
  readonly message: string;
  /** JSON Schema that an accepted answer is checked against, but for its regular expressions and references. Default: none. */
  readonly schema?: JsonObject;
  /** A page to open; shown, never fetched. */
  readonly url?: string;
  /** The remote server whose task asks. */
  readonly server?: string;
}
