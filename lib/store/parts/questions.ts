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

/** The questions of remote servers, from the item that a read or a start has put them on into the history. */
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
    },
  ): Promise<boolean> {
    const { ok } = await updateToken(this.#table, runId, waitId, {
      set: {
        ...questionAttributes(asked.questions, asked.recorded),
        ...tokenFields.write({ dueAtMs: asked.dueAtMs, pollErrors: 0 }),
      },
      remove: noBadReads,
      conditions: [notSettled, dueStill(asked.claimedDueAtMs)],
    });
    return ok;
  }

  /** Records what the server asks before it makes a task, unless it has asked as often before: then the old questions stand. */
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

  /** Notes that the history has the questions of the `recorded`-th recording: whoever sees them on the item need not wake the run. */
  async take(runId: RunId, waitId: WaitId, recorded: number): Promise<void> {
    await updateToken(this.#table, runId, waitId, {
      set: questionsTaken(recorded),
      conditions: [itemExists, notTakenBeyond(recorded)],
    });
  }
}
