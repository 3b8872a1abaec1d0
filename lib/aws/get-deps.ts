import type { Deps } from '../operations/deps.js';

/** Where a handler gets its dependencies: called for each event, so that a cold start that fails is tried again. */
export type GetDeps = () => Deps | Promise<Deps>;

/** Calls `create` at the first call and again after a failure; else gives what it made. */
export function once<Value>(create: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: create() }).value;
}
