import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { InboxRecord } from '../../history/records.js';
import { dueStill, itemAbsent, itemExists, statusIs } from '../conditions.js';
import { inboxItem, inboxAttributesWithoutPayloads, toInbox } from '../items/inbox.js';
import { headKey, inboxKey, inboxPrefix, partitionOf } from '../items/keys.js';
import type { Item, Table } from '../table.js';
import { clearMarker } from './clear-marker.js';

/** Requests to runs from outside, on which their turns act. */
export class Inbox {
  readonly #table: Table;
  /** Number of requests that this process has sent to inboxes. */
  #sentCount = 0;

  constructor(table: Table) {
    this.#table = table;
  }

  /**
   * Accepts a request if the run is running; a known one stays accepted and has no effect. Its `position` is the count
   * of requests that its sender read on the head before: a transaction does not return the number that it was given.
   */
  async put(record: InboxRecord): Promise<'accepted' | 'known' | 'reused' | 'run_not_found' | 'run_ended'> {
    const result = await this.#table.transact([
      {
        kind: 'update',
        key: headKey(record.runId),
        increment: { inboxCount: 1 },
        conditions: [itemExists, statusIs('running')],
      },
      { kind: 'put', item: inboxItem({ ...record, order: ++this.#sentCount }), conditions: [itemAbsent] },
    ]);
    if (result.ok) return 'accepted';
    const [head, inbox] = result.refused;
    if (inbox !== undefined) return knownAs(inbox.old, record);
    if (head?.old === undefined) return 'run_not_found';
    return (await this.known(record)) ?? 'run_ended';
  }

  /** Returns whether a request with that id exists; `reused`: it was sent with other content. */
  async known(record: InboxRecord): Promise<'known' | 'reused' | undefined> {
    const known = await this.#table.get(inboxKey(record.runId, record.inboxId), ['kind', 'sentDigest']);
    return known === undefined ? undefined : knownAs(known, record);
  }

  /**
   * Puts a request to a run whose head is put next, with an `inboxCount` that counts it and a marker that covers it.
   */
  async seed(record: InboxRecord): Promise<void> {
    await this.#table.write({ kind: 'put', item: inboxItem(withoutMarker(record)), conditions: [itemAbsent] });
  }

  async has(runId: RunId, inboxId: string): Promise<boolean> {
    return (await this.#table.get(inboxKey(runId, inboxId), ['kind'])) !== undefined;
  }

  async readAll(runId: RunId): Promise<readonly InboxRecord[]> {
    return (await this.#table.queryPartition(partitionOf(runId), inboxPrefix)).map(toInbox);
  }

  /** Reads the requests of a run, without their payloads, in the order of their ids. */
  async readKinds(runId: RunId): Promise<readonly InboxRecord[]> {
    const found = await this.#table.queryPartition(
      partitionOf(runId),
      inboxPrefix,
      undefined,
      inboxAttributesWithoutPayloads,
    );
    return found.map(toInbox);
  }

  async clearMarker(runId: RunId, inboxId: string, seenDueAtMs: EpochMs): Promise<void> {
    await clearMarker(this.#table, inboxKey(runId, inboxId), [dueStill(seenDueAtMs)]);
  }
}

/** Compares a request with the existing one. Older items do not have the digest of what was sent. */
function knownAs(old: Item | undefined, { sentDigest }: InboxRecord): 'known' | 'reused' {
  const known = old?.['sentDigest'];
  return known === undefined || sentDigest === undefined || known === sentDigest ? 'known' : 'reused';
}

function withoutMarker(record: InboxRecord): InboxRecord {
  const { dueAtMs, ...rest } = record;
  return dueAtMs === undefined ? record : rest;
}
