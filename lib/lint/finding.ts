/** Ids of the rules. They are in the comments of users' code, so they stay as they are. */
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

/** A place where a workflow would do something else on replay than it did at first. */
export interface Finding {
  readonly rule: LintRule;
  /** From 1 on. */
  readonly line: number;
  /** From 1 on, in UTF-16 units. */
  readonly column: number;
  /** What is wrong there, and what to write in its place. */
  readonly message: string;
}
