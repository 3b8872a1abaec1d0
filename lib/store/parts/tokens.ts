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

/** A further condition of a settlement, beside that the item exists and has no other one. */
export type SettleGuard =
  /**
   * Guards whatever ends a wait but its timeout: a deadline that has passed by the instant of the settlement has ended it,
   * seen or not. `unless`: a handle that came meanwhile is better news than a start of unknown
   * fate, and a wait with a form takes no result that was not held to the schema of the question.
   */
  | { readonly kind: 'inTime'; readonly unless?: 'handle' | 'form' | undefined }
  /** Guards timeouts: a heartbeat may have moved the deadline. */
  | { readonly kind: 'deadlineIs'; readonly deadlineAtMs: EpochMs }
  /** Guards failures of a long step: another worker may have taken over. */
  | { readonly kind: 'writerIs'; readonly writerId: string }
  /** Guards the end of a long step whose worker seems to have died: it may be alive. */
  | { readonly kind: 'dueIs'; readonly dueAtMs: EpochMs };

/** The tokens of waits, from the put to the settlement and the end of what is left to do about them. */
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

  /** Puts the token item, state `starting`, if absent: before every start, and before anybody can know the token. */
  async put(token: TokenRecord): Promise<{ readonly put: boolean; readonly token: TokenRecord }> {
    const result = await this.#table.write({ kind: 'put', item: tokenItem(token), conditions: [itemAbsent] });
    if (result.ok) return { put: true, token };
    return { put: false, token: result.old === undefined ? token : toToken(result.old) };
  }

  /** Settles the token if it exists and has no settlement: the first settler wins, on every path. */
  async settle(
    runId: RunId,
    waitId: WaitId,
    settlement: Settlement,
    guard?: SettleGuard,
  ): Promise<{ readonly settled: boolean; readonly token: TokenRecord | undefined }> {
    const { ok, token } = await updateToken(this.#table, runId, waitId, {
      set: { ...tokenFields.write({ settlement }), ...marker(runId, settlement.atMs) },
      remove: listAttributes,
      conditions: [itemExists, notSettled, ...conditionsOf(guard, settlement)],
    });
    return { settled: ok || token?.settlement?.writerId === settlement.writerId, token };
  }

  /**
   * Closes a wait that nobody waits for any more, item or not: without one it leaves a tombstone, so that a late start is
   * refused. `run_ended` for those of an ending run.
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
   * Moves the deadline of a wait that has one, which has not passed, and is open; its marker goes along, since the head's
   * knows only the old one.
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
   * Removes the marker of a token if it is the one that was read, and says what became of its remote task, where that had
   * not ended. `orphanedAtMs`: nobody waits for it, and it may be running. False: another marker stands, or a handle came
   * that was not seen, and somebody has to look again.
   */
  async clearMarker(
    runId: RunId,
    waitId: WaitId,
    seen: { readonly dueAtMs: EpochMs; readonly hasHandle: boolean },
    { cancel, orphanedAtMs }: { readonly cancel?: RemoteCancel; readonly orphanedAtMs?: EpochMs } = {},
  ): Promise<boolean> {
    // A handle that is left in the very millisecond of the marker before changes no due instant.
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
