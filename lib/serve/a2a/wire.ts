import type { JsonObject, JsonValue } from '../../base/json.js';
import type { A2aVersion, Call } from './call.js';
import type { Answer, Operation, StreamAnswer, StreamEvent } from './operation.js';

/** How a revision writes what is asked and answered. */
export interface Wire {
  readonly version: A2aVersion;
  /** Names of its methods in JSON-RPC. */
  readonly methods: ReadonlySet<string>;
  /**
   * Reads the parameters of a method; unknown fields are ignored.
   * @throws EngineError `INPUT_INVALID`; A2aError `METHOD_NOT_FOUND`
   */
  decode(method: string, given: JsonValue, call: Call): Operation;
  result(answer: Exclude<Answer, StreamAnswer>, call: Call): JsonValue;
  event(event: StreamEvent, call: Call): JsonObject;
}
