import { defined } from '../../base/defined.js';
import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { RemoteCancel, TokenRecord } from '../../history/records.js';
import { dueStill, isSettled, itemExists, noHandle } from '../conditions.js';
import { listAttributes, marker, orphanListing } from '../items/indexes.js';
import { tokenFields } from '../items/token.js';
import type { Table } from '../table.js';
import { updateToken } from './update-token.js';

/** Remote tasks of closed waits: they are not wanted any more, and may be running. */
export class UnwantedTasks {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Leaves the handle of an unwanted task on the closed item: with a marker at `atMs`, so that the run's end effects
   * cancel the task, or listed as an orphan. Returns the current token.
   */
  async leaveHandle(
    runId: RunId,
    waitId: WaitId,
    handle: RemoteTaskHandle,
    left: { readonly atMs: EpochMs; readonly forCancel: boolean },
  ): Promise<TokenRecord | undefined> {
    const { atMs, forCancel } = left;
    const { token } = await updateToken(this.#table, runId, waitId, {
      set: {
        ...tokenFields.write({ handle, startedAtMs: atMs, leftAtMs: forCancel ? atMs : undefined }),
        ...(forCancel ? marker(runId, atMs) : orphanListing(runId, waitId, atMs)),
      },
      conditions: [itemExists, isSettled],
    });
    return token;
  }

  /**
   * Claims the search for the task of a closed wait until `untilMs`, when its marker is due again, if the marker is as
   * it was read and no handle was stored.
   */
  async claimLook(
    runId: RunId,
    waitId: WaitId,
    { seenDueAtMs, untilMs }: { readonly seenDueAtMs: EpochMs; readonly untilMs: EpochMs },
  ): Promise<boolean> {
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write({ lookUntilMs: untilMs, dueAtMs: untilMs }),
      conditions: [itemExists, isSettled, noHandle, dueStill(seenDueAtMs)],
    });
    return ok;
  }

  /** Records the result of an operator's request to cancel the remote task of a closed wait. */
  async recordCancel(runId: RunId, waitId: WaitId, cancel: RemoteCancel): Promise<void> {
    await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write({ cancel }),
      ...defined({ remove: cancel.kind === 'sent' ? listAttributes : undefined }),
      conditions: [itemExists, isSettled],
    });
  }
}
