import pLimit from 'p-limit';
import { isUnreadable } from '../../base/errors.js';
import type { RunId, WaitId } from '../../base/ids.js';
import type { Commit } from '../../history/event.js';
import type { InboxRecord, RunHead, RunRecords, TokenRecord } from '../../history/records.js';
import { emptyCommit, toCommit } from '../items/commit.js';
import { callbackAttributes, headAttributesWithoutPayloads, toCallback, toHead } from '../items/head.js';
import { inboxAttributesWithoutPayloads, toInbox } from '../items/inbox.js';
import { commitKey, commitPrefix, headKey, headSk, inboxKey, inboxPrefix } from '../items/keys.js';
import { partitionOf, tokenKey, tokenPrefix } from '../items/keys.js';
import { tokenAttributesWithoutPayloads, toToken } from '../items/token.js';
import type { Item, Key, Table } from '../table.js';

/** Concurrent reads or puts of items of one run, each a separate request. */
const readsInParallel = 16;

/** Everything that a run has in its partition. No read is a snapshot. */
export class Runs {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Reads the partition in one consistent query, paged. Returns undefined for an unknown run. */
  async read(runId: RunId): Promise<RunRecords | undefined> {
    return toRecords(await this.#table.queryPartition(partitionOf(runId)));
  }

  /**
   * Reads what is newer than commit `seq`, in parallel: the current head, later commits, and of tokens and inbox those
   * of `named`, or all. Returns undefined for an unknown run.
   */
  async readAfter(
    runId: RunId,
    seq: number,
    named?: readonly ({ readonly waitId: WaitId } | { readonly inboxId: string })[],
  ): Promise<RunRecords | undefined> {
    const keys = (named ?? []).map((one) =>
      'waitId' in one ? tokenKey(runId, one.waitId) : inboxKey(runId, one.inboxId),
    );
    const [newer, ...single] = await Promise.all([
      this.#table.queryPartition(
        partitionOf(runId),
        named === undefined ? undefined : commitPrefix,
        commitKey(runId, seq).sk,
      ),
      ...[headKey(runId), ...keys].map((key) => this.#table.get(key)),
    ]);
    return toRecords([...single.filter((item) => item !== undefined), ...newer]);
  }

  /**
   * Reads as much as possible of a run that is partly unreadable: unreadable commits come back empty, other items
   * without their payloads. A settlement that cannot be read counts as that of an abandoned wait.
   */
  async readWhatCanBe(runId: RunId): Promise<RunRecords | undefined> {
    const pk = partitionOf(runId);
    const headItem = await this.#table.get(headKey(runId), headAttributesWithoutPayloads);
    if (headItem === undefined) return undefined;
    const commitKeys = await this.#table.queryPartition(pk, commitPrefix, undefined, []);
    const plainTokens = await this.#table.queryPartition(pk, tokenPrefix, undefined, tokenAttributesWithoutPayloads);
    const limit = pLimit(readsInParallel);
    /** Reads the record at a key; undefined if this deployment cannot read it. */
    const readable = <Value>(key: Key, toRecord: (item: Item) => Value): Promise<Value | undefined> =>
      orUnreadable(limit(() => this.#table.get(key)).then((item) => item && toRecord(item)));
    const commits = await Promise.all(
      commitKeys.map(async (key) => (await readable(key, toCommit)) ?? emptyCommit(key)),
    );
    const tokens = await Promise.all(
      plainTokens.map(async (plain) => (await readable(plain, toToken)) ?? toToken(plain)),
    );
    const inbox = await this.#table.queryPartition(pk, inboxPrefix, undefined, inboxAttributesWithoutPayloads);
    const callback = await orUnreadable(
      this.#table.get(headKey(runId), callbackAttributes).then((item) => item && toCallback(item)),
    );
    return { head: { ...toHead(headItem), ...callback }, commits, tokens, inbox: inbox.map(toInbox) };
  }
}

function toRecords(found: readonly Item[]): RunRecords | undefined {
  let head: RunHead | undefined;
  const commits: Commit[] = [];
  const tokens: TokenRecord[] = [];
  const inbox: InboxRecord[] = [];
  for (const item of found) {
    if (item.sk === headSk) head = toHead(item);
    else if (item.sk.startsWith(commitPrefix)) commits.push(toCommit(item));
    else if (item.sk.startsWith(tokenPrefix)) tokens.push(toToken(item));
    else if (item.sk.startsWith(inboxPrefix)) inbox.push(toInbox(item));
  }
  return head === undefined ? undefined : { head, commits, tokens, inbox };
}

async function orUnreadable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}
