import { hasCode } from '../../../../lib/base/errors.js';
import type { Deps } from '../../../../lib/operations/deps.js';
import type { Followed, Tasks } from '../../../../lib/serve/tasks.js';
import type { World } from '../../world.js';
import { short } from '../book.js';
import type { ServedCounts } from './served-oracles.js';
import type { ServedRequest } from './served.js';
import type { TaskTruth } from './truth.js';

const S = 1_000;

interface Watched {
  readonly world: World;
  readonly truth: TaskTruth;
  readonly tasksOf: (deps: Deps) => Tasks;
  readonly request: Extract<ServedRequest, { what: 'watch' }>;
  readonly counts: ServedCounts;
}

/** Follows a task, leaves, and comes back to any replica; checks that it sees each change once and in order. */
export class Watcher {
  readonly #watched: Watched;
  /** Generation of the last change that it has seen; undefined before the first reply. */
  #last: number | undefined;
  /** Counts its connections: what an earlier one still says is not heard. */
  #connections = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  begin(): void {
    const { world, truth, tasksOf, request } = this.#watched;
    const staysS = request.leaves[this.#connections];
    if (staysS === undefined) return;
    const number = ++this.#connections;
    if (number > 1) this.#watched.counts.resumed++;
    const controller = new AbortController();
    world.at(world.nowMs + staysS * S, () => {
      controller.abort();
      this.begin();
    });
    const isHere = (): boolean => number === this.#connections && !controller.signal.aborted;
    const after = request.from === 'cursor' ? this.#last : undefined;
    const from = truth.generation;
    world.request('watcher', async (deps) => {
      const options = { ...(after === undefined ? {} : { afterGeneration: after }), signal: controller.signal };
      let isFirst = true;
      try {
        for await (const one of tasksOf(deps).follow(truth.taskId, options)) {
          if (!isHere()) return;
          if (isFirst && after === undefined) this.#checkFirst(one, from);
          else this.#checkNext(one);
          isFirst = false;
        }
        if (isHere() && this.#last !== truth.generation)
          this.#fail('stream-ended-early', `at ${this.#last ?? 0} of ${truth.generation}`);
      } catch (error) {
        if (isHere()) this.#checkError(error, after);
      }
    });
  }

  /** Checks the reply that a stream begins with: the task as it is. */
  #checkFirst(one: Followed, from: number): void {
    const { truth } = this.#watched;
    if (one.kind !== 'snapshot') {
      this.#fail('stream-without-snapshot', one.kind);
      return;
    }
    const { generation, status } = one.task;
    this.#last = generation;
    if (generation < from) this.#fail('stale-snapshot', `at ${generation}, it was at ${from} before`);
    if (status.state !== truth.stateAt(generation)) this.#fail('state-not-of-log', `snapshot at ${generation}`);
  }

  #checkNext(one: Followed): void {
    const { truth, counts } = this.#watched;
    counts.followed++;
    if (one.kind === 'snapshot') {
      this.#fail('snapshot-in-stream', `at ${one.task.generation}`);
      return;
    }
    const expected = (this.#last ?? 1) + 1;
    if (one.generation !== expected)
      this.#fail(
        one.generation < expected ? 'change-told-twice' : 'change-left-out',
        `${one.generation}, not ${expected}`,
      );
    const problem = truth.problemWith(one);
    if (problem !== undefined) this.#fail('told-otherwise', problem);
    this.#last = one.generation;
  }

  #checkError(error: unknown, after: number | undefined): void {
    const { truth } = this.#watched;
    const isOver = truth.final !== undefined && (after === undefined || after >= truth.generation);
    if (hasCode(error, 'TASK_ENDED') && isOver) return;
    if (hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN')) return;
    this.#fail('watcher-fails', error instanceof Error ? error.message : 'unknown');
  }

  #fail(kind: string, detail: string): void {
    const { world, truth } = this.#watched;
    world.fail(kind, `task ${short(truth.taskId)}: ${detail}`);
  }
}
