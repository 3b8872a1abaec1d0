import type { JsonValue } from '../base/json.js';

/** Thrown through the workflow to end its run. Code that catches it must rethrow it. */
export class ContinueAsNew extends Error {
  override readonly name = 'ContinueAsNew';
  readonly input: JsonValue | undefined;

  constructor(input: JsonValue | undefined) {
    super('the run goes on as a new one');
    this.input = input;
  }
}
