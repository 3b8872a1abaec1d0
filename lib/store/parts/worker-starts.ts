import type { StoredError } from '../../base/errors.js';
import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { TokenRecord, WorkerStart } from '../../history/records.js';
import {
  attemptIs,
  dueStill,
  noHandle,
  nothingCame,
  notSettled,
  workerAttemptIs,
  workerClaimIs,
} from '../conditions.js';
import { marker } from '../items/indexes.js';
import { tokenFields, workerStartFields } from '../items/token.js';
import type { Table } from '../table.js';
import { updateToken } from './update-token.js';

/** Start attempts that a worker makes, outside of turns: the lease of its call, and what it leaves for a turn. */
export class WorkerStarts {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Begins the call of an attempt that a worker makes, if it is as it was read: due at `seenDueAtMs`, without
   * settlement and handle. `untilMs`: until when the worker counts as alive; `dueAtMs`: when the sweep looks again.
   */
  async claim(
    runId: RunId,
    waitId: WaitId,
    claim: {
      readonly attempt: number;
      readonly seenDueAtMs: EpochMs;
      readonly writerId: string;
      readonly untilMs: EpochMs;
      readonly dueAtMs: EpochMs;
    },
  ): Promise<{ readonly claimed: boolean; readonly token: TokenRecord | undefined }> {
    const { attempt, seenDueAtMs, writerId, untilMs, dueAtMs } = claim;
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: { ...workerStartFields.write({ claim: writerId, untilMs }), ...tokenFields.write({ dueAtMs }) },
      conditions: [notSettled, noHandle, attemptIs(attempt), workerAttemptIs(attempt), dueStill(seenDueAtMs)],
    });
    return { claimed: ok || token?.workerStart?.claim === writerId, token };
  }

  /**
   * Records the result of an attempt under `claim` for a turn, which alone may act on it; due at once. The first record
   * stands: if a worker was taken for dead, that is the record of the one that found it so.
   */
  async record(
    runId: RunId,
    waitId: WaitId,
    start: { readonly claim: string; readonly came: NonNullable<WorkerStart['came']>; readonly dueAtMs: EpochMs },
  ): Promise<TokenRecord | undefined> {
    const { claim, came, dueAtMs } = start;
    const { token } = await updateToken(this.#table, runId, waitId, {
      set: { ...workerStartFields.write({ came }), ...marker(runId, dueAtMs) },
      conditions: [
        notSettled,
        noHandle,
        attemptIs(came.attempt),
        workerAttemptIs(came.attempt),
        workerClaimIs(claim),
        nothingCame,
      ],
    });
    return token;
  }

  /** Moves the due instant of a worker's attempt, if it is as it was read; `held`: why the attempt has to wait. */
  async move(
    runId: RunId,
    waitId: WaitId,
    move: { readonly seenDueAtMs: EpochMs; readonly dueAtMs: EpochMs; readonly held?: StoredError },
  ): Promise<boolean> {
    const { seenDueAtMs, dueAtMs, held } = move;
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: { ...tokenFields.write({ dueAtMs }), ...workerStartFields.write({ held }) },
      conditions: [notSettled, dueStill(seenDueAtMs)],
    });
    return ok;
  }
}
