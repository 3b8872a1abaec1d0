import type { RunId } from '../base/ids.js';

/** Facts about the workflow's own run, `ctx.info`: fixed at the start, so the same on every replay. */
export interface RunInfo {
  readonly runId: RunId;
  /** Name of the workflow. */
  readonly workflow: string;
  /** Version of the workflow when the run started. */
  readonly version: string;
  /** The caller's own id, if the run was started with one. Runs that continue this one keep it. */
  readonly id?: string;
  /** Idempotency key of the start, if any; runs of a schedule have one that the engine sets. Kept like `id`. */
  readonly key?: string;
  /** Tags of the start; empty if none were given. Kept like `id`. */
  readonly tags: Readonly<Record<string, string>>;
  /** Id of the caller who started the run or its first ancestor. Missing if the start had no named caller. Kept like `id`. */
  readonly owner?: string;
  /** The tenant that the run belongs to, if any. Children of the run belong to it too. Kept like `id`. */
  readonly tenant?: string;
  /** The run that started this one as its child. Kept like `id`. */
  readonly parent?: RunParent;
  /** The run that this one continues (`ctx.continueAsNew`). */
  readonly previousRunId?: RunId;
  /**
   * Returns the idempotency key that is sent to the server of a remote call (header `idempotency-key`, and `_meta` in
   * MCP), so that you can pass it to another system. With `restart`: the key of the latest call. Returns undefined if
   * the call was refused before it was made.
   * @param call The promise that `ctx.callRemoteTask` returned, not one derived from it.
   * @throws EngineError `INPUT_INVALID` for any other value
   */
  idempotencyKeyOf(call: Promise<unknown>): string | undefined;
}

/** The parent of a child run. */
export interface RunParent {
  readonly runId: RunId;
  /** Name of the parent's workflow. Missing if an earlier version of outwait started the child. */
  readonly workflow?: string;
}
