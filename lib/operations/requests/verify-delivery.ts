import { defined } from '../../base/defined.js';
import { EngineError, isEngineError } from '../../base/errors.js';
import { isList } from '../../base/list.js';
import type { EpochMs } from '../../base/time.js';
import { verifyJwt } from '../../inbound/jwt.js';
import type { InboundRequest } from '../../inbound/request.js';
import { schemes } from '../../inbound/schemes.js';
import { type Claim, futureMaxSeconds, pastMaxSeconds } from '../../inbound/signature.js';
import { verdictOn } from '../../inbound/verify.js';
import type { HookAuth, HookScheme, SecretAuth } from '../../workflow/hook-auth.js';
import type { JwtAuth } from '../../workflow/jwt-options.js';
import type { Deps } from '../deps.js';

/** What is known of a request whose sender is verified. */
export interface Verified {
  readonly scheme: HookScheme;
  /** The same for each repetition of one delivery. */
  readonly deliveryId: string;
  /** Whether the proof covers the body. Otherwise only TLS protects it. */
  readonly coversBody: boolean;
  /** What a proof that ends by itself is known by, so that it can be taken once; see `takeProof`. */
  readonly proof?: { readonly id: string; readonly untilMs: EpochMs };
  /** What a token says. */
  readonly jwt?: { readonly jti: string; readonly subject?: string; readonly taskId?: string };
}

/**
 * Verifies that a request comes from a sender that has one of the proofs. The table is not used, and secrets and keys are
 * read only for a request that may be genuine. `what` names what is addressed, in the errors that the log shows.
 * @throws EngineError `UNAUTHORIZED`, the same for every reason; `STORE_UNAVAILABLE` if a secret or a key cannot be read
 * that may be the one: the sender is to repeat the request
 */
export async function verifyDelivery(
  deps: Deps,
  auth: HookAuth | readonly HookAuth[],
  request: InboundRequest,
  what: string,
): Promise<Verified> {
  let ourFault: EngineError | undefined;
  for (const one of isList(auth) ? auth : [auth]) {
    try {
      const verified = await (one.scheme === 'jwt'
        ? verifiedByJwt(deps, one, request)
        : verifiedBySecret(deps, one, request, what));
      if (verified !== undefined) return verified;
    } catch (error) {
      if (!isEngineError(error) || error.code !== 'STORE_UNAVAILABLE') throw error;
      // Another proof may do.
      ourFault = error;
    }
  }
  throw ourFault ?? unauthorized(deps);
}

/** Counts a request of an unknown sender. Returns the error, which tells no reason. */
export function unauthorized({ metrics }: Deps): EngineError {
  metrics?.put('PushAuthFailures', 1);
  return new EngineError('UNAUTHORIZED', 'the sender is not known here');
}

/** @throws EngineError `STORE_UNAVAILABLE` */
async function verifiedBySecret(
  deps: Deps,
  auth: SecretAuth,
  request: InboundRequest,
  what: string,
): Promise<Verified | undefined> {
  const scheme = schemes[auth.scheme];
  const claim = scheme.claim(request);
  if (claim === undefined) return undefined;
  const { secrets, cause } = await readSecrets(deps, auth);
  const verdict = verdictOn(scheme, claim, secrets);
  if (verdict === 'genuine') {
    const { deliveryId, signed } = claim;
    return {
      scheme: auth.scheme,
      deliveryId,
      coversBody: signed.length > 0,
      ...defined({ proof: proofOf(deps, auth.scheme, claim, request) }),
    };
  }
  if (verdict === 'forged' && secrets.length === auth.secrets.length) return undefined;
  // May be genuine: with 503 its sender repeats it until the secret is there.
  const problem = verdict === 'unusable' ? 'is not one that a sender can have' : 'cannot be read';
  throw new EngineError('STORE_UNAVAILABLE', `a secret of ${what} ${problem}`, { cause });
}

function proofOf(
  { digest }: Deps,
  scheme: HookScheme,
  { isTimed = false, signed }: Claim,
  { atMs }: InboundRequest,
): Verified['proof'] {
  if (!isTimed) return undefined;
  // Digests what was signed, not the signatures: those can be left out, and put into another order.
  const texts = signed.map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString('latin1')));
  return {
    id: digest(JSON.stringify([scheme, ...texts])),
    untilMs: atMs + (pastMaxSeconds + futureMaxSeconds) * 1_000,
  };
}

/** @throws EngineError `STORE_UNAVAILABLE`, `CONFIG_INVALID` */
async function verifiedByJwt(deps: Deps, auth: JwtAuth, request: InboundRequest): Promise<Verified | undefined> {
  const { allowPrivateAddresses = false } = auth;
  const claims = await verifyJwt(auth, request, async ({ isRenewed }) => {
    if (deps.keySets === undefined) throw new EngineError('STORE_UNAVAILABLE', 'this process can read no keys');
    return deps.keySets.read(auth.jwksUrl, { isRenewed, allowPrivateAddresses });
  });
  if (claims === undefined) return undefined;
  const { issuer, jti, subject, taskId, coversBody, untilMs } = claims;
  const isName = /^[\x21-\x7e]{1,200}$/.test(jti);
  return {
    scheme: 'jwt',
    deliveryId: isName ? jti : `sha256:${deps.digest(jti)}`,
    coversBody,
    proof: { id: deps.digest(JSON.stringify(['jwt', issuer, jti])), untilMs },
    jwt: { jti, ...defined({ subject, taskId }) },
  };
}

async function readSecrets(
  { secrets: reader }: Deps,
  auth: SecretAuth,
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
