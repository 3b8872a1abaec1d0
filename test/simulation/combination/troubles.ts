import type { EpochMs } from '../../../lib/base/time.js';
import type { Item } from '../../../lib/store/table.js';
import type { Deviation, World } from '../world.js';
import { isEnded, type Book } from './book.js';
import { Dice } from './dice.js';
import {
  patternOf,
  type Case,
  type Entry,
  type Fault,
  type LostKind,
  type Moment,
  type OperationKind,
  type Trouble,
} from './timetable.js';

const S = 1_000;

type ThrottleTrouble = Extract<Trouble, { what: 'throttle' }> & { readonly at: number };

/** What troubles act on. */
export interface Troubled {
  readonly world: World;
  readonly books: readonly Book[];
  /** Called when the store refused a handle for as long as the process had time, and the server refused its cancel. */
  onHelpless(process: string): void;
  /** Does what follows an action of the engine. */
  act(entry: Entry): void;
}

/** All that goes wrong in one case: drawn, or as listed. */
export class Troubles {
  /** Faults at operations so far, in order. */
  readonly faults: Fault[] = [];
  readonly #case: Case;
  readonly #stage: Troubled;
  readonly #dice: Dice;
  /** Number of operations so far at which something may go wrong. */
  #possible = 0;
  readonly #listed: ReadonlyMap<string, Deviation> | undefined;
  readonly #times = new Map<string, number>();
  readonly #throttles: readonly ThrottleTrouble[];
  /** Actions from outside that follow an action of the engine. */
  #moments: readonly (Moment & { readonly entry: Entry })[];
  readonly #counts = new Map<OperationKind, number>();
  readonly #gone = new Set<string>();
  /** Processes whose write of a handle was refused. */
  readonly #refusedHandle = new Set<string>();

  constructor(given: Case, stage: Troubled) {
    this.#case = given;
    this.#stage = stage;
    this.#dice = new Dice(given.seed ^ 0x2545f491);
    const { faults, entries } = given;
    this.#listed =
      faults.kind === 'list' ? new Map(faults.list.map(({ at, deviation }) => [at, deviation])) : undefined;
    this.#throttles = entries.filter((entry) => entry.what === 'throttle');
    this.#moments = entries.flatMap((entry) => (entry.after === undefined ? [] : [{ ...entry.after, entry }]));
  }

  /** Returns whether an item is hidden. */
  isGone({ pk, sk }: Item): boolean {
    return this.#gone.size > 0 && this.#gone.has(`${pk} ${sk}`);
  }

