// Where the items of a run and what belongs to it are: the words of their keys are stored.

import type { RunId, WaitId } from '../../base/ids.js';
import type { Item, Key } from '../table.js';

export const headSk = 'a';
export const commitPrefix = 'h#';
export const inboxPrefix = 'i#';
export const tokenPrefix = 't#';
const runPrefix = 'run#';

export const partitionOf = (runId: RunId): string => runPrefix + runId;
/** Where the chunks of the payloads of a partition are. */
export const blobPartitionOf = (pk: string): string => `blob#${pk.slice(runPrefix.length)}`;

export const headKey = (runId: RunId): Key => ({ pk: partitionOf(runId), sk: headSk });
/** Ten digits, so that commits sort by their number. */
export const commitKey = (runId: RunId, seq: number): Key => ({
  pk: partitionOf(runId),
  sk: commitPrefix + String(seq).padStart(10, '0'),
});
export const tokenKey = (runId: RunId, waitId: WaitId): Key => ({ pk: partitionOf(runId), sk: tokenPrefix + waitId });
export const inboxKey = (runId: RunId, inboxId: string): Key => ({ pk: partitionOf(runId), sk: inboxPrefix + inboxId });
/** The run that an id of a caller points to. */
export const runNameKey = (nameKey: string): Key => ({ pk: `name#${nameKey}`, sk: headSk });
/** How a schedule stands. */
export const scheduleKey = (name: string): Key => ({ pk: `schedule#${name}`, sk: headSk });

export const runIdOf = (item: Item): RunId => item.pk.slice(runPrefix.length);
export const seqOf = ({ sk }: Key): number => Number(sk.slice(commitPrefix.length));
export const waitIdOf = ({ sk }: Key): WaitId => sk.slice(tokenPrefix.length);
export const inboxIdOf = ({ sk }: Key): string => sk.slice(inboxPrefix.length);
