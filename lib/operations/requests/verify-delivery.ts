import { EngineError } from '../../base/errors.js';
import type { InboundRequest } from '../../inbound/request.js';
import { type Scheme, schemes } from '../../inbound/schemes.js';
import { verdictOn } from '../../inbound/verify.js';
import type { Hook } from '../../workflow/hook.js';
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
  const scheme = schemes[hook.auth.scheme];
  const claim = scheme.claim(request);
  if (claim === undefined) throw unauthorized(deps);
  const { secrets, cause } = await readSecrets(deps, hook);
  const verdict = verdictOn(scheme, claim, secrets);
  if (verdict === 'genuine') return { hook, scheme, deliveryId: claim.deliveryId };
  if (verdict === 'forged' && secrets.length === hook.auth.secrets.length) throw unauthorized(deps);
  // May be genuine: with 503 its sender repeats it until the secret is there.
  const what = verdict === 'unusable' ? 'is not one that a sender can have' : 'cannot be read';
  throw new EngineError('STORE_UNAVAILABLE', `a secret of the hook "${name}" ${what}`, { cause });
}

async function readSecrets(
  { secrets: reader }: Deps,
  { auth }: Hook,
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

function unauthorized({ metrics }: Deps): EngineError {
  metrics?.put('PushAuthFailures', 1);
  return new EngineError('UNAUTHORIZED', 'the sender is not known here');
}
