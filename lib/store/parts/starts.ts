import { defined } from '../../base/defined.js';
import type { RunId, WaitId } from '../../base/ids.js';
import { startRoundsMax } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { TokenQuestions, TokenRecord } from '../../history/records.js';
import { attemptIs, itemExists, noHandle, notSettled } from '../conditions.js';
import { marker } from '../items/indexes.js';
import { questionAttributes, tokenFields, workerStartFields, workerStartLeft } from '../items/token.js';
import type { Table } from '../table.js';
import { updateToken } from './update-token.js';

/** Number of the recording of questions that come with the handle: greater than that of any earlier round. */
const afterAllRounds = startRoundsMax + 1;

/** Starts of remote tasks, attempt by attempt, up to the handle that records the start. */
export class Starts {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Claims start attempt `attempt` if the item is at the previous one, without settlement and handle. `workerDueAtMs`:
   * a worker makes the call, and the sweep checks then whether it does.
   */
  async claim(
    runId: RunId,
    waitId: WaitId,
    claim: { readonly attempt: number; readonly writerId: string; readonly workerDueAtMs?: EpochMs },
  ): Promise<{ readonly claimed: boolean; readonly token: TokenRecord | undefined }> {
    const { attempt, writerId, workerDueAtMs } = claim;
    const isHandedOver = workerDueAtMs !== undefined;
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: {
        ...tokenFields.write({ attempt, writerId }),
        ...workerStartFields.write({ attempt: isHandedOver ? attempt : undefined }),
        ...marker(runId, workerDueAtMs),
      },
      ...defined({ remove: isHandedOver ? workerStartLeft : undefined }),
      conditions: [itemExists, notSettled, noHandle, attemptIs(attempt - 1)],
    });
    return { claimed: ok, token };
  }

  /**
   * Stores the handle, which records the start, if there is no settlement. `onlyWithoutHandle` is for a task that was
   * looked for: a handle from a reply to the start is more reliable.
   */
  async storeHandle(
    runId: RunId,
    waitId: WaitId,
    started: {
      readonly handle: RemoteTaskHandle;
      readonly startedAtMs: EpochMs;
      readonly dueAtMs: EpochMs;
      readonly pollHintMs?: number;
      /** Questions that the task has already. */
      readonly questions?: Pick<TokenQuestions, 'list'>;
      /** First state of the task, if the reply shows it. */
      readonly trail?: TokenRecord['trail'];
      readonly onlyWithoutHandle?: boolean;
    },
  ): Promise<{ readonly stored: boolean; readonly token: TokenRecord | undefined }> {
    const { handle, startedAtMs, dueAtMs, pollHintMs, questions, trail } = started;
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: {
        ...tokenFields.write({ handle, startedAtMs, pollHintMs, trail }),
        ...questionAttributes(questions, afterAllRounds),
        ...marker(runId, dueAtMs),
      },
      conditions: [itemExists, notSettled, ...(started.onlyWithoutHandle === true ? [noHandle] : [])],
    });
    return { stored: ok, token };
  }
}
