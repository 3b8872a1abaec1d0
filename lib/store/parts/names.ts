import type { RunHead } from '../../history/records.js';
import type { RunName } from '../../history/start-records.js';
import { generationIs, itemAbsent } from '../conditions.js';
import { headItem } from '../items/head.js';
import { runNameKey } from '../items/keys.js';
import { runNameFields, toRunName } from '../items/run-name.js';
import type { Table } from '../table.js';
import { countStart } from './tenant-counts.js';

/** Ids that callers give to runs; each points to one run at a time. */
export class Names {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Reads the pointer of an id. */
  async read(nameKey: string): Promise<RunName | undefined> {
    const item = await this.#table.get(runNameKey(nameKey));
    return item === undefined ? undefined : toRunName(item);
  }

  /**
   * Puts the head and points the id to it, both or neither. `moved`: the id was pointed elsewhere meanwhile. `full`: more
   * runs of the tenant are live than `liveMax` allows.
   */
  async createRun(
    head: RunHead,
    writerId: string,
    name: { readonly nameKey: string; readonly generation: number; readonly liveMax?: number | undefined },
  ): Promise<'created' | 'moved' | 'full'> {
    const result = await this.#table.transact([
      { kind: 'put', item: headItem(head, writerId), conditions: [itemAbsent] },
      {
        kind: 'update',
        key: runNameKey(name.nameKey),
        set: runNameFields.write({ runId: head.runId, generation: name.generation + 1 }),
        conditions: [name.generation === 0 ? itemAbsent : generationIs(name.generation)],
      },
      ...countStart(head, name.liveMax),
    ]);
    if (result.ok || result.refused[0]?.old?.['writerId'] === writerId) return 'created';
    return result.refused[1] === undefined && result.refused[2] !== undefined ? 'full' : 'moved';
  }
}
