import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { TokenQuestions, TokenRecord } from '../../history/records.js';
import {
  attemptIs,
  dueStill,
  itemExists,
  noHandle,
  notSettled,
  notTakenBeyond,
  onlyAskedBefore,
} from '../conditions.js';
import { noBadReads, questionAttributes, questionsTaken, tokenFields } from '../items/token.js';
import type { Table } from '../table.js';
import { updateToken } from './update-token.js';

/** Questions of remote servers: from the item, where a read or a start has recorded them, into the history. */
export class Questions {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Records what the task asks now, within the claim of the read that showed it. */
  async record(
    runId: RunId,
    waitId: WaitId,
    asked: {
      readonly claimedDueAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly questions: Pick<TokenQuestions, 'list'>;
      readonly recorded: number;
      readonly trail?: TokenRecord['trail'];
    },
  ): Promise<boolean> {
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: {
        ...questionAttributes(asked.questions, asked.recorded),
        ...tokenFields.write({ dueAtMs: asked.dueAtMs, pollErrors: 0, trail: asked.trail }),
      },
      remove: noBadReads,
      conditions: [notSettled, dueStill(asked.claimedDueAtMs)],
    });
    return ok;
  }

  /** Records what the server asks before it creates a task. Questions of this round or a later one stay. */
  async recordOfStart(
    runId: RunId,
    waitId: WaitId,
    asked: {
      readonly attempt: number;
      readonly questions: Pick<TokenQuestions, 'list' | 'state'> & { readonly round: number };
    },
  ): Promise<TokenRecord | undefined> {
    const { round } = asked.questions;
    const { token } = await updateToken(this.#table, runId, waitId, {
      set: questionAttributes(asked.questions, round),
      conditions: [itemExists, notSettled, noHandle, attemptIs(asked.attempt), onlyAskedBefore(round)],
    });
    return token;
  }

  /** Records that the history has the `recorded`-th recording: a read that sees its questions need not wake the run. */
  async take(runId: RunId, waitId: WaitId, recorded: number): Promise<void> {
    await updateToken(this.#table, runId, waitId, {
      set: questionsTaken(recorded),
      conditions: [itemExists, notTakenBeyond(recorded)],
    });
  }
}
