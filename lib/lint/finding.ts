/** Ids of the rules. Comments in users' code name them, so they never change. */
export const lintRules = [
  'no-clock',
  'no-random',
  'no-timers',
  'no-network',
  'no-environment',
  'no-floating-wait',
  'syntax',
] as const;
export type LintRule = (typeof lintRules)[number];

/** A place where a workflow could behave differently on replay. */
export interface Finding {
  readonly rule: LintRule;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 units. */
  readonly column: number;
  /** Says what is wrong and what to write instead. */
  readonly message: string;
}
