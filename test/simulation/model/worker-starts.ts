// Explicit-state model of starts that workers make: a turn hands an attempt over, a worker claims it, calls, and
// records its result. Messages and wakes are lost and duplicated, processes die before each operation, leases run out
// on living workers, and the run closes the wait at any moment.

import { explore, type Found, type StepModel } from './explore.js';

/** Rules of the protocol, each of which can be switched off. */
export const rules = {
  handOverMarked: 'a hand-over has a marker, and the sweep sends its message again',
  claimOnce: 'a claim is on the due instant that was read',
  claimMarked: 'a claim has a marker at the end of its lease',
  claimOpen: 'a claim is on a wait that is open',
  unknownFate: 'a claim that was left behind is called again only towards a server that dedupes',
  cameMarked: 'what came of an attempt has a marker, and the sweep wakes the run again',
  turnDefers: 'while a worker has an attempt no turn makes it',
  nextOnlyAfterWord: 'the next attempt is claimed only when it is known what the last one came to',
  handleOpen: 'a handle is stored on a wait that is open; the task of another one is cancelled',
  ambiguousOpen: 'a start ends as ambiguous only where no handle has come',
  endWaitsForCall: 'the end effects of a wait look for its task when no call is under way any more',
  lookMarked: 'a worker that looks for the task of a closed wait leaves a marker at the end of its claim',
  leftMarked: 'the handle of a task that was looked for is left with a marker',
} as const;
export type Rule = keyof typeof rules;

export interface Scenario {
  readonly name: string;
  readonly server: 'dedupes' | 'finds' | 'neither';
  /**
   * Number of times that a process may die, a message or a wake be lost, a message be duplicated, a lease run out on a
   * living worker.
   */
  readonly deaths?: number;
  readonly losses?: number;
  readonly doubles?: number;
  readonly freezes?: number;
  /** Number of calls that may be refused, certainly unprocessed. */
  readonly refusals?: number;
  /** Number of times that something else wakes the run. */
  readonly news?: number;
  /** Whether the run may end or close the wait at any moment. */
  readonly closes?: boolean;
}

interface Item {
  attempt: number;
  /** Version of the marker: a new one with each write that moves it. */
  version: number;
  isMarked: boolean;
  claim: number | null;
  came: 'failed' | 'lost' | null;
  /** Number of its task. */
  handle: number | null;
  settled: 'ambiguous' | 'closed' | 'failed' | null;
}
interface Worker {
  at: 'idle' | 'read' | 'claimed' | 'answered' | 'unanswered' | 'refused';
  /** The values that it has read. */
  version: number;
  claim: number | null;
  attempt: number;
  task: number;
  /** The number of its claim. */
  mine: number;
  /** Whether its lease has run out although it lives. */
  isFrozen: boolean;
}
/** The worker that repeats the start of a closed wait, to learn the id of the task that is to be cancelled. */
interface Looker {
  at: 'idle' | 'claimed' | 'answered';
  task: number;
}
interface State {
  item: Item | null;
  /** Number of attempts that the log knows as failed. */
  failed: number;
  isLooking: boolean;
  /** The marker whose message it is about to send. */
  sends: number | null;
  isAwake: boolean;
  messages: number[];
  workers: Worker[];
  looker: Looker;
  /** Whether the message that requests a look is in flight. */
  isLookSent: boolean;
  /** Whether each task was cancelled. */
  tasks: boolean[];
  claims: number;
  isEndDone: boolean;
  calledLate: boolean;
  /** Whether a call got no answer. */
  isUnanswered: boolean;
  /** Whether the log knows of an attempt that was sent and got no answer. */
  wasSent: boolean;
  left: Record<'deaths' | 'losses' | 'doubles' | 'freezes' | 'refusals' | 'closes' | 'news', number>;
}
type Step = (state: State) => void;

const attemptsMax = 3;

