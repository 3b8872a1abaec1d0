import type { RunId, WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { LongStepRecord } from '../../history/records.js';
import { dueStill, notSettled, writerIs } from '../conditions.js';
import { longStepFields, tokenFields } from '../items/token.js';
import type { Table } from '../table.js';
import { updateToken } from './update-token.js';

/** Attempts of long steps, each under the writer id of its worker's claim. */
export class LongSteps {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Begins an attempt of a long step if the step is as it was read: due at `seenDueAtMs` and not settled.
   * `leaseUntilMs`: until when the worker counts as alive.
   */
  async claim(
    runId: RunId,
    waitId: WaitId,
    attempt: {
      readonly seenDueAtMs: EpochMs;
      readonly writerId: string;
      readonly strikes: number;
      readonly atMs: EpochMs;
      readonly leaseUntilMs: EpochMs;
    },
  ): Promise<boolean> {
    const { writerId, strikes, atMs, leaseUntilMs } = attempt;
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: {
        ...tokenFields.write({ writerId, dueAtMs: leaseUntilMs }),
        ...longStepFields.write({ strikes, sinceMs: atMs }),
      },
      conditions: [notSettled, dueStill(attempt.seenDueAtMs)],
    });
    return ok || token?.writerId === attempt.writerId;
  }

  /**
   * Renews the lease of a claim and stores the progress. Returns false if another claim holds or the wait is settled.
   */
  async beat(
    runId: RunId,
    waitId: WaitId,
    beat: { readonly writerId: string; readonly leaseUntilMs: EpochMs; readonly progress?: JsonValue },
  ): Promise<boolean> {
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: {
        ...tokenFields.write({ dueAtMs: beat.leaseUntilMs }),
        ...longStepFields.write({ progress: beat.progress }),
      },
      conditions: [notSettled, writerIs(beat.writerId)],
    });
    return ok;
  }

  /**
   * Records that the attempt of a claim failed and when the next one is due. The writer id is fresh, so that a late
   * beat does not put it off.
   */
  async recordFailure(
    runId: RunId,
    waitId: WaitId,
    failure: {
      readonly claim: string;
      readonly writerId: string;
      readonly step: LongStepRecord;
      readonly dueAtMs: EpochMs;
    },
  ): Promise<boolean> {
    const { claim, ...failed } = failure;
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write(failed),
      conditions: [notSettled, writerIs(claim)],
    });
    return ok || token?.writerId === failure.writerId;
  }

  /** Moves the due instant of the next attempt of a long step, if the step is as it was read. */
  async move(
    runId: RunId,
    waitId: WaitId,
    move: { readonly seenDueAtMs: EpochMs; readonly dueAtMs: EpochMs },
  ): Promise<boolean> {
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write({ dueAtMs: move.dueAtMs }),
      conditions: [notSettled, dueStill(move.seenDueAtMs)],
    });
    return ok;
  }
}