  /** Returns what goes wrong at an operation of a process. */
  fault(tag: string, process: string, alternatives: readonly Deviation[]): Deviation | undefined {
    if (this.#moments.length > 0) this.#notice(tag);
    const throttled = this.#isThrottled(tag);
    const { faults } = this.#case;
    // Calls that take no time and at which nothing else goes wrong.
    if (alternatives.length === 0) return undefined;
    const time = (this.#times.get(tag) ?? 0) + 1;
    this.#times.set(tag, time);
    if (throttled && patternOf('handle').test(tag)) this.#refusedHandle.add(process);
    if (throttled) return 'throttle';
    // The server fails for a while.
    const isRefused = this.#case.cancelsFail && this.#stage.world.seconds < 300 && tag.startsWith('cancel ');
    if (isRefused && new Dice(hash(`${tag}${time}`) ^ this.#case.seed).chance(0.7)) {
      if (this.#refusedHandle.has(process)) this.#stage.onHelpless(process);
      return 'refused';
    }
    const at = `${tag} @${time}`;
    if (this.#listed !== undefined) return this.#listed.get(at);
    if (faults.kind !== 'dice' || faults.rate === 0 || this.#stage.world.seconds > faults.end) return undefined;
    if (faults.at !== undefined && !faults.at.some((kind) => patternOf(kind).test(tag))) return undefined;
    if (!this.#dice.chance(faults.rate) || process.startsWith('observer')) return undefined;
    if (faults.nth !== undefined && ++this.#possible !== faults.nth) return undefined;
    // The guard of a server dies with its instance only.
    const isFit = (one: Deviation): boolean => !process.startsWith('guard') || gentle.includes(one);
    const all = alternatives.includes('crash') ? [...alternatives, 'crashAfter' as const] : alternatives;
    const possible = all.filter((deviation) => faults.of.includes(deviation) && isFit(deviation));
    if (possible.length === 0) return undefined;
    const deviation = this.#dice.pick(possible);
    this.faults.push({ at, deviation });
    return deviation;
  }

  /** Runs the callers who act on what the engine does at this moment. */
  #notice(tag: string): void {
    const world = this.#stage.world;
    if (world.seconds > momentsEndS) {
      this.#moments = [];
      return;
    }
    for (const kind of new Set(this.#moments.map((moment) => moment.kind))) {
      if (!patternOf(kind).test(tag)) continue;
      const count = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, count);
      const isNow = (moment: Moment): boolean => moment.kind === kind && moment.nth === count;
      for (const { entry } of this.#moments.filter(isNow))
        world.at(world.nowMs + entry.at * S, () => {
          this.#stage.act(entry);
        });
      this.#moments = this.#moments.filter((moment) => !isNow(moment));
    }
  }

  #isThrottled(tag: string): boolean {
    if (this.#throttles.length === 0) return false;
    const second = this.#stage.world.seconds;
    return this.#throttles.some(({ at, for: long, of, share }, index) => {
      if (second < at || second >= at + long || !throttlePatterns[of].test(tag)) return false;
      if (share === 1) return true;
      const time = this.#times.get(tag) ?? 0;
      return new Dice(hash(`${tag}${time}${index}`) ^ this.#case.seed).chance(share);
    });
  }

  isUnreadable(partition: string, second: number): boolean {
    return this.#case.entries.some(
      (entry) =>
        entry.what === 'unreadable' &&
        String(entry.partition) === partition &&
        second >= entry.at &&
        second < entry.at + entry.for,
    );
  }

  #startMs(): EpochMs {
    const { nowMs, seconds } = this.#stage.world;
    return nowMs - seconds * S;
  }

  /** Returns until when, in the past, the store failed for all processes. */
  untilMs(atMs: EpochMs): EpochMs {
    const second = (atMs - this.#startMs()) / S;
    const ends = this.#case.entries.flatMap((entry) => {
      if (!('for' in entry) || entry.at > second) return [];
      // A blocked run is retried less and less often.
      return [entry.what === 'lose' ? entry.at + 3 * entry.for + 200 : Math.min(second, entry.at + entry.for)];
    });
    const { deploy } = this.#case;
    // A blocked run is retried less and less often.
    const blocked =
      deploy === undefined || second < deploy.from ? 0 : deploy.until + 2 * (deploy.until - deploy.from) + 200;
    return this.#startMs() + Math.max(0, blocked, ...ends) * S;
  }

  /** Hides an item that the history refers to from every reader for a while. No process keeps what it held. */
  lose({ of, pick, for: long }: Extract<Trouble, { what: 'lose' }>): void {
    const world = this.#stage.world;
    const busy = new Set([...world.processes].map(({ runId }) => runId));
    const found = this.#stage.books
      .filter(({ runId, chain, head }) => !chain.hasLoss && !isEnded(head.status) && !busy.has(runId))
      .flatMap((book) =>
        [...book.items.values()].flatMap((item) => (isNeeded(of, item, book) ? [{ book, item }] : [])),
      );
    const lost = found[pick % Math.max(1, found.length)];
    if (lost === undefined) return;
    const { book, item } = lost;
    const id = `${item.pk} ${item.sk}`;
    world.forgetRuns();
    book.chain.hasLoss = true;
    // A signal that the code does not read is not missed.
    if (of !== 'signal') book.goneSinceMs = world.nowMs;
    this.#gone.add(id);
    world.at(world.nowMs + long * S, () => {
      this.#gone.delete(id);
      book.goneSinceMs = undefined;
      book.chain.hasLoss = false;
    });
  }
}

/** Returns whether the log or the head refers to the item. */
function isNeeded(of: LostKind, { sk, dueAtMs }: Item, { state, head }: Book): boolean {
  switch (of) {
    case 'signal':
      return sk.startsWith('i#signal-') && dueAtMs === undefined && state.takenInbox.has(sk.slice(2));
    case 'token': {
      const wait = sk.startsWith('t#') ? state.openTokens.get(sk.slice(2)) : undefined;
      if (wait?.kind === 'remoteTask') return wait.handle !== undefined;
      return wait?.kind === 'external' ? wait.issued : wait?.kind === 'child' && wait.started;
    }
    case 'commit':
      return sk.startsWith('h#') && Number(sk.slice(2)) <= head.dueSeq;
  }
}

const gentle: readonly Deviation[] = ['throttle', 'lostAck', 'lateApply', 'freeze3'];

/** No caller waits for a moment after this. */
export const momentsEndS = 250;

const throttlePatterns: Readonly<Record<ThrottleTrouble['of'], RegExp>> = {
  writes: /^(put|update|transact) /,
  commits: /^(put|transact) h#/,
  tokens: /^(put|update) t#/,
  inbox: /^transact a=\S* i#|^update i#/,
  heads: /^(put|update) a\b/,
  reads: /^(query|get) /,
};

function hash(text: string): number {
  let value = 17;
  for (let at = 0; at < text.length; at++) value = (Math.imul(value, 31) + text.charCodeAt(at)) | 0;
  return value;
}
