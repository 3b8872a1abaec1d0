// Keys of the items of a run and of what belongs to it: their words are stored.

import type { RunId, WaitId } from '../../base/ids.js';
import type { Item, Key } from '../table.js';

export const headSk = 'a';
export const commitPrefix = 'h#';
export const inboxPrefix = 'i#';
export const tokenPrefix = 't#';
export const pushConfigPrefix = 'p#';
const runPrefix = 'run#';

export const partitionOf = (runId: RunId): string => runPrefix + runId;
/** Returns the partition of the chunks of a partition's payloads. */
export const blobPartitionOf = (pk: string): string => `blob#${pk.slice(runPrefix.length)}`;

export const headKey = (runId: RunId): Key => ({ pk: partitionOf(runId), sk: headSk });
/** Pads the number to ten digits, so that commits sort by it. */
export const commitKey = (runId: RunId, seq: number): Key => ({
  pk: partitionOf(runId),
  sk: commitPrefix + String(seq).padStart(10, '0'),
});
export const tokenKey = (runId: RunId, waitId: WaitId): Key => ({ pk: partitionOf(runId), sk: tokenPrefix + waitId });
export const inboxKey = (runId: RunId, inboxId: string): Key => ({ pk: partitionOf(runId), sk: inboxPrefix + inboxId });
export const pushConfigKey = (taskId: RunId, configId: string): Key => ({
  pk: partitionOf(taskId),
  sk: pushConfigPrefix + configId,
});
/** Key of the pointer from a caller's id to a run. */
export const runNameKey = (nameKey: string): Key => ({ pk: `name#${nameKey}`, sk: headSk });
export const namedKeyPrefix = 'key#';
/** Key of a named key of a caller. */
export const namedKeyKey = (name: string): Key => ({ pk: namedKeyPrefix + name, sk: headSk });
export const tenantPrefix = 'tenant#';
/** Key of a counter of a tenant. */
export const tenantCountKey = (tenant: string, counted: 'live' | 'starts' | 'signals'): Key => ({
  pk: tenantPrefix + tenant,
  sk: counted,
});
/** Key of a counter of served tasks. */
export const servedCountKey = (counter: string, of: 'live' | 'turns' | 'messages'): Key => ({
  pk: `served#${counter}`,
  sk: of,
});
/** Partition of the slots of streams to callers. */
export const streamsPartition = 'served#streams';
/** Key of the pointer to the last run of a lane. */
export const laneKey = (lane: string): Key => ({ pk: `lane#${lane}`, sk: headSk });
/** Key of the pointer to the run that debounced starts become. */
export const debounceKey = (debounce: string): Key => ({ pk: `debounce#${debounce}`, sk: headSk });
/** Key of what the start with an idempotency key has led to; `runId` is the id that the key stands for. */
export const knownStartKey = (runId: RunId): Key => ({ pk: `start#${runId}`, sk: headSk });
/** Key of the state of a throttle. */
export const throttleKey = (throttle: string): Key => ({ pk: `throttle#${throttle}`, sk: headSk });
/** Key of the state of a schedule. */
export const scheduleKey = (name: string): Key => ({ pk: `schedule#${name}`, sk: headSk });

/** Key of a proof that was taken, by its digest. */
export const proofKey = (id: string): Key => ({ pk: `proof#${id}`, sk: headSk });

export const runIdOf = (item: Item): RunId => item.pk.slice(runPrefix.length);
export const seqOf = ({ sk }: Key): number => Number(sk.slice(commitPrefix.length));
export const waitIdOf = ({ sk }: Key): WaitId => sk.slice(tokenPrefix.length);
export const inboxIdOf = ({ sk }: Key): string => sk.slice(inboxPrefix.length);
export const pushConfigIdOf = ({ sk }: Key): string => sk.slice(pushConfigPrefix.length);
