import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RunOutcome } from '../../history/event.js';
import type { RunHead } from '../../history/records.js';
import type { TaskHint } from '../../history/task-content.js';
import { inboxCountIs, itemAbsent, itemExists, statusIs } from '../conditions.js';
import { commitItem, type NewCommit } from '../items/commit.js';
import { headFields, failureAttributes, hintAttributes } from '../items/head.js';
import { type ListedRun, marker, runListing } from '../items/indexes.js';
import { commitPrefix, headKey, partitionOf } from '../items/keys.js';
import type { Item, Table, Update } from '../table.js';
import { countEnd } from './tenant-counts.js';

/** State that the head must still have for a commit that fixes the outcome, so that no request goes unseen. */
export type HeadAsSeen = { readonly status: 'running'; readonly inboxCount: number } | { readonly status: 'ending' };

/** Commits of runs. Only turns write them; a put if absent is the compare-and-swap of the run. */
export class Log {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Appends commit `seq` to the log if it does not exist. Returns false if another turn was first. */
  async commit(runId: RunId, commit: NewCommit): Promise<boolean> {
    const result = await this.#table.write({ kind: 'put', item: commitItem(runId, commit), conditions: [itemAbsent] });
    return result.ok || wroteIt(result.old, commit);
  }

  /**
   * Appends a commit with `RunEnding` and closes the inbox, if no signal, cancel or terminate came meanwhile. From here
   * on the head names the successor, if there is one: requests to this run go to that one.
   */
  async commitEnding(runId: RunId, commit: NewCommit, inboxCount: number, outcome: RunOutcome): Promise<boolean> {
    return this.#commitWithHead(runId, commit, {
      set: headFields.write({ status: 'ending', dueSeq: commit.seq, nextRunId: nextRunIn(outcome) }),
      conditions: [itemExists, statusIs('running'), inboxCountIs(inboxCount)],
    });
  }

  /**
   * Appends the terminal commit and gives the head its final status. `markAtMs` keeps the head in the due index until
   * the end effects are done; leave it out only if another marker of the run is set.
   */
  async commitEnd(
    run: ListedRun & Pick<RunHead, 'counted' | 'counters' | 'task'>,
    commit: NewCommit,
    end: {
      readonly outcome: RunOutcome;
      readonly endedAtMs: EpochMs;
      readonly seen: HeadAsSeen;
      readonly markAtMs?: EpochMs;
      /** Status with which a served task ends. */
      readonly taskHint?: TaskHint | undefined;
    },
  ): Promise<boolean> {
    const { outcome, endedAtMs, seen } = end;
    const head = {
      set: {
        ...headFields.write({
          status: outcome.status,
          nextRunId: nextRunIn(outcome),
          endedAtMs,
          dueSeq: commit.seq,
        }),
        ...runListing(run, outcome.status),
        ...marker(run.runId, end.markAtMs),
        ...hintAttributes(run, end.taskHint),
      },
      remove: failureAttributes,
      conditions: [
        itemExists,
        statusIs(seen.status),
        ...(seen.status === 'running' ? [inboxCountIs(seen.inboxCount)] : []),
      ],
    };
    // The next run of a chain is counted in the place of this one.
    return this.#commitWithHead(run.runId, commit, head, outcome.status === 'continued' ? [] : countEnd(run));
  }

  async #commitWithHead(
    runId: RunId,
    commit: NewCommit,
    head: Omit<Update, 'kind' | 'key'>,
    others: readonly Update[] = [],
  ): Promise<boolean> {
    const result = await this.#table.transact([
      { kind: 'put', item: commitItem(runId, commit), conditions: [itemAbsent] },
      { kind: 'update', key: headKey(runId), ...head },
      ...others,
    ]);
    return result.ok || wroteIt(result.refused[0]?.old, commit);
  }

  /** Returns the number of the last commit, whether it can be read or not. */
  async readLastSeq(runId: RunId): Promise<number> {
    const found = await this.#table.queryPartition(partitionOf(runId), commitPrefix, undefined, []);
    return found.length;
  }
}

/** Returns true if the existing item is our own: the acknowledgement was lost and the SDK sent the same bytes again. */
function wroteIt(old: Item | undefined, commit: NewCommit): boolean {
  return old?.['writerId'] === commit.writerId;
}

function nextRunIn(outcome: RunOutcome): RunId | undefined {
  return outcome.status === 'continued' ? outcome.nextRunId : undefined;
}
