import { EngineError } from '../base/errors.js';
import { toJson, type JsonValue } from '../base/json.js';

/** Query handlers of the workflow (`ctx.onQuery`). */
export class Queries {
  readonly #handlers = new Map<string, (input: JsonValue | undefined) => unknown>();

  set(name: string, handler: (input: JsonValue | undefined) => unknown): void {
    this.#handlers.set(name, handler);
  }

  /** Answers a query. @throws EngineError `QUERY_NOT_FOUND`, `QUERY_FAILED` */
  answer(name: string, input: JsonValue | undefined): JsonValue | undefined {
    const handler = this.#handlers.get(name);
    if (handler === undefined) {
      throw new EngineError(
        'QUERY_NOT_FOUND',
        `the workflow has no query "${name}"; it has ${[...this.#handlers.keys()].join(', ') || 'none'}`,
      );
    }
    try {
      const answer = handler(input);
      if (isThenable(answer)) {
        answer.then(undefined, () => undefined);
        throw new TypeError('its handler returned a promise; a query must answer synchronously');
      }
      return toJson(answer);
    } catch (error) {
      throw new EngineError(
        'QUERY_FAILED',
        `query "${name}" failed: ${error instanceof Error ? error.message : 'it threw a value that is not an Error'}`,
        { cause: error },
      );
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}
