import type { FunctionName } from '../lib/topology/topology.js';

/** Input of `bundle-functions.ts`, as JSON. */
export interface BundleRequest {
  readonly configFile: string;
  /** Receives a folder for each function, by its name. */
  readonly outDir: string;
  readonly names: readonly FunctionName[];
  /** Environment for loading the app; if left out, it is bundled but not loaded. */
  readonly load?: FunctionVariables;
}

/** Environment variables of the functions, and what they may read, as far as known at synthesis. */
export interface FunctionVariables {
  readonly environment: Readonly<Record<string, string>>;
  /** Names of variables whose values are known only after deployment; they hold placeholders. */
  readonly unknown: readonly string[];
  /** Names or ARNs, as in the settings. If left out, known only after deployment. */
  readonly secrets?: readonly string[];
  readonly parameters?: readonly string[];
  /** Whether the deployment serves workflows. If left out, nobody has decided. */
  readonly serves?: boolean;
}

/** File in `outDir` that receives the outcome, as JSON. */
export const outcomeFile = 'outcome.json';

export type BundleOutcome =
  | { readonly kind: 'done' }
  /** The code is there, but it may fail as it is: this could not be determined, or a secret is missing. */
  | { readonly kind: 'unsure'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string };
