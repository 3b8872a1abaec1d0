import type { EpochMs } from '../../../lib/base/time.js';
import type { StepContext } from '../../../lib/workflow/step-options.js';
import type { World } from '../world.js';
import { short } from './book.js';
import type { Input, Stage, Work } from './interpret.js';
import { noticeMs } from './known.js';
import type { Oracles } from './oracles.js';
import { Telling, type Told } from './telling.js';

const S = 1_000;

/** The stage of the workflows of one case. */
export class CaseStage implements Stage {
  /** Promises that the last replay has seen. */
  told: Told | undefined;
  readonly #world: World;
  readonly #oracles: Oracles;
  readonly #startMs: EpochMs;

  constructor(world: World, oracles: Oracles) {
    this.#world = world;
    this.#oracles = oracles;
    this.#startMs = world.nowMs;
  }

  open(runId: string, input: Input): Telling {
    const world = this.#world;
    this.#oracles.starts.onCode(runId, input);
    const telling = new Telling(runId, {
      fail: (kind, detail) => {
        world.fail(kind, detail);
      },
      onNow: (id, beforeMs, nowMs) => {
        if (nowMs > world.furthestMs)
          world.fail(
            'now-ahead',
            `run ${short(id)}: ctx.now() is second ${world.secondsOf(nowMs)} at second ${world.seconds}`,
          );
        if (nowMs < beforeMs) world.fail('now-goes-back', `run ${short(id)}`);
      },
      instantMs: (second) => this.#startMs + second * S,
    });
    this.told = telling.told;
    return telling;
  }

  async work(runId: string, step: StepContext, { program, handle }: Work): Promise<string> {
    const world = this.#world;
    const { idempotencyKey: key, attempt, log } = step;
    if (world.isReplaying) world.fail('replay-ran-a-step', short(runId));
    const process = world.processOf(log);
    this.#oracles.work.onStepBegins(runId, key, process);
    let isAborted = false;
    let isDone = false;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        if (process?.dead === true || isDone) return;
        isDone = true;
        resolve();
      };
      if (program.honours) {
        const { signal } = step;
        const abort = (): void => {
          isAborted = true;
          end();
        };
        if (signal.aborted) abort();
        else signal.addEventListener('abort', abort);
      }
      world.at(world.nowMs + program.takes * S, end);
      handle.gaveUp = () => {
        if (!program.honours || isDone) return;
        const sinceMs = world.nowMs;
        const check = (): void => {
          if (isDone || isAborted || process?.dead === true) return;
          if ((process?.troubledAtMs ?? 0) >= sinceMs - S || world.lastFaultMs >= sinceMs - S) return;
          const control = this.#oracles.book(runId)?.chain.control;
          // A commit that lost to a pause has closed nothing, and under a pause the work in progress ends by itself.
          if (control?.is !== 'running') {
            world.at(world.nowMs + S, check);
            return;
          }
          const isSeenAtMs = control.sinceMs > sinceMs ? control.sinceMs + noticeMs : sinceMs;
          if (world.nowMs < isSeenAtMs) {
            world.at(isSeenAtMs, check);
            return;
          }
          world.fail('abort-late', `a step of run ${short(runId)} works on, long after its wait was closed`);
        };
        world.at(sinceMs + 1_500, check);
      };
    });
    if (attempt <= program.fails || program.fatal === true) {
      this.#oracles.work.onStepFails(runId, key);
      throw new Error(`attempt ${attempt} fails`);
    }
    return `work ${attempt}`;
  }
}
