/** An exact edit of a source file. The lines of `find` may be broken differently than in the file. */
export interface Edit {
  /** Text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** The engine without one of its rules, and the test that must notice. */
export interface Mutant {
  readonly name: string;
  /** The rule that is taken out, in the words of the design. */
  readonly rule: string;
  /** Path from the root of the repository. */
  readonly file: string;
  readonly edits: readonly Edit[];
  readonly caughtBy:
    | {
        readonly kind: 'rules';
        readonly file: string;
        /** Beginning of the names of the tests that are run. */ readonly test: string;
      }
    /** Seeds 1 to `seeds` of the scenario. */
    | { readonly kind: 'simulation'; readonly scenario: string; readonly seeds: number };
}

/** Caught by the tests of test/simulation/rules/<file>.test.ts whose names begin with `test`. */
export const rules = (file: string, test: string): Mutant['caughtBy'] => ({
  kind: 'rules',
  file: `test/simulation/rules/${file}.test.ts`,
  test,
});
/** Caught by the tests of any file whose full names begin with `test`. */
export const testsIn = (file: string, test: string): Mutant['caughtBy'] => ({ kind: 'rules', file, test });
/** Caught by a scenario of the simulator within that many seeds. */
export const simulation = (scenario: string, seeds: number): Mutant['caughtBy'] => ({
  kind: 'simulation',
  scenario,
  seeds,
});
/** Returns the file of a part of the store. */
export const storePart = (part: string): string => `lib/store/parts/${part}.ts`;
