import { isJsonObject, type JsonObject, toJsonAsFarAsItGoes } from '../base/json.js';
import type { AnyWorkflow } from './context.js';

/**
 * Returns the JSON Schema of what a workflow takes; undefined if it has no schema, or one that cannot be written as JSON
 * Schema. The input is checked by the schema itself, so that is only told to callers.
 */
export function skillSchemaOf({ input }: AnyWorkflow): JsonObject | undefined {
  try {
    const standard = input?.['~standard'] as Partial<ConvertibleSchema> | undefined;
    const schema = toJsonAsFarAsItGoes(standard?.jsonSchema?.input({ target: 'draft-2020-12' }));
    return isJsonObject(schema) ? schema : undefined;
  } catch {
    return undefined;
  }
}

interface ConvertibleSchema {
  readonly jsonSchema: { readonly input: (options: { readonly target: string }) => unknown };
}
