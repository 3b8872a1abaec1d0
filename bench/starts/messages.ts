/** Orders to the program `outside-program.ts`. */
export type Order = StartOrder | { readonly kind: 'count' } | { readonly kind: 'release' };

export interface StartOrder {
  readonly kind: 'start';
  /** URL of the engine. */
  readonly engine: string;
  /** Name of the server that each run calls. */
  readonly server: string;
  readonly count: number;
  /** Beginning of the keys of the runs. */
  readonly name: string;
  /** Milliseconds from one start to the next. Default: each follows the response to the one before. */
  readonly eachMs?: number;
}

/** Reports of the program. */
export type Report =
  | { readonly kind: 'listening'; readonly port: number }
  /** Every run has reached its agent. */
  | { readonly kind: 'started'; readonly runs: readonly StartedRun[] }
  /** Starts that an agent has received and not answered. */
  | { readonly kind: 'counted'; readonly waiting: number };

export interface StartedRun {
  readonly key: string;
  /** When the run was requested and when its call reached the agent; `nowMs` of this machine. */
  readonly begunAtMs: number;
  readonly calledAtMs: number;
}

/** Returns milliseconds on a clock that the processes of this machine share. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
