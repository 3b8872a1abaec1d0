/** 128 bits in lower-case hex. Also the task id when a run is served as a task, so it must not be guessable. */
export type RunId = string;
/** Position of a wait in the order in which the workflow asked for it: `1`, `2`, `3` … The same on every replay. */
export type WaitId = string;

const runIdPattern = /^[0-9a-f]{32}$/;
const waitIdPattern = /^[1-9][0-9]{0,8}$/;

export function isRunId(text: string): boolean {
  return runIdPattern.test(text);
}

export function isWaitId(text: string): boolean {
  return waitIdPattern.test(text);
}

/** Where ids and jitter come from; handed in, so that a simulator can drive it. */
export interface Random {
  /** `count` random bytes in lower-case hex. */
  hex(count: number): string;
  /** Uniform in [0, 1). */
  fraction(): number;
}

/** The same for every attempt of one remote call or step, different for every other; at most 255 characters. */
export function idempotencyKeyOf(runId: RunId, waitId: WaitId): string {
  return `${runId}/${waitId}`;
}
