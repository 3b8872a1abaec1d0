import type { RunId } from '../../base/ids.js';
import type { InboxRecord, RunGlance, RunHead } from '../../history/records.js';
import { itemAbsent, itemExists } from '../conditions.js';
import { accessAttributes, glanceAttributes, headFields, headItem, toAccess, toGlance, toHead } from '../items/head.js';
import { inboxItem } from '../items/inbox.js';
import { headKey } from '../items/keys.js';
import type { Table } from '../table.js';
import { type Cap, countStart, fullCap } from './tenant-counts.js';

/** Heads of runs, except for their markers: the creation of runs, and what their heads say. */
export class Heads {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Puts the head if absent: the run exists from then on. `created: false` comes with the existing head. */
  async create(head: RunHead, writerId: string): Promise<{ readonly created: boolean; readonly head: RunHead }> {
    const result = await this.#table.write({
      kind: 'put',
      item: headItem(head, writerId),
      conditions: [itemAbsent],
    });
    if (result.ok) return { created: true, head };
    if (result.old === undefined) throw new Error('the store refused a put of an absent item');
    return { created: result.old['writerId'] === writerId, head: toHead(result.old) };
  }

  /**
   * Puts the head, and with it a first signal and the counts of a live run, all or nothing. `created: false` comes with
   * the existing head; without one, `full` is the cap that is reached, or more runs of the tenant are live than `liveMax`
   * allows.
   */
  async createWith(
    head: RunHead,
    writerId: string,
    {
      signal,
      liveMax,
      caps = [],
    }: {
      readonly signal?: InboxRecord;
      readonly liveMax?: number | undefined;
      readonly caps?: readonly Cap[] | undefined;
    },
  ): Promise<{ readonly created: boolean; readonly head: RunHead | undefined; readonly full?: Cap | undefined }> {
    const inboxCount = signal === undefined ? 0 : 1;
    const result = await this.#table.transact([
      { kind: 'put', item: headItem({ ...head, inboxCount }, writerId), conditions: [itemAbsent] },
      ...(signal === undefined
        ? []
        : [{ kind: 'put' as const, item: inboxItem({ ...signal, position: 0 }), conditions: [itemAbsent] }]),
      ...countStart(head, liveMax, caps),
    ]);
    if (result.ok) return { created: true, head };
    const old = result.refused[0]?.old;
    if (old !== undefined) return { created: old['writerId'] === writerId, head: toHead(old) };
    const full = fullCap(result, caps);
    if (full === undefined && liveMax === undefined) throw new Error('the store refused a put of absent items');
    return { created: false, head: undefined, full };
  }

  async read(runId: RunId): Promise<RunHead | undefined> {
    const item = await this.#table.get(headKey(runId));
    return item === undefined ? undefined : toHead(item);
  }

  /** Reads the head without its payloads. */
  async glance(runId: RunId): Promise<RunGlance | undefined> {
    const item = await this.#table.get(headKey(runId), glanceAttributes);
    return item === undefined ? undefined : toGlance(item);
  }

  /** Reads whose run it is. */
  async readAccess(runId: RunId): Promise<Pick<RunHead, 'owner' | 'tenant'> | undefined> {
    const item = await this.#table.get(headKey(runId), accessAttributes);
    return item === undefined ? undefined : toAccess(item);
  }

  /** Stores on the head of a continued run that its chain has got to `laterRunId`. */
  async setLaterRun(runId: RunId, laterRunId: RunId): Promise<void> {
    const set = headFields.write({ laterRunId });
    await this.#table.write({ kind: 'update', key: headKey(runId), set, conditions: [itemExists] });
  }
}
