import type { ScheduleState } from '../../history/records.js';
import { neverSaved, revisionIs } from '../conditions.js';
import { scheduleKey } from '../items/keys.js';
import { scheduleItem, toSchedule } from '../items/schedule.js';
import type { Table } from '../table.js';

/** States of schedules. */
export class Schedules {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(name: string): Promise<ScheduleState> {
    const item = await this.#table.get(scheduleKey(name));
    return item === undefined ? { revision: 0 } : toSchedule(item);
  }

  /**
   * Puts a state that was made from revision `revision`, and returns it with its own revision. Returns undefined if
   * another one was put meanwhile, even by an earlier attempt of this very write.
   */
  async save(name: string, state: ScheduleState): Promise<ScheduleState | undefined> {
    const next = { ...state, revision: state.revision + 1 };
    const { ok } = await this.#table.write({
      kind: 'put',
      item: scheduleItem(name, next),
      conditions: [state.revision === 0 ? neverSaved : revisionIs(state.revision)],
    });
    return ok ? next : undefined;
  }
}
