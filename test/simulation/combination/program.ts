/** A workflow as data: drawn from a seed, printed, reduced part by part. Durations are in seconds. */
export type Program =
  | StepProgram
  | { readonly kind: 'sleep'; readonly for: number }
  /** An instant, counted from the start of the world. */
  | { readonly kind: 'until'; readonly at: number }
  | { readonly kind: 'signal'; readonly name: SignalName; readonly timeout: number }
  | { readonly kind: 'token'; readonly timeout: number }
  | { readonly kind: 'ask'; readonly timeout: number; readonly told: 'desk' | 'both' }
  | {
      readonly kind: 'remote';
      readonly tool: ToolName;
      readonly timeout: number;
      readonly leave: boolean;
      /** Whether a handler hears of changes of the task; `slowly`: it sleeps after each. */
      readonly hears?: 'at once' | 'slowly' | undefined;
    }
  | { readonly kind: 'child'; readonly close: ParentClose; readonly timeout: number }
  | { readonly kind: 'random' }
  | ServedProgram
  /** Begun, and never awaited. */
  | { readonly kind: 'void'; readonly body: Program }
  | { readonly kind: 'seq' | 'all' | 'race' | 'plainRace'; readonly parts: readonly Program[] }
  /** The first `needed` of its parts. */
  | SomeProgram
  /** Begins the body in a scope, cancels it after that long, and awaits the body. `quits`: does not await it. */
  | { readonly kind: 'scope'; readonly body: Program; readonly after: number; readonly quits: boolean }
  | { readonly kind: 'shield'; readonly body: Program }
  | { readonly kind: 'finally'; readonly body: Program; readonly cleanup: Program }
  /** Catches everything, a cancel too, and continues. */
  | { readonly kind: 'catch'; readonly body: Program; readonly instead: Program }
  /** Books, registers the compensation, and does the rest. */
  | { readonly kind: 'saga'; readonly takes: number; readonly rest: Program }
  | { readonly kind: 'loop'; readonly times: number; readonly body: Program }
  /** The former code does one thing, the later one another where it may. */
  | { readonly kind: 'patched'; readonly old: Program; readonly fresh: Program };

/** What has an effect only in a run that is served. */
export type ServedProgram =
  | { readonly kind: 'progress' }
  | { readonly kind: 'artifact'; readonly of: 'a' | 'b'; readonly append: boolean; readonly last: boolean }
  | { readonly kind: 'askCaller'; readonly timeout: number }
  /** Reads the next message of the caller. */
  | { readonly kind: 'message'; readonly timeout: number }
  | { readonly kind: 'reject' };

export interface SomeProgram {
  readonly kind: 'some';
  readonly needed: number;
  readonly parts: readonly Program[];
}

export interface StepProgram {
  readonly kind: 'step';
  readonly takes: number;
  /** Number of attempts that fail. */
  readonly fails: number;
  /** Every attempt fails, and the failure is rethrown. */
  readonly fatal?: boolean;
  readonly once?: boolean;
  readonly deadline?: number;
  readonly long?: boolean;
  /** Whether it ends when its signal aborts. */
  readonly honours: boolean;
}

export type SignalName = 'x' | 'y';
export type ToolName = 'quick' | 'short' | 'slow' | 'never';
type ParentClose = 'cancel' | 'terminate' | 'abandon';

/** Running time of the task of each tool. */
export const tools: Readonly<Record<ToolName, number>> = { quick: 3, short: 25, slow: 120, never: 1e9 };

/** The parts of one workflow. */
export interface Flow {
  readonly body: Program;
  /** Number of times that it continues as a new run. */
  readonly rounds: number;
  /** Whether it catches a cancel at the outermost place and continues. */
  readonly catches: boolean;
}
