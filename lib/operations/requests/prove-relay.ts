import { EngineError } from '../../base/errors.js';
import type { TokenRecord } from '../../history/records.js';
import type { InboundRequest } from '../../inbound/request.js';
import { sha256 } from '../../inbound/signature.js';
import type { HookAuth } from '../../workflow/hook-auth.js';
import type { Deps } from '../deps.js';
import { takeProof } from './take-proof.js';
import { unauthorized, type Verified, verifyDelivery } from './verify-delivery.js';

/** The check of the sender of one request of a relay. */
export interface RelayProof {
  /**
   * Returns what proved that the sender may settle the wait of a token, in the words of the record; undefined if the
   * token is enough.
   * @throws EngineError `UNAUTHORIZED`, the same for every reason; `STORE_UNAVAILABLE` if that cannot be told now;
   * `TOKEN_INVALID`
   */
  of(token: string): Promise<string | undefined>;
}

/**
 * Checks the sender of a request by what the server of each wait requires. The token comes first and says which wait it
 * is, and the wait says which server: so its item is read before the sender is known, but only for a token of ours. A
 * proof is verified once per server, and taken for this path and body: what a repetition could do to a remote task is
 * done already.
 */
export function proveRelay(deps: Deps, request: InboundRequest, path: string): RelayProof {
  const use = deps.digest(`${path} ${sha256(request.body).toString('hex')}`);
  const verified = oncePer((server: string, auth: HookAuth | readonly HookAuth[]) =>
    verifyDelivery(deps, auth, request, `relays of the server "${server}"`),
  );
  const taken = oncePer((_server: string, proof: Verified) => takeProof(deps, proof, use));
  return {
    async of(token) {
      const wait = await deps.store.tokens.read(...idsOf(deps, token));
      if (wait?.server === undefined) return undefined;
      const config = deps.app.servers[wait.server];
      // What a server that is no longer configured required is not known.
      if (config === undefined) throw unauthorized(deps);
      if (config.relayAuth === undefined) return undefined;
      const proof = await verified(wait.server, config.relayAuth);
      checkTask(deps, wait, proof);
      await taken(wait.server, proof);
      return wordsOf(proof);
    },
  };
}

/** Returns the work as a function that does it once for each name. */
function oncePer<Given, Done>(
  work: (name: string, given: Given) => Promise<Done>,
): (name: string, given: Given) => Promise<Done> {
  const begun = new Map<string, Promise<Done>>();
  return (name, given) => {
    const known = begun.get(name) ?? work(name, given);
    begun.set(name, known);
    return known;
  };
}

function idsOf(deps: Deps, token: string): readonly [string, string] {
  const { runId, waitId } = deps.tokens.parseSettleToken(token);
  return [runId, waitId];
}

/** @throws EngineError `UNAUTHORIZED` if the proof is for another task; `STORE_UNAVAILABLE` if the task is not known yet */
function checkTask(deps: Deps, { handle }: TokenRecord, { jwt }: Verified): void {
  if (jwt?.taskId === undefined || jwt.taskId === handle?.taskId) return;
  if (handle !== undefined) throw unauthorized(deps);
  throw new EngineError('STORE_UNAVAILABLE', 'the task of this wait is not known yet');
}

function wordsOf({ scheme, jwt }: Verified): string {
  return jwt !== undefined && /^[\x21-\x7e]{1,200}$/.test(jwt.jti) ? `${scheme} ${jwt.jti}` : scheme;
}
