import type { Scheme } from './schemes.js';
import { type Claim, hasCommon } from './signature.js';

/** `unusable`: none of the secrets made the signature, and some of them no sender can have. */
export type Verdict = 'genuine' | 'forged' | 'unusable';

/** Whether a holder of any of the secrets has made the claim. */
export function verdictOn(scheme: Scheme, claim: Claim, secrets: readonly string[]): Verdict {
  const expected = secrets.map((secret) => scheme.expected(secret, claim)).filter((digest) => digest !== undefined);
  if (hasCommon(claim.given, expected)) return 'genuine';
  return expected.length < secrets.length ? 'unusable' : 'forged';
}
