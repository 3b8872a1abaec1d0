import { EngineError } from '../../base/errors.js';
import type { InboundRequest } from '../../inbound/request.js';
import { type Scheme, schemes } from '../../inbound/schemes.js';
import type { Claim } from '../../inbound/signature.js';
import { verdictOn } from '../../inbound/verify.js';
import type { Hook, HookAuth } from '../../workflow/hook.js';
import type { Deps } from '../deps.js';

/** A verified delivery: its hook, the scheme that verified it, and its id. */
export interface Verified {
  readonly hook: Hook;
  readonly scheme: Scheme;
  readonly deliveryId: string;
}

/**
 * Finds the hook and verifies that a delivery comes from its sender. The table is not used, and secrets are read only for
 * a request that may be genuine.
 * @throws EngineError `UNAUTHORIZED`, the same for every reason, also for a hook that does not exist;
 * `STORE_UNAVAILABLE` if a secret cannot be read that may be the one
 */
export async function verifyDelivery(deps: Deps, name: string, request: InboundRequest): Promise<Verified> {
  const hook = Object.hasOwn(deps.app.hooks, name) ? deps.app.hooks[name] : undefined;
  if (hook === undefined) throw unauthorized(deps);
  const claim = await verifyProof(deps, hook.auth, request, `the hook "${name}"`);
  if (claim === undefined) throw unauthorized(deps);
  return { hook, scheme: schemes[hook.auth.scheme], deliveryId: claim.deliveryId };
}

/**
 * Returns the claim of a request that comes from a holder of a secret of `auth`; undefined if it does not. `whose`: who
 * has the secret, for an error.
 * @throws EngineError `STORE_UNAVAILABLE` if a secret cannot be read that may be the one
 */
export async function verifyProof(
  deps: Deps,
  auth: HookAuth,
  request: InboundRequest,
  whose: string,
): Promise<Claim | undefined> {
  const scheme = schemes[auth.scheme];
  const claim = scheme.claim(request);
  if (claim === undefined) return undefined;
  const { secrets, cause } = await readSecrets(deps, auth);
  const verdict = verdictOn(scheme, claim, secrets);
  if (verdict === 'genuine') return claim;
  if (verdict === 'forged' && secrets.length === auth.secrets.length) return undefined;
  // May be genuine: with 503 its sender repeats it until the secret is there.
  const what = verdict === 'unusable' ? 'is not one that a sender can have' : 'cannot be read';
  throw new EngineError('STORE_UNAVAILABLE', `a secret of ${whose} ${what}`, { cause });
}

async function readSecrets(
  { secrets: reader }: Deps,
  auth: HookAuth,
): Promise<{ readonly secrets: readonly string[]; readonly cause: unknown }> {
  let cause: unknown;
  const values = await Promise.all(
    auth.secrets.map(async (source) => {
      try {
        return (await reader?.read(source))?.reveal();
      } catch (error) {
        cause = error;
        return undefined;
      }
    }),
  );
  return { secrets: values.filter((value) => value !== undefined), cause };
}

/** Counts a refusal of a sender and returns its error, which is the same for every reason. */
export function unauthorized({ metrics }: Deps): EngineError {
  metrics?.put('PushAuthFailures', 1);
  return new EngineError('UNAUTHORIZED', 'the sender is not known here');
}
