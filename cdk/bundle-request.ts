import type { FunctionName } from '../lib/aws/topology.js';

/** What `bundle-functions.ts` reads from its standard input, as JSON. */
export interface BundleRequest {
  readonly configFile: string;
  /** Gets a folder for each function, by its name. */
  readonly outDir: string;
  readonly names: readonly FunctionName[];
  /** Left out: the app is bundled and not loaded. */
  readonly load?: FunctionVariables;
}

/** Environment variables of the functions, as far as a synthesis knows them. */
export interface FunctionVariables {
  readonly environment: Readonly<Record<string, string>>;
  /** Those of them whose values are known only once they are deployed; in their place stands something else. */
  readonly unknown: readonly string[];
}

/** What it writes, as JSON, into this file of `outDir`. */
export const outcomeFile = 'outcome.json';

export type BundleOutcome =
  | { readonly kind: 'done' }
  /** The code is there, but whether it will run could not be found out. */
  | { readonly kind: 'unsure'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string };
