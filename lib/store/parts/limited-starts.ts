import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { DebouncedStart, InboxRecord, RunHead } from '../../history/records.js';
import type { KnownStart, RunName, ThrottleState } from '../../history/start-records.js';
import { generationIs, isDebounced, itemAbsent, itemExists, lastStartIs, statusIs } from '../conditions.js';
import { delayed, headFields, headItem, toHead } from '../items/head.js';
import { inboxItem } from '../items/inbox.js';
import { type ListedRun, marker, runListSort } from '../items/indexes.js';
import { debounceKey, headKey, knownStartKey, laneKey, runNameKey, throttleKey } from '../items/keys.js';
import { knownStartFields, throttleFields } from '../items/limited-start.js';
import { runNameFields, toRunName } from '../items/run-name.js';
import { type Cap, countStart, fullCap } from './tenant-counts.js';
import type { Key, Put, Table, TransactResult, Update, Write } from '../table.js';

/** What points to a run: an id of a caller, a lane, a debounce key; each by its digest. */
export interface Pointer {
  readonly kind: 'name' | 'lane' | 'debounce';
  readonly digest: string;
}

/** A pointer as it was read. Generation 0: it did not exist. */
export interface PointerAsRead extends Pointer {
  readonly generation: number;
}

/** A start with an idempotency key: `keyedRunId` is the id that the key stands for. */
export interface KeyedStart {
  readonly keyedRunId: RunId;
  readonly sentDigest: string | undefined;
}

/** What is written with the head of a run, each part only if it is as it was read. */
export interface StartPlace {
  /** Pointers that are to point to the run: its lane, its id, its debounce. */
  readonly pointers: readonly PointerAsRead[];
  /** The first signal. */
  readonly signal?: InboxRecord | undefined;
  /** The new state of a throttle. */
  readonly throttle?: { readonly key: string; readonly state: ThrottleState } | undefined;
  /** The start that is known from now on. */
  readonly known?: KeyedStart | undefined;
  /** Live runs that the tenant of the run may have. */
  readonly liveMax?: number | undefined;
  /** Caps of served tasks. */
  readonly caps?: readonly Cap[] | undefined;
}

/** What a later start changes of a debounced run. */
export type LaterStart = Pick<RunHead, 'input' | 'deadlineAtMs'> & {
  readonly startAtMs: EpochMs;
  readonly debounce: DebouncedStart;
};

/** Starts of workflows that limit them. */
export class LimitedStarts {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async readPointer(pointer: Pointer): Promise<RunName | undefined> {
    const item = await this.#table.get(pointerKey(pointer));
    return item === undefined ? undefined : toRunName(item);
  }

  async readThrottle(throttle: string): Promise<ThrottleState> {
    const item = await this.#table.get(throttleKey(throttle));
    return item === undefined ? { startsAtMs: [], generation: 0 } : throttleFields.read(item);
  }

  async readKnown(keyedRunId: RunId): Promise<KnownStart | undefined> {
    const item = await this.#table.get(knownStartKey(keyedRunId));
    return item === undefined ? undefined : knownStartFields.read(item);
  }

  /**
   * Puts the head of a run with all that depends on it, or nothing: two starts that have read the same never both
   * succeed. `moved`: something has changed since it was read. `full`: the tenant has as many live runs as it may have.
   * A cap that is reached is returned, and a head that exists.
   */
  async createRun(
    head: RunHead,
    writerId: string,
    place: StartPlace,
  ): Promise<'created' | 'moved' | 'full' | Cap | RunHead> {
    const { pointers, signal, throttle, known, liveMax, caps = [] } = place;
    const counts = countStart(head, liveMax, caps);
    const { runId } = head;
    const writes: Write[] = [
      {
        kind: 'put',
        item: headItem(signal === undefined ? head : { ...head, inboxCount: 1 }, writerId),
        conditions: [itemAbsent],
      },
      ...pointers.map((pointer) => pointTo(runId, pointer)),
    ];
    if (signal !== undefined)
      writes.push({ kind: 'put', item: inboxItem({ ...signal, position: 0 }), conditions: [itemAbsent] });
    if (throttle !== undefined)
      writes.push({
        kind: 'update',
        key: throttleKey(throttle.key),
        set: throttleFields.write({ ...throttle.state, generation: throttle.state.generation + 1 }),
        conditions: asRead(throttle.state.generation),
      });
    if (known !== undefined) writes.push(putKnown(known, runId));
    const result = await this.#table.transact([...writes, ...counts]);
    if (result.ok) return 'created';
    const full = fullCap(result, caps);
    if (full !== undefined) return full;
    const isFull =
      counts.length > caps.length && result.refused.findIndex((one) => one !== undefined) === writes.length;
    return isFull ? 'full' : outcomeOf(result, writerId);
  }

  /**
   * Replaces the input of a run that waits for the last of several starts, and moves its start. Returns false if it has
   * begun or ended, or if the start is known.
   */
  async replaceInput(
    run: ListedRun,
    { input, startAtMs, deadlineAtMs, debounce }: LaterStart,
    known: KeyedStart | undefined,
  ): Promise<boolean> {
    const { runId } = run;
    const update: Update = {
      kind: 'update',
      key: headKey(runId),
      set: {
        ...headFields.write({ input, startAtMs, deadlineAtMs, debounce }),
        ...marker(runId, startAtMs),
        ...runListSort({ ...run, held: delayed(startAtMs) }),
      },
      remove: input === undefined ? headFields.names('input') : [],
      conditions: [itemExists, statusIs('running'), isDebounced],
    };
    const result = await this.#table.transact(known === undefined ? [update] : [update, putKnown(known, runId)]);
    return result.ok;
  }

  /** Lets a run begin with what was read of it: from now on no start changes it. Returns false if one has. */
  async closeDebounce(runId: RunId, { startId }: DebouncedStart): Promise<boolean> {
    const result = await this.#table.write({
      kind: 'update',
      key: headKey(runId),
      remove: headFields.names('debounce'),
      conditions: [itemExists, lastStartIs(startId)],
    });
    return result.ok;
  }
}

function outcomeOf(result: Extract<TransactResult, { ok: false }>, writerId: string): 'created' | 'moved' | RunHead {
  const old = result.refused[0]?.old;
  if (old === undefined) return 'moved';
  return old['writerId'] === writerId ? 'created' : toHead(old);
}

function putKnown({ keyedRunId, sentDigest }: KeyedStart, runId: RunId): Put {
  return {
    kind: 'put',
    item: { ...knownStartKey(keyedRunId), ...knownStartFields.write({ runId, sentDigest }) },
    conditions: [itemAbsent],
  };
}

function pointTo(runId: RunId, pointer: PointerAsRead): Update {
  const { generation } = pointer;
  return {
    kind: 'update',
    key: pointerKey(pointer),
    set: runNameFields.write({ runId, generation: generation + 1 }),
    conditions: asRead(generation),
  };
}

function pointerKey({ kind, digest }: Pointer): Key {
  switch (kind) {
    case 'name':
      return runNameKey(digest);
    case 'lane':
      return laneKey(digest);
    case 'debounce':
      return debounceKey(digest);
  }
}

function asRead(generation: number): Update['conditions'] {
  return [generation === 0 ? itemAbsent : generationIs(generation)];
}
