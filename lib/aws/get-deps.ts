import type { Deps } from '../operations/deps.js';
import type { TokenKeys } from '../tokens/token-keys.js';

/** Returns a handler's dependencies; called for each event, so that a failed cold start is retried. */
export type GetDeps = () => Deps | Promise<Deps>;

/**
 * Returns a function that calls `create` at the first call, and again after a failure; otherwise it returns the first
 * result.
 */
export function once<Value>(create: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: create() }).value;
}

interface WithoutTokens {
  readonly deps: Omit<Deps, 'tokens'>;
  readonly readTokens: () => Promise<TokenKeys>;
}

/** Reads the token keys for each event. Returns the same dependencies as long as the keys are the same. */
export function withTokens(getWorld: () => WithoutTokens): () => Promise<Deps> {
  let current: Deps | undefined;
  return async () => {
    const { deps, readTokens } = getWorld();
    const tokens = await readTokens();
    if (current?.tokens !== tokens) current = { ...deps, tokens };
    return current;
  };
}
