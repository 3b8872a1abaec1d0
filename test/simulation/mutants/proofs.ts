import { type Mutant, rules, storePart, testsIn } from './mutant.js';

const jwt = 'lib/inbound/jwt.ts';
const relays = 'test/unit/http/relay-proofs.test.ts';

const mutant = (
  name: string,
  rule: string,
  edit: { readonly file: string; readonly find: string; readonly replace: string },
  caughtBy: Mutant['caughtBy'],
): Mutant => {
  const { file, ...one } = edit;
  return { name: `proof-${name}`, rule, file, edits: [one], caughtBy };
};
const ofJwt = (name: string, rule: string, find: string, replace: string, test: string): Mutant =>
  mutant(name, rule, { file: jwt, find, replace }, rules('proofs', test));

export const proofsMutants: readonly Mutant[] = [
  ofJwt(
    'audience-not-compared',
    'a token must be for us',
    "audience: typeof audience === 'string' ? audience : [...audience],",
    '',
    'PROOF audience',
  ),
  ofJwt(
    'age-not-limited',
    'a token is accepted for its first minutes',
    'maxTokenAge: auth.maxAgeMs / 1_000,',
    '',
    'PROOF age',
  ),
  ofJwt(
    'claims-not-required',
    'a token has a time, an end and an id',
    "requiredClaims: ['iat', 'exp', 'jti'],",
    '',
    'PROOF claims',
  ),
  ofJwt(
    'subject-not-compared',
    'a token is of the configured subject',
    '...defined({ subject: auth.subject }),',
    '',
    'PROOF subject',
  ),
  ofJwt(
    'body-not-compared',
    'a token with a digest is for that body',
    '!isDigestOf(digest, body)',
    'digest === ""',
    'PROOF body: a token with the digest of another body',
  ),
  ofJwt(
    'body-hash-not-required',
    'a digest is there where it is required',
    'if (digest === undefined && auth.requireBodyHash === true) return undefined;',
    '',
    'PROOF body: a token without a digest',
  ),
  mutant(
    'taken-again',
    'a proof is taken for one use',
    { file: storePart('proofs'), find: 'conditions: [endedBy(atMs)],', replace: 'conditions: [],' },
    rules('proofs', 'PROOF once: a proof that was taken'),
  ),
  mutant(
    'skew-not-added',
    'a proof stays taken until no process would accept it',
    {
      file: 'lib/operations/requests/take-proof.ts',
      find: 'untilMs: proof.untilMs + skewMs,',
      replace: 'untilMs: proof.untilMs,',
    },
    rules('proofs', 'PROOF once: a proof that was taken'),
  ),
  mutant(
    'repetition-refused',
    'a proof may be repeated for the same use',
    { file: storePart('proofs'), find: '.use === use', replace: '.use === ""' },
    rules('proofs', 'PROOF once: a proof that was taken'),
  ),
  mutant(
    'uncovered-body-not-taken',
    'a token that does not cover the body starts one run',
    {
      file: 'lib/operations/requests/receive-delivery.ts',
      find: 'if (!verified.coversBody)',
      replace: 'if (verified.coversBody)',
    },
    testsIn('test/unit/http/spoofing.test.ts', 'a token that is sent again starts one run, and none for another body'),
  ),
  mutant(
    'relay-task-not-compared',
    'a token about one task settles no other',
    {
      file: 'lib/operations/requests/prove-relay.ts',
      find: 'checkTask(deps, wait, proof);',
      replace: '',
    },
    testsIn(relays, 'a batch with a token about one task refuses the entries for others'),
  ),
  mutant(
    'relay-server-forgotten',
    'what a server that is gone required is not known',
    {
      file: 'lib/operations/requests/prove-relay.ts',
      find: 'if (config === undefined) throw unauthorized(deps);',
      replace: 'if (config === undefined) return undefined;',
    },
    testsIn(relays, 'the proof of a relay is required although the server is no longer configured'),
  ),
  mutant(
    'relay-proof-not-asked',
    'a relay proves itself where the server requires it',
    {
      file: 'lib/operations/requests/prove-relay.ts',
      find: 'if (config.relayAuth === undefined) return undefined;',
      replace: 'if (config !== undefined) return undefined;',
    },
    testsIn(relays, 'the proof of a relay is on record with the settlement'),
  ),
  mutant(
    'relay-proof-not-taken',
    'a token of a relay is taken for one path and body',
    { file: 'lib/operations/requests/prove-relay.ts', find: 'await taken(wait.server, proof);', replace: '' },
    testsIn('test/unit/http/spoofing.test.ts', 'a token that is sent again settles one wait of a relay'),
  ),
  mutant(
    'keys-without-cooldown',
    'made-up key ids cause no requests',
    {
      file: 'lib/remote/auth/key-sets.ts',
      find: 'entry.reading === undefined && this.#ageMs(entry.triedAtMs) < pauseMs',
      replace: 'pauseMs < 0',
    },
    testsIn(relays, 'the keys of an issuer are read again for a key that is new'),
  ),
];
