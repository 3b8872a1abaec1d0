import type { StandardSchemaV1 } from '@standard-schema/spec';

/** Returns the path at which a schema found a problem, such as `items.0.price`; empty for the value itself. */
export function issuePath({ path }: StandardSchemaV1.Issue): string {
  return (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
}
