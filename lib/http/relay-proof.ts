import type { Context } from 'hono';
import type { Deps } from '../operations/deps.js';
import { proveRelay, type RelayProof } from '../operations/requests/prove-relay.js';

// What a server may require of a relay besides the token. The routes load it if a server requires anything.

export type { RelayProof };

/** Returns the check of the sender of a request, for each token in it. */
export function relayProof(deps: Deps, { req }: Context, body: Uint8Array): RelayProof {
  const headers = Object.fromEntries(req.raw.headers);
  return proveRelay(deps, { headers, body, atMs: deps.clock.nowMs() }, new URL(req.url).pathname);
}
