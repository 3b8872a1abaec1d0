import { EngineError } from '../base/errors.js';
import { toJson, type JsonValue } from '../base/json.js';

/** Questions that the workflow answers as it stands (`ctx.onQuery`). */
export class Queries {
  readonly #handlers = new Map<string, (input: JsonValue | undefined) => unknown>();

  set(name: string, handler: (input: JsonValue | undefined) => unknown): void {
    this.#handlers.set(name, handler);
  }

  /** @throws EngineError `QUERY_NOT_FOUND`, `QUERY_FAILED` */
  answer(name: string, input: JsonValue | undefined): JsonValue | undefined {
    const handler = this.#handlers.get(name);
    if (handler === undefined) {
      throw new EngineError(
        'QUERY_NOT_FOUND',
        `the workflow answers no query "${name}"; there is ${[...this.#handlers.keys()].join(', ') || 'none'}`,
      );
    }
    try {
      const answer = handler(input);
      if (isThenable(answer)) {
        answer.then(undefined, () => undefined);
        throw new TypeError('its handler gave back a promise; a query answers at once');
      }
      return toJson(answer);
    } catch (error) {
      throw new EngineError(
        'QUERY_FAILED',
        `query "${name}" failed: ${error instanceof Error ? error.message : 'not an error'}`,
        { cause: error },
      );
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}
