import type { Scheme } from './schemes.js';
import type { Claim } from './signature.js';

/** `unusable`: none of the secrets made the signature, and some of them no sender can have. */
export type Verdict = 'genuine' | 'forged' | 'unusable';

/** Whether a holder of any of the secrets has made the claim. Tries each, so that the time does not tell which. */
export function verdictOn(scheme: Scheme, claim: Claim, secrets: readonly string[]): Verdict {
  const verdicts = secrets.map((secret) => scheme.isMadeWith(secret, claim));
  if (verdicts.includes(true)) return 'genuine';
  return verdicts.includes(undefined) ? 'unusable' : 'forged';
}
