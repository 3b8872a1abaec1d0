import type { EpochMs } from '../../../lib/base/time.js';
import type { InboxRecord, RunHead } from '../../../lib/history/records.js';
import type { StartedRun } from '../../../lib/operations/requests/start-run.js';
import type { WhenBusy } from '../../../lib/workflow/flow-control.js';
import { throttleFields } from '../../../lib/store/items/limited-start.js';
import type { Item } from '../../../lib/store/table.js';
import type { World } from '../world.js';
import { isEnded, short, type Book, type Chain } from './book.js';
import type { Input } from './interpret.js';
import type { Known } from './known.js';
import type { LimitedStart } from './limits.js';
import type { Case } from './timetable.js';

const S = 1_000;

/** A start that was answered. */
interface Answered {
  readonly request: LimitedStart;
  readonly runId: string;
  readonly isFirst: boolean;
  readonly begunAtMs: EpochMs;
  readonly atMs: EpochMs;
}

/** Checks the promises about starts that are limited, and that each start acts once. */
export class StartOracles {
  readonly #world: World;
  readonly #case: Case;
  readonly #known: Known;
  /** The chains of each lane in the order of acceptance. */
  readonly #lanes = new Map<string, Chain[]>();
  readonly #acceptedAtMs = new Map<Chain, EpochMs>();
  readonly #replaced = new Set<Chain>();
  /** Starts that have had an effect. */
  readonly #acted = new Set<string>();
  /** Instants at which a throttle lets runs begin, in the order of acceptance. */
  readonly #slots = new Map<string, EpochMs[]>();
  /** The instants that each throttle has given away, as stored. */
  readonly #stored = new Map<string, readonly EpochMs[]>();
  readonly #answered: Answered[] = [];

  constructor(known: Known) {
    this.#world = known.world;
    this.#case = known.given;
    this.#known = known;
  }

  get answered(): readonly Answered[] {
    return this.#answered;
  }

  // ----- with each write -----

