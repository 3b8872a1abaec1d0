import { defined } from '../../base/defined.js';
import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { TokenRecord } from '../../history/records.js';
import { dueStill, itemExists, notProgressTakenBeyond, notPushed, notSettled } from '../conditions.js';
import { noBadReads, tokenFields } from '../items/token.js';
import type { Table } from '../table.js';
import { updateToken } from './update-token.js';

/** Reads of remote tasks: each is claimed before it is made, and records what it taught within its claim. */
export class Polls {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Moves the due instant of a token forward for a read, if it is as it was read and there is no settlement. */
  async claim(
    runId: RunId,
    waitId: WaitId,
    claim: { readonly seenDueAtMs: EpochMs; readonly dueAtMs: EpochMs },
  ): Promise<{ readonly claimed: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write({ dueAtMs: claim.dueAtMs }),
      conditions: [notSettled, dueStill(claim.seenDueAtMs)],
    });
    return { claimed: ok, token };
  }

  /**
   * Records the first push of a server about an open wait; the marker stays. Returns true if this call recorded it.
   * Nothing depends on which of two pushes did.
   */
  async notePush(runId: RunId, waitId: WaitId, pushedAtMs: EpochMs): Promise<boolean> {
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write({ pushedAtMs }),
      conditions: [itemExists, notSettled, notPushed],
    });
    return ok;
  }

  /**
   * Records that the history has the changes up to number `taken`: a read need not wake the run for them any more.
   */
  async takeProgress(runId: RunId, waitId: WaitId, taken: number): Promise<void> {
    await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write({ progressTaken: taken }),
      conditions: [itemExists, notProgressTakenBeyond(taken)],
    });
  }

  /** Records what a read taught, within the claim: a changed hint or time to live, a failure, bad reads or none. */
  async record(
    runId: RunId,
    waitId: WaitId,
    poll: {
      readonly claimedDueAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly pollErrors: number;
      readonly pollHintMs?: number;
      readonly ttlMs?: number;
      readonly trail?: TokenRecord['trail'];
      /** Left out if there are none any more. */
      readonly sightings?: TokenRecord['sightings'];
    },
  ): Promise<boolean> {
    const { claimedDueAtMs, ...learned } = poll;
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: tokenFields.write(learned),
      ...defined({ remove: poll.sightings === undefined ? noBadReads : undefined }),
      conditions: [notSettled, dueStill(claimedDueAtMs)],
    });
    return ok;
  }
}
