// Explicit-state model of requests to a chain of runs: which are accepted, in which order they act, what is handed on.
// Callers with wrong clocks and two owners of turns interleave in every way; each may die before each operation.

import { explore, type Found, type StepModel } from './explore.js';

export type Kind = 'signal' | 'cancel' | 'pause' | 'resume' | 'terminate';

/** Rules of the protocol, each of which can be switched off. */
export const rules = {
  position: 'requests act in the order of the counts that their senders have read, not of their clocks',
  oneTransaction: 'a request counts itself on the head in the transaction that puts it',
  inboxCount: 'a run ends only with the count of requests that its turn has seen',
  takesAll: 'a run ends when all that was accepted is in its log, however little one commit holds',
  commitOnce: 'a commit is put if absent',
  pauseHolds: 'a turn that sees a pause applies nothing more',
  terminateFirst: 'a terminate goes before all that was accepted with it',
  handsOnUnheard: 'a cancel that reached no wait is handed on',
  keepsHeard: 'a cancel that was heard is not',
  handsOnFirst: 'what is handed on is there before the head of the next run',
  handsOnInOrder: 'what is handed on comes before what the next run is sent',
  followsNext:
    'a request to a run that goes on as another is for that one, which is named as soon as the outcome is fixed',
  waitsForNext: 'a request waits for the head of the next run',
  sameId: 'a repeat of a request has its id',
} as const;
export type Rule = keyof typeof rules;

interface Call {
  readonly kind: Kind;
  /** Error of the sender's clock. */
  readonly offMs?: number;
  /** Whether the answer to the first attempt is lost, so that its sender repeats it. */
  readonly repeats?: boolean;
  /** Sent when the call at this position of the list has been answered. */
  readonly after?: number;
}

export interface Scenario {
  readonly name: string;
  readonly calls: readonly Call[];
  /** A run reads this many signals and continues as another, until it is the last one. */
  readonly reads: number;
  readonly runs: number;
  /** Whether it catches its first cancel and continues. */
  readonly catches?: boolean;
  /** Whether no cancel finds it waiting, because its code is between two waits. */
  readonly isDeaf?: boolean;
  readonly deaths?: number;
}

interface Item {
  readonly id: string;
  readonly call: number;
  readonly position: number;
  readonly atMs: number;
}
interface Commit {
  readonly taken: readonly string[];
  readonly ending?: 'continued' | 'completed' | 'cancelled' | 'terminated';
  readonly unheard?: readonly string[];
}
interface Run {
  status: 'running' | 'ended';
  /** Whether the head names the next run. */
  hasNext: boolean;
  count: number;
  items: Item[];
  commits: Commit[];
}
interface Caller {
  at: 'idle' | 'read' | 'sent' | 'done';
  run: number;
  position: number;
  attempt: number;
  answer?: 'accepted' | 'refused';
}
/** The view of an owner: the numbers of commits and of items that it has read, by which a stale view is recognised. */
interface Owner {
  at: 'idle' | 'hasHead' | 'hasAll' | 'seeding';
  run: number;
  count: number;
  commits: Commit[];
  items: Item[];
}
interface State {
  nowMs: number;
  deaths: number;
  runs: (Run | undefined)[];
  seeds: Item[][];
  callers: Caller[];
  owners: Owner[];
}
type Step = (state: State) => void;

/** Number of requests that one commit takes in, besides a terminate. */
const taking = 1;

/** Visits every reachable state. `off`: without these rules. */
export function search(scenario: Scenario, off: readonly Rule[] = [], limit = 400_000): Found {
  return explore(new Model(scenario, new Set(off)), scenario.name, limit);
}

class Model implements StepModel<State> {
  readonly #scenario: Scenario;
  readonly #off: ReadonlySet<Rule>;

  constructor(scenario: Scenario, off: ReadonlySet<Rule>) {
    this.#scenario = scenario;
    this.#off = off;
  }