/** Visits every reachable state. `off`: without these rules. */
export function search(scenario: Scenario, off: readonly Rule[] = [], limit = 600_000): Found {
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
    const { deaths = 0, losses = 0, doubles = 0, freezes = 0, refusals = 0, news = 0, closes = false } = this.#scenario;
    return {
      item: null,
      failed: 0,
      isLooking: false,
      sends: null,
      isAwake: true,
      messages: [],
      workers: [idle(), idle()],
      looker: { at: 'idle', task: 0 },
      isLookSent: false,
      tasks: [],
      claims: 0,
      isEndDone: false,
      calledLate: false,
      isUnanswered: false,
      wasSent: false,
      left: { deaths, losses, doubles, freezes, refusals, news, closes: Number(closes) },
    };
  }

  steps(state: State): readonly Step[] {
    return [
      ...this.#turnSteps(state),
      ...this.#sweepSteps(state),
      ...this.#troubles(state),
      ...this.#endSteps(state),
      ...this.#lookSteps(state),
      ...state.workers.flatMap((_, at) => this.#workerSteps(state, at)),
    ];
  }

  violationIn(state: State, isQuiet: boolean): string | undefined {
    const { item, tasks } = state;
    if (this.#scenario.server !== 'dedupes' && tasks.length > 1) return 'two tasks';
    if (state.calledLate) return 'a call for a wait that was closed before it was claimed';
    if (!isQuiet) return undefined;
    if (item === null || (isOpen(item) && item.handle === null)) return 'a start that waits for ever';
    if (item.handle !== null && item.settled === 'ambiguous')
      return 'a task that is known, and a call that says that it is not';
    const isForgotten = tasks.some((isCancelled, task) => !isCancelled && !this.#isAccounted(state, item, task));
    return isForgotten ? 'a task that nobody knows of' : undefined;
  }

  #isAccounted({ left, isUnanswered }: State, { handle, settled }: Item, task: number): boolean {
    if (handle === task && settled === null) return true;
    if (settled === 'ambiguous') return true;
    // The fate can be unknown: to the server, or because the process that called after the wait was closed died before
    // it learned it.
    const { server, deaths = 0, freezes = 0 } = this.#scenario;
    const isUnknown = server === 'neither' || left.freezes < freezes;
    return settled === 'closed' && isUnknown && (left.deaths < deaths || isUnanswered);
  }

  // ----- the turn -----

  #turnSteps({ item, isAwake, sends, failed, isLooking, tasks }: State): Step[] {
    if (sends !== null)
      return [
        (state) => {
          state.sends = null;
          state.messages.push(sends);
        },
      ];
    if (!isAwake) return [];
    if (item === null)
      return [
        (state) => {
          state.isAwake = false;
          state.sends = 1;
          state.item = this.#handedOver(1, 1);
        },
      ];
    if (!isOpen(item) || item.handle !== null) return [rest];
    if (isLooking)
      return [
        (state) => {
          state.isAwake = false;
          const now = state.item!;
          if (tasks.length > 0 && now.handle === null) now.handle = 0;
          else if (now.handle === null) now.settled = 'ambiguous';
        },
      ];
    const steps: Step[] = [];
    const isNext = item.attempt === failed + 1;
    if (isNext && item.came === 'lost')
      steps.push((state) => {
        state.isLooking = true;
      });
    else if (isNext && (item.came === 'failed' || !this.#has('nextOnlyAfterWord')))
      steps.push((state) => {
        state.isAwake = false;
        state.failed = item.attempt;
        state.wasSent ||= tasks.length > 0;
        if (item.attempt >= attemptsMax) {
          state.item!.settled = state.wasSent ? 'ambiguous' : 'failed';
          return;
        }
        state.sends = item.version + 1;
        state.item = this.#handedOver(item.attempt + 1, item.version + 1);
      });
    else steps.push(rest);
    if (!this.#has('turnDefers'))
      steps.push((state) => {
        state.isAwake = false;
        this.#call(state);
      });
    return steps;
  }

  #handedOver(attempt: number, version: number): Item {
    const isMarked = this.#has('handOverMarked');
    return { attempt, version, isMarked, claim: null, came: null, handle: null, settled: null };
  }

  // ----- the sweep -----

  #sweepSteps({ item, messages, isAwake, workers }: State): Step[] {
    if (item === null || !item.isMarked || !isOpen(item) || item.handle !== null) return [];
    if (item.came !== null) return isAwake ? [] : [wake];
    if (messages.includes(item.version)) return [];
    // Its lease has not run out.
    if (item.claim !== null && workers.some((one) => isCalling(one, item.claim) && !one.isFrozen)) return [];
    return [
      (state) => {
        state.messages.push(item.version);
      },
    ];
  }

  // ----- workers -----

  #workerSteps(state: State, at: number): Step[] {
    const worker = state.workers[at]!;
    const { item } = state;
    const { server } = this.#scenario;
    const asWorker =
      (act: (state: State, worker: Worker, item: Item) => void): Step =>
      (next) => {
        act(next, next.workers[at]!, next.item!);
      };
    if (worker.at === 'idle')
      return state.messages.length === 0
        ? []
        : [
            asWorker((next, one) => {
              const version = next.messages.shift()!;
              const now = next.item;
              if (now?.version !== version || !isOpen(now) || now.handle !== null) return;
              if (now.came !== null) next.isAwake = true;
              else next.workers[at] = { ...one, at: 'read', version, claim: now.claim, attempt: now.attempt };
            }),
          ];
    if (item === null) return [];
    const leave = (came: 'failed' | 'lost', claim: number | null): Step =>
      asWorker((next, one, now) => {
        Object.assign(one, idle());
        const isSame = now.claim === claim && now.attempt === worker.attempt && now.came === null;
        if (!isSame || !isOpen(now) || now.handle !== null) return;
        Object.assign(now, { came, version: now.version + 1, isMarked: this.#has('cameMarked') });
        next.isAwake = true;
      });
    const ambiguous = asWorker((next, one, now) => {
      Object.assign(one, idle());
      const mayBeKnown = this.#has('ambiguousOpen') && now.handle !== null;
      if (!isOpen(now) || mayBeKnown) return;
      now.settled = 'ambiguous';
      next.isAwake = true;
    });
    switch (worker.at) {
      case 'read': {
        if (worker.claim !== null && server !== 'dedupes' && this.#has('unknownFate'))
          return [server === 'finds' ? leave('lost', worker.claim) : ambiguous];
        return [
          asWorker((next, one, now) => {
            const isAsRead = now.version === worker.version || !this.#has('claimOnce');
            const mayClaim = isOpen(now) || !this.#has('claimOpen');
            if (!isAsRead || !mayClaim || now.handle !== null || now.attempt !== worker.attempt) {
              Object.assign(one, idle());
              return;
            }
            if (!isOpen(now)) next.calledLate = true;
            const mine = ++next.claims;
            Object.assign(now, { claim: mine, version: now.version + 1, isMarked: this.#has('claimMarked') });
            Object.assign(one, { at: 'claimed', mine });
          }),
        ];
      }
      case 'claimed':
        return [
          ...(['answered', 'unanswered'] as const).map((how) =>
            asWorker((next, one) => {
              one.task = this.#call(next);
              one.at = how;
              next.isUnanswered ||= how === 'unanswered';
            }),
          ),
          ...(state.left.refusals > 0
            ? [
                asWorker((next, one) => {
                  next.left.refusals--;
                  one.at = 'refused';
                }),
              ]
            : []),
        ];
      case 'answered':
        return [
          asWorker((next, one, now) => {
            if (isOpen(now) || !this.#has('handleOpen')) {
              now.handle = worker.task;
              now.isMarked = false;
            } else next.tasks[worker.task] = true;
            Object.assign(one, idle());
          }),
        ];
      case 'refused':
        return [leave('failed', worker.mine)];
      case 'unanswered':
        if (server === 'dedupes') return [leave('failed', worker.mine)];
        return [server === 'finds' ? leave('lost', worker.mine) : ambiguous];
    }
  }

  /** Returns the number of the task that the server names. */
  #call(state: State): number {
    if (this.#scenario.server === 'dedupes' && state.tasks.length > 0) return 0;
    return state.tasks.push(false) - 1;
  }

  // ----- what goes wrong, and the end -----

  #troubles({ left, messages, isAwake, sends, workers, item, looker, isLookSent }: State): Step[] {
    const steps: Step[] = [];
    if (left.losses > 0 && isLookSent)
      steps.push((state) => {
        state.left.losses--;
        state.isLookSent = false;
      });
    if (left.deaths > 0 && looker.at !== 'idle')
      steps.push((state) => {
        state.left.deaths--;
        state.looker.at = 'idle';
      });
    if (left.losses > 0 && messages.length > 0)
      steps.push((state) => {
        state.left.losses--;
        state.messages.shift();
      });
    if (left.losses > 0 && isAwake && item !== null)
      steps.push((state) => {
        state.left.losses--;
        state.isAwake = false;
      });
    if (left.news > 0 && !isAwake)
      steps.push((state) => {
        state.left.news--;
        state.isAwake = true;
      });
    if (left.doubles > 0 && messages.length > 0)
      steps.push((state) => {
        state.left.doubles--;
        state.messages.push(state.messages[0]!);
      });
    if (left.deaths > 0 && sends !== null)
      steps.push((state) => {
        state.left.deaths--;
        state.sends = null;
      });
    for (const [at, worker] of workers.entries()) {
      if (worker.at === 'idle') continue;
      if (left.deaths > 0)
        steps.push((state) => {
          state.left.deaths--;
          state.workers[at] = idle();
        });
      if (left.freezes > 0 && !worker.isFrozen && worker.mine > 0)
        steps.push((state) => {
          state.left.freezes--;
          state.workers[at]!.isFrozen = true;
        });
    }
    return steps;
  }

  #endSteps({ left, item, isEndDone, workers, looker, isLookSent, wasSent }: State): Step[] {
    const steps: Step[] = [];
    if (left.closes > 0 && item !== null && isOpen(item))
      steps.push((state) => {
        state.left.closes--;
        state.item!.settled = 'closed';
        state.item!.isMarked = true;
      });
    if (item?.settled !== 'closed' || isEndDone || !item.isMarked) return steps;
    const isUnderWay = workers.some((one) => isCalling(one, item.claim) && !one.isFrozen);
    if (item.handle === null && isUnderWay && this.#has('endWaitsForCall')) return steps;
    const isLost = item.handle === null && (item.claim !== null || wasSent);
    // A start with the same key returns the existing task, and may take minutes.
    if (isLost && this.#scenario.server === 'dedupes') {
      if (isLookSent || looker.at !== 'idle') return steps;
      steps.push((state) => {
        state.isLookSent = true;
      });
      return steps;
    }
    steps.push((state) => {
      state.isEndDone = true;
      const { handle } = state.item!;
      if (handle !== null) state.tasks[handle] = true;
      // A task that is looked for is found.
      else if (isLost && this.#scenario.server === 'finds') state.tasks = state.tasks.map(() => true);
    });
    return steps;
  }

  /** A call without an answer leaves the claim to run out. */
  #lookSteps({ looker, isLookSent, item, isEndDone }: State): Step[] {
    switch (looker.at) {
      case 'idle':
        if (!isLookSent) return [];
        return [
          (state) => {
            state.isLookSent = false;
            if (item?.handle !== null || isEndDone) return;
            state.looker.at = 'claimed';
            state.item!.isMarked = this.#has('lookMarked');
          },
        ];
      case 'claimed':
        return (['answered', 'idle'] as const).map((at): Step => (state) => {
          state.looker = { at, task: this.#call(state) };
        });
      case 'answered':
        return [
          (state) => {
            state.looker.at = 'idle';
            Object.assign(state.item!, { handle: looker.task, isMarked: this.#has('leftMarked') });
          },
        ];
    }
  }
}

function idle(): Worker {
  return { at: 'idle', version: 0, claim: null, attempt: 0, task: 0, mine: 0, isFrozen: false };
}

function isOpen({ settled }: Item): boolean {
  return settled === null;
}

function isCalling({ at, mine }: Worker, claim: number | null): boolean {
  return at !== 'idle' && at !== 'read' && mine === claim;
}

const wake: Step = (state) => {
  state.isAwake = true;
};

const rest: Step = (state) => {
  state.isAwake = false;
};
