import type { TaskProgress } from '../../../lib/history/task-trail.js';

/** A part that must come to its end, whatever closes it. */
interface Owed {
  readonly what: 'saga' | 'shield';
  readonly path: string;
  isBegun: boolean;
  isSettled: boolean;
}

/** A request that outlives the run. */
interface Asked {
  readonly what: 'abandoned child' | 'left call';
  state: 'open' | 'rejected' | 'resolved';
}

/** Promises of the engine as one execution of a workflow's code has seen them. A replay must see the same. */
export interface Told {
  readonly runId: string;
  readonly owed: Owed[];
  readonly asked: Asked[];
  /** What the handler of each call has heard, in the order of the calls. */
  readonly heardOf: TaskProgress[][];
  /** Ids of the messages of its caller that it has read, in that order. */
  readonly read: string[];
  /** Requests that were still wanted when the code came to its end. */
  wanted: readonly Asked['what'][];
  hasReturned: boolean;
  /** Number of waits that the cancel of the run reached. */
  heard: number;
}

/** Records what the code of a workflow reports. */
export class Telling {
  readonly told: Told;
  readonly #path: string;
  readonly #hooks: TellingHooks;
  readonly #last: { nowMs: number };
  readonly #numbers: { last: number };

  constructor(runId: string, hooks: TellingHooks, path = '', told?: Told, last = { nowMs: 0 }, numbers = { last: 0 }) {
    this.told = told ?? { runId, owed: [], asked: [], heardOf: [], read: [], wanted: [], hasReturned: false, heard: 0 };
    this.#path = path;
    this.#hooks = hooks;
    this.#last = last;
    this.#numbers = numbers;
  }

  within(path: string): Telling {
    return new Telling(this.told.runId, this.#hooks, path, this.told, this.#last, this.#numbers);
  }

  instantMs(second: number): number {
    return this.#hooks.instantMs(second);
  }

  now(nowMs: number): void {
    this.#hooks.onNow(this.told.runId, this.#last.nowMs, nowMs);
    this.#last.nowMs = nowMs;
  }

  gotSignal(name: string, value: unknown): void {
    if (typeof value !== 'string' || !value.startsWith(`${name}:`))
      this.#hooks.fail('signal-payload-lost', `run ${this.told.runId.slice(0, 4)} was given ${JSON.stringify(value)}`);
  }

  /** `said`: what the answer says that it answers; undefined if it is for whatever is asked. */
  gotAnswer(question: string, said: string | undefined): void {
    if (said !== undefined && said !== question)
      this.#hooks.fail('answer-of-another-question', `${question} was given the answer of ${said}`);
  }

  gotMessage(messageId: string): void {
    if (this.told.read.includes(messageId))
      this.#hooks.fail('message-read-twice', `${messageId} by run ${this.told.runId.slice(0, 4)}`);
    this.told.read.push(messageId);
  }

  gotSome(results: unknown, first: unknown): void {
    if (JSON.stringify(results) !== JSON.stringify(first))
      this.#hooks.fail(
        'some-gave-others',
        `run ${this.told.runId.slice(0, 4)}: ${JSON.stringify(results)}, and first were ${JSON.stringify(first)}`,
      );
  }

  /** Registers the handler of a call; returns what reports that it hears of a change. */
  hears(): (shown: TaskProgress) => void {
    const heard: TaskProgress[] = [];
    this.told.heardOf.push(heard);
    return (shown) => {
      heard.push(shown);
    };
  }

  heardCancel(): void {
    this.told.heard++;
  }

  owes(what: Owed['what']): { readonly begun: () => void; readonly settled: () => void } {
    const owed: Owed = { what, path: this.#path, isBegun: false, isSettled: false };
    this.told.owed.push(owed);
    return {
      begun: () => {
        owed.isBegun = true;
      },
      settled: () => {
        owed.isSettled = true;
      },
    };
  }

  asked(what: Asked['what'], promise: Promise<unknown>): void {
    const asked: Asked = { what, state: 'open' };
    this.told.asked.push(asked);
    promise.then(
      () => {
        asked.state = 'resolved';
      },
      () => {
        asked.state = 'rejected';
      },
    );
  }

  /** Registers a part that the engine closes when it settles; by then nothing inside it may be owed. */
  closing(what: 'ctx.race' | 'ctx.some' | 'ctx.scope'): {
    readonly path: string;
    readonly closed: () => void;
    readonly settled: () => void;
  } {
    const path = `${this.#path}/${what}${++this.#numbers.last};`;
    let isClosed = false;
    return {
      path,
      closed: () => {
        isClosed = true;
      },
      settled: () => {
        if (!isClosed) return;
        const left = this.told.owed.filter((owed) => owed.path.startsWith(path) && owed.isBegun && !owed.isSettled);
        for (const { what: owing } of left)
          this.#hooks.fail(
            `${what.slice('ctx.'.length)}-left-${owing}`,
            `run ${this.told.runId.slice(0, 4)}: ${what} settled while a ${owing} inside of it was not done`,
          );
      },
    };
  }

  returned(): void {
    this.told.hasReturned = true;
    this.told.wanted = this.told.asked.filter(({ state }) => state === 'open').map(({ what }) => what);
  }
}

export interface TellingHooks {
  fail(kind: string, detail: string): void;
  onNow(runId: string, beforeMs: number, nowMs: number): void;
  instantMs(second: number): number;
}
