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

/** What an answer to a person's question is sent to. */
export function inputIdOf(runId: RunId, waitId: WaitId): string {
  return `${runId}.${waitId}`;
}

/** Where ids and jitter come from; handed in, so that a simulator can drive it. */
export interface Random {
  /** `count` random bytes in lower-case hex. */
  hex(count: number): string;
  /** Uniform in [0, 1). */
  fraction(): number;
}

/** Idempotency key of a step: the same for every attempt, different for every other step. */
export function stepKeyOf(runId: RunId, waitId: WaitId): string {
  return `${runId}/${waitId}`;
}

/**
 * Idempotency key of a remote call: the same for every attempt, different for every other call. A digest, since the
 * remote server has no business knowing the run id, which may itself be a task id elsewhere. `digest`: SHA-256 in hex.
 */
export function remoteKeyOf(runId: RunId, waitId: WaitId, digest: (text: string) => string): string {
  return digest(`remote call ${runId}/${waitId}`).slice(0, 40);
}
