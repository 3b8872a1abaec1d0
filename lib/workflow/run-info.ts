import type { RunId } from '../base/ids.js';

/** What a workflow may know of its own run, `ctx.info`: fixed at the start, so the same on every replay. */
export interface RunInfo {
  readonly runId: RunId;
  /** Name of the workflow. */
  readonly workflow: string;
  /** Version of the workflow when the run started. */
  readonly version: string;
  /** The caller's own id, where the run was started with one. Kept by the run that this one goes on as. */
  readonly id?: string;
  /** Idempotency key of the start, if it had one; of a schedule's run the engine's own. Kept like `id`. */
  readonly key?: string;
  /** Tags of the start; empty if there were none. Kept like `id`. */
  readonly tags: Readonly<Record<string, string>>;
  /** The run that waits for this one as its child. Kept like `id`. */
  readonly parent?: RunParent;
  /** The run that went on as this one. */
  readonly previousRunId?: RunId;
  /**
   * The idempotency key that the server of a remote call is sent, to hand it to another system: in the header
   * `idempotency-key`, and in `_meta` of MCP. With `restart`: that of the latest call. Returns undefined if the call was
   * refused before it was made.
   * @param call The promise that `ctx.callRemoteTask` has returned, not one made of it.
   * @throws EngineError `INPUT_INVALID` for any other value
   */
  idempotencyKeyOf(call: Promise<unknown>): string | undefined;
}

export interface RunParent {
  readonly runId: RunId;
  /** Missing for children that an earlier version of outwait started. */
  readonly workflow?: string;
}
