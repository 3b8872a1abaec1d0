import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteCancel, Settlement, TokenRecord } from '../../history/records.js';
import { deadlineIs, dueStill, hasDeadline, hasHandle, itemAbsent, itemExists } from '../conditions.js';
import { noQuestion, noHandle, notOverdue, notSettled, writerIs } from '../conditions.js';
import { listAttributes, marker, orphanListing } from '../items/indexes.js';
import { partitionOf, tokenKey, tokenPrefix } from '../items/keys.js';
import { tokenFields, tokenItem, toToken } from '../items/token.js';
import type { Condition, Table } from '../table.js';
import { clearMarker } from './clear-marker.js';
import { updateToken } from './update-token.js';

/** Further condition of a settlement, besides that the item exists and is not settled. */
export type SettleGuard =
  /**
   * Guards every end of a wait except its timeout: a deadline that has passed by the instant of the settlement has
   * ended it, noticed or not. `unless`: a handle that was stored meanwhile supersedes a start of unknown fate, and a
   * wait with a form takes no result that was not checked against the schema of the question.
   */
  | { readonly kind: 'inTime'; readonly unless?: 'handle' | 'form' | undefined }
  /** Guards timeouts: a heartbeat may have moved the deadline. */
  | { readonly kind: 'deadlineIs'; readonly deadlineAtMs: EpochMs }
  /** Guards failures of a long step: another worker may have taken over. */
  | { readonly kind: 'writerIs'; readonly writerId: string }
  /** Guards the end of a long step whose worker seems to have died: it may be alive. */
  | { readonly kind: 'dueIs'; readonly dueAtMs: EpochMs };

/** A settlement, and with it what the last read of the remote task showed. */
export type Settling = Settlement & Pick<TokenRecord, 'trail'>;

/** Tokens of waits, from the put to the settlement and the end of what is left to do about them. */
export class Tokens {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(runId: RunId, waitId: WaitId): Promise<TokenRecord | undefined> {
    const item = await this.#table.get(tokenKey(runId, waitId));
    return item === undefined ? undefined : toToken(item);
  }

  async readAll(runId: RunId): Promise<readonly TokenRecord[]> {
    return (await this.#table.queryPartition(partitionOf(runId), tokenPrefix)).map(toToken);
  }

  /** Puts the token item, state `starting`, if absent: before every start, and before the token is known to anyone. */
  async put(token: TokenRecord): Promise<{ readonly put: boolean; readonly token: TokenRecord }> {
    const result = await this.#table.write({ kind: 'put', item: tokenItem(token), conditions: [itemAbsent] });
    if (result.ok) return { put: true, token };
    return { put: false, token: result.old === undefined ? token : toToken(result.old) };
  }

  /** Settles the token if it exists and has no settlement: the first settler wins, on every path. */
  async settle(
    runId: RunId,
    waitId: WaitId,
    settlement: Settling,
    guard?: SettleGuard,
  ): Promise<{ readonly settled: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: { ...tokenFields.write({ settlement, trail: settlement.trail }), ...marker(runId, settlement.atMs) },
      remove: listAttributes,
      conditions: [itemExists, notSettled, ...conditionsOf(guard, settlement)],
    });
    return { settled: ok || token?.settlement?.writerId === settlement.writerId, token };
  }

  /**
   * Closes a wait that is no longer waited for, with or without an item: if there is none, it leaves a tombstone, so
   * that a late start is refused. `run_ended` is for waits of an ending run.
   */
  async close(
    runId: RunId,
    waitId: WaitId,
    close: { readonly writerId: string; readonly atMs: EpochMs; readonly outcome: 'run_ended' | 'abandoned' },
  ): Promise<TokenRecord | undefined> {
    const { writerId, atMs, outcome } = close;
    const settlement: Settlement = { writerId, atMs, by: 'end', outcome: { kind: outcome } };
    const { token } = await updateToken(this.#table, runId, waitId, {
      set: { ...tokenFields.write({ settlement }), ...marker(runId, atMs) },
      remove: listAttributes,
      conditions: [notSettled],
    });
    return token;
  }

  /**
   * Moves the deadline of an open wait that has one, unless it has passed. Its marker moves along, since the head's
   * marker only knows the old deadline.
   */
  async moveDeadline(
    runId: RunId,
    waitId: WaitId,
    { deadlineAtMs, nowMs }: { readonly deadlineAtMs: EpochMs; readonly nowMs: EpochMs },
  ): Promise<{ readonly moved: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: { ...tokenFields.write({ deadlineAtMs }), ...marker(runId, deadlineAtMs) },
      conditions: [itemExists, notSettled, hasDeadline, notOverdue(nowMs)],
    });
    return { moved: ok, token };
  }

  /**
   * Removes the marker of a token if it is the one that was read, and records what became of its remote task, if that
   * had not ended. `orphanedAtMs`: the task is not waited for and may be running. Returns false if another marker is
   * set, or a handle was stored that was not seen: the token must be looked at again.
   */
  async clearMarker(
    runId: RunId,
    waitId: WaitId,
    seen: { readonly dueAtMs: EpochMs; readonly hasHandle: boolean },
    { cancel, orphanedAtMs }: { readonly cancel?: RemoteCancel; readonly orphanedAtMs?: EpochMs } = {},
  ): Promise<boolean> {
    // A handle that is left in the very millisecond of the previous marker does not change the due instant.
    const conditions = [dueStill(seen.dueAtMs), seen.hasHandle ? hasHandle : noHandle];
    return clearMarker(this.#table, tokenKey(runId, waitId), conditions, {
      ...tokenFields.write({ cancel }),
      ...orphanListing(runId, waitId, orphanedAtMs),
    });
  }
}

function conditionsOf(guard: SettleGuard | undefined, { atMs }: Settlement): readonly Condition[] {
  switch (guard?.kind) {
    case undefined:
      return [];
    case 'inTime':
      return [...unless[guard.unless ?? 'nothing'], notOverdue(atMs)];
    case 'deadlineIs':
      return [deadlineIs(guard.deadlineAtMs)];
    case 'writerIs':
      return [writerIs(guard.writerId)];
    case 'dueIs':
      return [dueStill(guard.dueAtMs)];
  }
}

const unless = { handle: [noHandle], form: [noQuestion], nothing: [] } as const;
