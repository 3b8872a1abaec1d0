import type { Mutant } from './mutant.js';

/** Caught by the tests of a file whose full names begin with `test`. */
const testsIn = (file: string, test: string): Mutant['caughtBy'] => ({ kind: 'rules', file, test });

export const remoteMutants: readonly Mutant[] = [
  {
    name: 'metadata-addresses',
    rule: 'addresses where clouds keep credentials are dialled under no rule, public ones among them',
    file: 'lib/remote/address-rule.ts',
    edits: [{ find: 'if (isKeptBack(parsed)) return false;', replace: '' }],
    caughtBy: testsIn('test/remote/address-rule.test.ts', 'F93 where clouds keep credentials'),
  },
];