  #has(rule: Rule): boolean {
    return !this.#off.has(rule);
  }

  start(): State {
    const owner = (): Owner => ({ at: 'idle', run: 0, count: 0, commits: [], items: [] });
    return {
      nowMs: 0,
      deaths: this.#scenario.deaths ?? 1,
      runs: [{ status: 'running', hasNext: false, count: 0, items: [], commits: [] }],
      seeds: [[]],
      callers: this.#scenario.calls.map(() => ({ at: 'idle', run: 0, position: 0, attempt: 0 })),
      owners: [owner(), owner()],
    };
  }

  /** Returns every operation that may be the next one. */
  steps(state: State): readonly Step[] {
    const steps: Step[] = [];
    for (const [at, caller] of state.callers.entries()) {
      const { after } = this.#scenario.calls[at]!;
      if (caller.at === 'done' || (after !== undefined && state.callers[after]?.at !== 'done')) continue;
      // The caller waits for the next run, which is about to be created.
      if (caller.at === 'idle' && state.runs[caller.run] === undefined && this.#has('waitsForNext')) continue;
      steps.push((next) => {
        this.#callerStep(next, at);
      });
    }
    for (const [at, owner] of state.owners.entries()) {
      if (owner.at === 'idle' && !this.#isWork(state)) continue;
      steps.push((next) => {
        this.#ownerStep(next, next.owners[at]!);
      });
      if (owner.at !== 'idle' && state.deaths > 0) {
        steps.push((next) => {
          next.deaths--;
          next.owners[at] = { at: 'idle', run: 0, count: 0, commits: [], items: [] };
        });
      }
    }
    return steps;
  }

  // ----- callers -----

  #callerStep(state: State, at: number): void {
    const call = this.#scenario.calls[at]!;
    const caller = state.callers[at]!;
    const run = state.runs[caller.run];
    const done = (answer: 'accepted' | 'refused'): void => {
      caller.at = 'done';
      caller.answer = answer;
    };
    if (caller.at === 'idle') {
      if (run === undefined) {
        done('refused');
        return;
      }
      if (run.status === 'running') {
        caller.at = 'read';
        caller.position = run.count;
        return;
      }
      if (run.items.some(({ id }) => id === this.#idOf(at, caller))) {
        done('accepted');
        return;
      }
      if (!this.#has('followsNext') || !run.hasNext) {
        done('refused');
        return;
      }
      caller.run++;
      return;
    }
    if (run === undefined) {
      done('refused');
      return;
    }
    if (caller.at === 'sent') {
      // Without the transaction the item is put after the head was read.
      this.#put(state, run, at);
      done('accepted');
      return;
    }
    state.nowMs++;
    if (run.status !== 'running') {
      caller.at = 'idle';
      return;
    }
    if (!run.items.some(({ id }) => id === this.#idOf(at, caller))) {
      if (!this.#has('oneTransaction')) {
        caller.at = 'sent';
        return;
      }
      this.#put(state, run, at);
    }
    if (call.repeats === true && caller.attempt === 0) {
      caller.at = 'idle';
      caller.attempt = 1;
      return;
    }
    done('accepted');
  }

  #put(state: State, run: Run, at: number): void {
    const caller = state.callers[at]!;
    const { offMs = 0 } = this.#scenario.calls[at]!;
    run.count++;
    run.items.push({ id: this.#idOf(at, caller), call: at, position: caller.position, atMs: state.nowMs + offMs });
  }

  #idOf(at: number, { attempt }: Caller): string {
    return this.#has('sameId') ? `c${at}` : `c${at}.${attempt}`;
  }

  // ----- owners -----

  #isWork(state: State): boolean {
    const run = state.runs.at(-1);
    if (run === undefined) return false;
    if (run.status === 'ended') return run.hasNext || run.commits.at(-1)?.ending === 'continued';
    return this.#turnOf(run.commits, run.items, state.runs.length - 1) !== undefined;
  }

  /** Reads the head and the log; reads the inbox; writes one commit; hands on if the run has ended as continued. */
  #ownerStep(state: State, owner: Owner): void {
    const at = state.runs.length - 1;
    const run = state.runs[owner.at === 'idle' ? at : owner.run]!;
    switch (owner.at) {
      case 'idle':
        Object.assign(owner, { at: run.status === 'ended' ? 'seeding' : 'hasHead', run: at, count: run.count });
        owner.commits = [...run.commits];
        owner.items = [...run.items];
        return;
      case 'hasHead':
        owner.at = 'hasAll';
        owner.items = [...run.items];
        return;
      case 'hasAll':
        this.#commit(run, owner);
        owner.at = 'idle';
        return;
      case 'seeding':
        this.#handOn(state, owner);
        return;
    }
  }

  #commit(run: Run, owner: Owner): void {
    const turn = this.#turnOf(owner.commits, owner.items, owner.run);
    if (turn === undefined) return;
    const isFirst = run.commits.length === owner.commits.length;
    if (!isFirst && this.#has('commitOnce')) return;
    if (turn.ending !== undefined) {
      // Decides on its view: its log, and what it has read of the inbox.
      if (run.status !== 'running') return;
      if (this.#has('inboxCount') && run.count !== owner.items.length) return;
      run.status = 'ended';
      run.hasNext = turn.ending === 'continued';
    }
    run.commits.push(turn);
  }

  #handOn(state: State, owner: Owner): void {
    const run = state.runs[owner.run]!;
    const seeds = (state.seeds[owner.run + 1] ??= []);
    const handed = this.#handedOn(owner.run, run);
    const isThere = state.runs[owner.run + 1] !== undefined;
    const missing = handed.find(({ id }) => !seeds.some((seed) => seed.id === id));
    if (missing !== undefined && (this.#has('handsOnFirst') || isThere)) {
      seeds.push(missing);
      if (isThere) state.runs[owner.run + 1]!.items.push(missing);
      return;
    }
    if (!isThere)
      state.runs[owner.run + 1] = {
        status: 'running',
        hasNext: false,
        count: handed.length,
        items: [...seeds],
        commits: [],
      };
    if (missing === undefined) owner.at = 'idle';
  }

  #handedOn(at: number, run: Run): readonly Item[] {
    const { unread } = this.#fold(run.commits, run.items, at);
    const unheard = run.commits.at(-1)?.unheard ?? [];
    return this.#taken(run)
      .filter(({ id }) => unread.includes(id) || unheard.includes(id))
      .map((item, position) => (this.#has('handsOnInOrder') ? { ...item, position } : { ...item, position: 99 }));
  }

  #taken(run: Run): readonly Item[] {
    const byId = new Map(run.items.map((item) => [item.id, item]));
    return run.commits.flatMap(({ taken }) => taken.map((id) => byId.get(id)).filter((item) => item !== undefined));
  }

  // ----- a turn, as a function -----

  #inOrder(items: readonly Item[]): readonly Item[] {
    const key = (item: Item): readonly number[] => (this.#has('position') ? [item.position, item.atMs] : [item.atMs]);
    return [...items].sort((a, b) => {
      const [first, second] = [key(a), key(b)];
      const at = first.findIndex((value, n) => value !== second[n]);
      return at < 0 ? a.call - b.call : first[at]! - second[at]!;
    });
  }

  /** Returns the next commit of a run with this view; undefined if there is nothing to do. */
  #turnOf(commits: readonly Commit[], items: readonly Item[], at: number): Commit | undefined {
    const taken = new Set(commits.flatMap((commit) => commit.taken));
    const news = this.#inOrder(items.filter(({ id }) => !taken.has(id)));
    const before = this.#fold(commits, items, at);
    const kindOf = ({ call }: Item): Kind => this.#scenario.calls[call]!.kind;
    const terminate = news.find((item) => kindOf(item) === 'terminate');
    if (terminate !== undefined && this.#has('terminateFirst')) {
      const rest = news.filter((item) => item !== terminate).slice(0, taking);
      return { taken: [terminate, ...rest].map(({ id }) => id), ending: 'terminated' };
    }
    let isPaused = before.isPaused;
    for (const item of news) {
      if (kindOf(item) === 'pause') isPaused = true;
      if (kindOf(item) === 'resume') isPaused = false;
    }
    if (isPaused && this.#has('pauseHolds')) {
      const control = news.filter((item) => kindOf(item) === 'pause' || kindOf(item) === 'resume');
      return control.length === 0 ? undefined : { taken: control.map(({ id }) => id) };
    }
    const part = news.slice(0, taking).map(({ id }) => id);
    const after = this.#fold([...commits, { taken: part }], items, at);
    const isCut = part.length < news.length;
    if (after.ending !== undefined && (!isCut || !this.#has('takesAll')))
      return { taken: part, ending: after.ending, ...(after.ending === 'continued' ? { unheard: after.unheard } : {}) };
    return part.length === 0 ? undefined : { taken: part };
  }

  /** Returns what the workflow makes of what was taken in. */
  #fold(commits: readonly Commit[], items: readonly Item[], at: number) {
    const { calls, reads, runs, catches = false, isDeaf = false } = this.#scenario;
    const isLast = at === runs - 1;
    const unread: string[] = [];
    const unheard: string[] = [];
    const heard: string[] = [];
    let read = 0;
    let isPaused = false;
    let ending: Commit['ending'];
    const byId = new Map(items.map((item) => [item.id, item]));
    for (const id of commits.flatMap(({ taken }) => taken)) {
      const item = byId.get(id);
      if (item === undefined) continue;
      const { kind } = calls[item.call]!;
      if (kind === 'terminate') ending ??= 'terminated';
      if (kind === 'pause') isPaused = true;
      if (kind === 'resume') isPaused = false;
      if (kind === 'signal') {
        if (ending === undefined && read < reads) read++;
        else unread.push(id);
      }
      if (kind === 'cancel') {
        if (ending !== undefined || (isDeaf && !isLast)) unheard.push(id);
        else {
          heard.push(id);
          if (!catches) ending = 'cancelled';
        }
      }
      if (read >= reads) ending ??= isLast ? 'completed' : 'continued';
    }
    return { unread, unheard: this.#handsOn(unheard, heard), heard, read, isPaused, ending };
  }

  #handsOn(unheard: readonly string[], heard: readonly string[]): readonly string[] {
    return [...(this.#has('handsOnUnheard') ? unheard : []), ...(this.#has('keepsHeard') ? [] : heard)];
  }

  // ----- what must hold -----

  violationIn(state: State, isOver: boolean): string | undefined {
    const { calls } = this.#scenario;
    const acted = calls.map(() => [] as string[]);
    for (const [at, run] of state.runs.entries()) {
      if (run === undefined) continue;
      const taken = this.#taken(run);
      const folded = this.#fold(run.commits, run.items, at);
      for (const item of taken) {
        const { kind } = calls[item.call]!;
        const wasRead = kind === 'signal' && !folded.unread.includes(item.id);
        if (wasRead || (kind === 'cancel' && folded.heard.includes(item.id))) acted[item.call]?.push(`${at}`);
      }
      const order = taken.filter(({ call }) => calls[call]?.kind !== 'terminate').map(({ call }) => call);
      for (const [place, call] of order.entries()) {
        const after = calls[call]?.after;
        const isHeldBack = calls[call]?.kind === 'pause' || calls[call]?.kind === 'resume';
        if (after !== undefined && !isHeldBack && order.slice(place).includes(after))
          return `call ${call} acts before call ${after}, which was accepted before it was sent`;
      }
      if (run.commits.filter(({ ending }) => ending !== undefined).length > 1) return 'a run ends twice';
      if (run.status === 'ended' && at < state.runs.length - 1 && run.commits.at(-1)?.ending !== 'continued')
        return 'a run that has ended goes on';
    }
    for (const [call, times] of acted.entries()) {
      if (times.length > 1) return `call ${call} (${calls[call]?.kind ?? ''}) acts ${times.length} times`;
    }
    if (!isOver) return undefined;
    return this.#violationAtEnd(state, acted);
  }

  #violationAtEnd(state: State, acted: readonly (readonly string[])[]): string | undefined {
    const { calls } = this.#scenario;
    const last = state.runs.at(-1);
    const hasEnded = last?.status === 'ended';
    const endings = state.runs.map((run) => run?.commits.at(-1)?.ending);
    const isAccepted = (at: number): boolean => state.callers[at]?.answer === 'accepted';
    for (const [at, { kind }] of calls.entries()) {
      if (state.callers[at]?.answer === 'refused' && !hasEnded) return `call ${at} was refused, and the chain goes on`;
      if (!isAccepted(at)) continue;
      const isInLog = state.runs.some((run) => run !== undefined && this.#taken(run).some(({ call }) => call === at));
      const waits = last?.status === 'running' && last.items.some(({ call }) => call === at);
      if (!isInLog && !waits && !endings.includes('terminated'))
        return `call ${at} (${kind}) was accepted and is in no log`;
      if (kind === 'terminate' && !endings.includes('terminated'))
        return 'a terminate was accepted, and the chain goes on';
      if (kind === 'signal' && acted[at]?.length === 0 && last !== undefined && !endings.includes('terminated')) {
        const isListed = this.#fold(last.commits, last.items, state.runs.length - 1).unread.length > 0 || waits;
        if (!isListed) return `signal ${at} was accepted, and is neither read nor listed`;
      }
      if (kind === 'cancel' && acted[at]?.length === 0 && !waits && !hasEnded)
        return `cancel ${at} was accepted, and nobody hears it`;
    }
    // A pause without a later accepted request holds.
    const pause = calls.findIndex(({ kind }, at) => kind === 'pause' && isAccepted(at));
    const resume = calls.findIndex(({ kind }) => kind === 'resume');
    if (
      pause >= 0 &&
      resume < 0 &&
      calls.some(({ after, kind }, at) => after === pause && kind === 'signal' && (acted[at]?.length ?? 0) > 0)
    )
      return 'a pause was accepted, and the run went on';
    if (
      pause >= 0 &&
      resume >= 0 &&
      calls[resume]?.after === pause &&
      isAccepted(resume) &&
      last?.status === 'running' &&
      this.#fold(last.commits, last.items, state.runs.length - 1).isPaused
    )
      return 'a resume was accepted after a pause, and the run stays paused';
    return undefined;
  }
}