  /** Called when the head of a run has been put. */
  onNewRun(book: Book): void {
    const { head, chain, place } = book;
    if (place > 0) return;
    this.#acceptedAtMs.set(chain, this.#world.nowMs);
    this.#act(head);
    const lane = laneOf(head);
    if (lane !== undefined) {
      const before = this.#lanes.get(lane) ?? [];
      if (this.#whenBusyOf(head) === 'refuse' && before.some((other) => !this.#hasEnded(other)))
        this.#fail('busy-accepted', `run ${short(head.runId)} in ${lane}`);
      this.#lanes.set(lane, [...before, chain]);
    }
    if (head.workflow !== 'limited') return;
    if (head.debounce !== undefined) this.#checkOneWaits(book);
    this.#takeSlot(head);
  }

  /** Called when the head of a run has changed. */
  onHead({ head, startedAtMs }: Book, old: RunHead): void {
    const { debounce } = head;
    if (debounce !== undefined && debounce.startId !== old.debounce?.startId) this.#act(head);
    if (startedAtMs !== undefined && JSON.stringify(head.input) !== JSON.stringify(old.input))
      this.#fail('input-changed', `run ${short(head.runId)} had begun`);
  }

  /** Called with the commit in which the code of a run begins. */
  onBegins({ head, chain, place }: Book): void {
    if (place > 0) return;
    const { runId, startAtMs } = head;
    if (startAtMs !== undefined && startAtMs > this.#world.furthestMs)
      this.#fail('began-early', `run ${short(runId)}, ${(startAtMs - this.#world.nowMs) / S} s early`);
    const lane = laneOf(head);
    for (const other of this.#before(chain, lane)) {
      if (this.#hasEnded(other)) continue;
      const hasBegun = other.runIds.some((id) => this.#known.books.get(id)?.startedAtMs !== undefined);
      const what = hasBegun ? 'is under way' : 'was accepted before and waits';
      this.#fail(
        hasBegun ? 'two-in-lane' : 'lane-out-of-order',
        `run ${short(runId)} begins while run ${short(other.runIds[0]!)} ${what}`,
      );
    }
  }

  /** Called when the code of a run begins, also in a replay. */
  onCode(runId: string, input: Input): void {
    const expected = this.#known.books.get(runId)?.head.input;
    if (expected !== undefined && JSON.stringify(input) !== JSON.stringify(expected))
      this.#fail('began-with-other-input', `run ${short(runId)}: ${JSON.stringify(input)}`);
  }

  onInbox({ chain, head }: Book, request: InboxRecord): void {
    if (request.kind !== 'cancel' || request.reason?.includes('a newer run') !== true) return;
    this.#replaced.add(chain);
    const chains = this.#lanes.get(laneOf(head) ?? '') ?? [];
    if (this.#whenBusyOf(head) !== 'replace' || chains.at(-1) === chain)
      this.#fail('newest-replaced', `run ${short(head.runId)}`);
  }

  #act({ runId, input, id }: RunHead): void {
    // A start under an id has no idempotency key.
    if (id !== undefined) return;
    const { n } = (input ?? {}) as Partial<Input>;
    if (n === undefined) return;
    if (this.#acted.has(n)) this.#fail('start-acted-twice', `start ${n}, now in run ${short(runId)}`);
    this.#acted.add(n);
  }

  #checkOneWaits({ runId, head }: Book): void {
    const { lane } = head.input as unknown as Input;
    for (const other of this.#known.books.values()) {
      const { workflow, status, debounce, input, tenant } = other.head;
      if (other.runId === runId || workflow !== head.workflow || tenant !== head.tenant) continue;
      if (debounce === undefined || status !== 'running') continue;
      if ((input as unknown as Input).lane === lane)
        this.#fail('burst-split', `run ${short(runId)} is new, and run ${short(other.runId)} waits`);
    }
  }

  #takeSlot({ runId, startAtMs, createdAtMs, input, tenant }: RunHead): void {
    const { throttle } = this.#case.limits ?? {};
    const key = this.#throttleKeyOf(input as unknown as Input, tenant);
    if (throttle === undefined || key === undefined) return;
    const slots = this.#slots.get(key) ?? [];
    const slotMs = startAtMs ?? createdAtMs;
    const { limit, period } = throttle;
    if (slotMs < (slots.at(-limit) ?? -Infinity) + period * S)
      this.#fail('too-many-begin', `run ${short(runId)}: more than ${limit} in ${period} s`);
    if (slotMs < (slots.at(-1) ?? 0)) this.#fail('throttled-out-of-order', `run ${short(runId)}`);
    this.#slots.set(key, [...slots, slotMs]);
  }

  onThrottle(item: Item): void {
    this.#stored.set(item.pk, throttleFields.read(item).startsAtMs);
  }

  /** Returns the throttle of a start: each tenant has its own. Undefined if it is not throttled. */
  #throttleKeyOf({ lane }: Input, tenant: string | undefined): string | undefined {
    const key = this.#case.limits?.throttle?.perLane === true ? lane : '';
    return key === undefined ? undefined : `${key} of ${tenant ?? 'none'}`;
  }

  /** Returns whether a newer run asks the runs of this chain to cancel, each of them anew. */
  isReplaced(chain: Chain): boolean {
    return this.#replaced.has(chain);
  }

  // ----- from time to time -----

  /** Checks a run that has not ended; nothing has gone wrong since `sinceMs`, with clocks that far apart. */
  checkLate({ chain, place, head, state, runId }: Book, sinceMs: EpochMs, isHeld: boolean): void {
    const lane = laneOf(head);
    if (lane === undefined) return;
    if (this.#whenBusyOf(head) === 'replace' && head.status === 'running' && !this.#replaced.has(chain)) {
      const chains = this.#lanes.get(lane) ?? [];
      const newer = chains
        .slice(chains.indexOf(chain) + 1)
        .find((other) => !this.#hasEnded(other) && this.#acceptedAtMs.get(other)! < sinceMs);
      const createdAtMs = this.#acceptedAtMs.get(chain)!;
      if (newer !== undefined && createdAtMs < sinceMs && head.createdAtMs < sinceMs)
        this.#fail('not-replaced', `run ${short(runId)}, by run ${short(newer.runIds[0]!)}`);
    }
    if (place > 0 || state.seq > 0 || isHeld) return;
    if (chain.accepted.some(({ kind, appliedAtMs }) => kind === 'cancel' && appliedAtMs < sinceMs))
      this.#fail('cancel-late', `run ${short(runId)} waits in its lane`);
    const fromMs = Math.max(head.startAtMs ?? 0, this.#acceptedAtMs.get(chain)!);
    const areOver = this.#before(chain, lane).every(
      (other) => this.#hasEnded(other) && (this.#known.books.get(other.runIds.at(-1)!)?.endedAtMs ?? 0) < sinceMs,
    );
    if (areOver && fromMs < sinceMs) this.#fail('lane-late', `run ${short(runId)} is first in ${lane}, and waits`);
  }

  // ----- what callers are told -----

  onStarted(request: LimitedStart, { runId, deduplicated }: StartedRun, begunAtMs: EpochMs): void {
    if (!this.#known.books.has(runId)) this.#fail('start-lost', `start ${request.key} was answered`);
    if (request.as === undefined || 'signal' in request.as)
      this.#answered.push({ request, runId, isFirst: !deduplicated, begunAtMs, atMs: this.#world.nowMs });
  }

  hasActed(n: string): boolean {
    return this.#acted.has(n);
  }

  /** Checks that a start is refused only while a run of its lane is under way, or waits. */
  onBusy(
    { on, lane, tenant }: Pick<LimitedStart, 'on' | 'lane'> & { readonly tenant: string | undefined },
    begunAtMs: EpochMs,
  ): void {
    const chains = this.#lanes.get(nameOf(on, lane ?? '', tenant)) ?? [];
    const isBusy = chains.some((chain) => {
      const endedAtMs = this.#known.books.get(chain.runIds.at(-1)!)?.endedAtMs;
      return !this.#hasEnded(chain) || (endedAtMs ?? 0) >= begunAtMs;
    });
    if (!isBusy || on !== 'limited' || this.#case.limits?.whenBusy !== 'refuse')
      this.#fail('refused-without-cause', `a start in lane ${lane}`);
  }

  /** Checks that a start is refused only if as many as allowed begin in the period. */
  onThrottled(
    { lane, tenant }: Pick<LimitedStart, 'lane'> & { readonly tenant: string | undefined },
    begunAtMs: EpochMs,
  ): void {
    const { throttle } = this.#case.limits ?? {};
    if (throttle === undefined) return;
    const key = this.#throttleKeyOf({ round: 0, ...(lane === undefined ? {} : { lane }) }, tenant);
    const sinceMs = begunAtMs - this.#known.skewMs - throttle.period * S;
    const inPeriod = (this.#slots.get(key ?? '') ?? []).filter((slotMs) => slotMs > sinceMs).length;
    if (throttle.whenExceeded !== 'refuse' || inPeriod < throttle.limit)
      this.#fail('throttled-without-cause', `a start in lane ${lane}`);
  }

  // ----- at the end -----

  /** Checks that each instant that a throttle has given away is that of a run, and the other way round. */
  checkSlots(): void {
    const given = [...this.#slots.values()].filter((slots) => slots.length > 0);
    const taken = [...this.#stored.values()].map((slots) => slots.join());
    const { limit = 0 } = this.#case.limits?.throttle ?? {};
    for (const slots of taken)
      if (!given.some((list) => list.slice(-limit).join() === slots))
        this.#fail('slot-without-run', `a throttle has given away ${slots}`);
    for (const list of given)
      if (!taken.includes(list.slice(-limit).join())) this.#fail('run-without-slot', `${list.length} runs begin`);
  }

  /** Checks that a run that several starts became has the input of the last of them. */
  checkLastInputs(): void {
    for (const { request, runId, atMs } of this.#answered) {
      const book = this.#known.books.get(runId);
      if (book?.startedAtMs === undefined || (book.head.input as unknown as Input).n !== request.key) continue;
      const later = this.#answered.find(
        (other) =>
          other.runId === runId && other.isFirst && other.begunAtMs > atMs && other.request.key !== request.key,
      );
      if (later !== undefined && this.#case.limits?.debounce !== undefined && request.on === 'limited')
        this.#fail(
          'last-input-lost',
          `run ${short(runId)} has the input of ${request.key}, not of ${later.request.key}`,
        );
    }
  }

  #before(chain: Chain, lane: string | undefined): readonly Chain[] {
    const chains = lane === undefined ? [] : (this.#lanes.get(lane) ?? []);
    return chains.slice(0, Math.max(0, chains.indexOf(chain)));
  }

  /** Returns whether the last run of the chain has ended, and nothing continues it. */
  #hasEnded({ runIds }: Chain): boolean {
    const { status } = this.#known.books.get(runIds.at(-1)!)!.head;
    return isEnded(status) && status !== 'continued';
  }

  #whenBusyOf({ workflow }: RunHead): WhenBusy | undefined {
    const { limits } = this.#case;
    return workflow === 'limited' ? (limits?.whenBusy ?? 'queue') : workflow === 'kid' ? limits?.kids : 'queue';
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}

function laneOf({ workflow, lane, tenant }: RunHead): string | undefined {
  return lane === undefined ? undefined : nameOf(workflow, lane.key, tenant);
}

function nameOf(workflow: string, lane: string, tenant: string | undefined): string {
  return `${workflow} ${lane}${tenant === undefined ? '' : ` of ${tenant}`}`;
}
