import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonValue } from '../base/json.js';
import type { Duration } from '../base/time.js';

// Waits for something that comes from outside: a signal, or the settlement of a token.

/** Options of `ctx.signal`. */
export interface SignalOptions<Payload = JsonValue> {
  /** Longest wait; then the call fails with `SIGNAL_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
  /** Takes only signals whose payload (parsed, if there is a schema) it accepts; others stay for later waits. */
  readonly where?: (payload: Payload) => boolean;
}

/** A schema that types and parses a value from outside: any Standard Schema validator (zod, valibot, arktype). */
export interface Parsed<Value> {
  readonly schema: StandardSchemaV1<unknown, Value>;
}

/** A wait that is settled once, from outside. */
export interface ExternalWait<Value = JsonValue> {
  /** Allows its holder to settle the wait: bearer token of `POST /activities/external/complete` or `/fail`. */
  readonly token: string;
  /** @throws ExternalWaitFailed, `EXTERNAL_TIMED_OUT`, `INPUT_INVALID` for a result that does not fit the schema */
  readonly outcome: Promise<ExternalOutcome<Value>>;
}

/** The result that a token was settled with. A result that is marked as an error is not checked by the schema. */
export type ExternalOutcome<Value = JsonValue> =
  { readonly result: Value; readonly isError: false } | { readonly result: JsonValue; readonly isError: true };

/** A promise that survives restarts. */
export interface DurablePromise<Value> {
  /** Allows its holder to settle the promise, once. */
  readonly token: string;
  readonly promise: Promise<Value>;
}

/** Options of `ctx.externalToken` and `ctx.promise`. */
export interface TokenOptions {
  /** Name of the wait, shown in the list of what the run waits for. Default `token`, or `promise` for a promise. */
  readonly name?: string;
  /** Longest wait; then it fails with `EXTERNAL_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
}
