import type { WaitId } from '../../base/ids.js';
import type { Commit } from '../../history/event.js';
import type { LifecycleEvent } from '../../history/lifecycle-event.js';
import type { RunState } from '../../history/run-state.js';
import type { Execution } from '../../replay/execution.js';
import type { InboxRecord, RunHead, RunRecords, TokenRecord } from '../../history/records.js';

/** What a pass over a run begins with. */
export interface KnownRun {
  readonly head: RunHead;
  readonly state: RunState;
  readonly tokens: Map<WaitId, TokenRecord>;
  readonly inbox: Map<string, InboxRecord>;
  /** The workflow where the log ends, if this process has it; it reads from the maps above. */
  readonly execution?: Execution;
  /** Else the log, to lead it there. */
  readonly commits: readonly Commit[];
  /** Lifecycle events that are still to be published; undefined when the run tells nobody. */
  readonly unpublished: readonly LifecycleEvent[] | undefined;
}

export function knownRun(
  { head, commits, tokens, inbox }: RunRecords,
  state: RunState,
  unpublished: KnownRun['unpublished'],
): KnownRun {
  return {
    head,
    state,
    unpublished,
    tokens: new Map(tokens.map((token) => [token.waitId, token])),
    inbox: new Map(inbox.map((item) => [item.inboxId, item])),
    commits,
  };
}
