import { isJsonObject, type JsonObject, toJsonAsFarAsItGoes } from '../base/json.js';
import type { AnyWorkflow } from './context.js';

/**
 * Returns the JSON Schema of what a workflow takes; undefined if it has no schema, or one that cannot be written as JSON
 * Schema. The input is checked by the schema itself, so that is only told to callers.
 */
export function skillSchemaOf({ input }: AnyWorkflow): JsonObject | undefined {
  return jsonSchemaOf(input, 'input');
}

/** Returns a schema as JSON Schema: of what it takes, or of what it gives; undefined if it cannot be written as such. */
export function jsonSchemaOf(given: unknown, side: 'input' | 'output' = 'output'): JsonObject | undefined {
  try {
    const standard = (given as Partial<Record<'~standard', Partial<ConvertibleSchema>>> | undefined)?.['~standard'];
    const schema = toJsonAsFarAsItGoes(standard?.jsonSchema?.[side]({ target: 'draft-2020-12' }));
    return isJsonObject(schema) ? schema : undefined;
  } catch {
    return undefined;
  }
}

interface ConvertibleSchema {
  readonly jsonSchema: Readonly<Record<'input' | 'output', (options: { readonly target: string }) => unknown>>;
}
