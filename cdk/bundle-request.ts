import type { FunctionName } from '../lib/topology/topology.js';

/** Input of `bundle-functions.ts`, as JSON. */
export interface BundleRequest {
  readonly configFile: string;
  /** Gets a folder for each function, by its name. */
  readonly outDir: string;
  readonly names: readonly FunctionName[];
  /** Left out: the app is bundled and not loaded. */
  readonly load?: FunctionVariables;
}

/** Environment variables of the functions, and what they may read, as far as a synthesis knows it. */
export interface FunctionVariables {
  readonly environment: Readonly<Record<string, string>>;
  /** Names of variables whose values are known only once they are deployed; something else stands in their place. */
  readonly unknown: readonly string[];
  /** Names or ARNs, as in the settings. Left out: known only once it is deployed. */
  readonly secrets?: readonly string[];
  readonly parameters?: readonly string[];
}

/** File of `outDir` into which it writes the outcome, as JSON. */
export const outcomeFile = 'outcome.json';

export type BundleOutcome =
  | { readonly kind: 'done' }
  /** The code is there, but it may not run as it is: that could not be found out, or a secret is missing. */
  | { readonly kind: 'unsure'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string };
