/** 128 random bits in lower-case hex. Must not be guessable: it is also the task id when a run is served as a task. */
export type RunId = string;
/** Number of a wait in the order of the workflow's requests: `1`, `2`, `3` … The same on every replay. */
export type WaitId = string;

const runIdPattern = /^[0-9a-f]{32}$/;
const waitIdPattern = /^[1-9][0-9]{0,8}$/;

export function isRunId(text: string): boolean {
  return runIdPattern.test(text);
}

export function isWaitId(text: string): boolean {
  return waitIdPattern.test(text);
}

/** Returns the id under which a question to a person is answered. */
export function inputIdOf(runId: RunId, waitId: WaitId): string {
  return `${runId}.${waitId}`;
}

/** Source of ids and jitter; injected, so that a simulator can drive it. */
export interface Random {
  /** Returns `count` random bytes in lower-case hex. */
  hex(count: number): string;
  /** Returns a number that is uniform in [0, 1). */
  fraction(): number;
}

/** Returns the idempotency key of a step: the same for every attempt, different for every other step. */
export function stepKeyOf(runId: RunId, waitId: WaitId): string {
  return `${runId}/${waitId}`;
}

/**
 * Returns the idempotency key of a remote call: the same for every attempt, different for every other call. A digest,
 * since the remote server must not learn the run id, which may be a task id elsewhere. `digest`: SHA-256 in hex.
 */
export function remoteKeyOf(runId: RunId, waitId: WaitId, digest: (text: string) => string): string {
  return digest(`remote call ${runId}/${waitId}`).slice(0, 40);
}
