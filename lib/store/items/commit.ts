import type { RunId } from '../../base/ids.js';
import { decodeEvents, encodeEvents } from '../../history/codec.js';
import type { Commit, HistoryEvent } from '../../history/event.js';
import type { Item, Key } from '../table.js';
import { text } from './fields.js';
import { commitKey, seqOf } from './keys.js';
import { decodePayload, encodePayload } from './payload.js';

/** A commit that a turn is about to append. */
export interface NewCommit {
  readonly seq: number;
  /** Fresh for each distinct content: tells a lost acknowledgement of our own write from another turn's commit. */
  readonly writerId: string;
  readonly events: readonly HistoryEvent[];
}

export function commitItem(runId: RunId, commit: NewCommit): Item {
  return {
    ...commitKey(runId, commit.seq),
    writerId: commit.writerId,
    events: encodePayload(encodeEvents(commit.events)),
  };
}

export const toCommit = (item: Item): Commit => ({
  seq: seqOf(item),
  events: decodeEvents(decodePayload(text.read(item, 'events'))),
});

/** Creates a commit of which only the number is known. */
export const emptyCommit = (key: Key): Commit => ({ seq: seqOf(key), events: [] });
