import type { JsonValue } from '../base/json.js';

/** How a remote task ended. A result that the tool itself marks as an error is an outcome, not an exception. */
export interface RemoteOutcome {
  /** MCP: the tool result object. A2A: the whole task, or the message that came in its place, in the names of 1.0. */
  readonly result: JsonValue;
  /** MCP `isError`; always false for A2A. */
  readonly isError: boolean;
  readonly server: string;
  /** Missing when the server answered at once, without a task. */
  readonly taskId?: string;
  /** With `isError`: the reply to the start said so already (a quota, arguments that do not fit), and no task ran. */
  readonly phase?: 'start';
}

/** The outcome of a call with an `output` schema, of a task that did what it was asked. */
export interface OutcomeWithData<Data> extends RemoteOutcome {
  readonly isError: false;
  /** What the schema made of the structured value of the result, or of its text. */
  readonly data: Data;
}
/** The outcome of a call with an `output` schema, of a tool that says that it failed. */
export interface ErrorOutcome extends RemoteOutcome {
  readonly isError: true;
  readonly data?: undefined;
}
export type TypedOutcome<Data> = OutcomeWithData<Data> | ErrorOutcome;
