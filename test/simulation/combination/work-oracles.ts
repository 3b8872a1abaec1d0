import { hasCode, isEngineError } from '../../../lib/base/errors.js';
import type { EpochMs } from '../../../lib/base/time.js';
import type { Process, World } from '../world.js';
import { short, type Book } from './book.js';
import { noticeMs, wasTroubled, type Known } from './known.js';
import type { ScheduleOracles } from './schedule-oracles.js';

const S = 1_000;

/** Checks the work of processes: that it is repeated only after a death, and not begun when it must not be. */
export class WorkOracles {
  readonly #known: Known;
  readonly #world: World;
  readonly #schedules: ScheduleOracles;

  constructor(known: Known, schedules: ScheduleOracles) {
    this.#known = known;
    this.#world = known.world;
    this.#schedules = schedules;
  }

  onKilled(process: Process): void {
    this.#lose(process);
  }

  /** Records that the process is over and that its work may have to be repeated. */
  #lose(process: Process): void {
    const book = process.runId === undefined ? undefined : this.#known.books.get(process.runId);
    if (book !== undefined) book.lost++;
  }

  onOver(process: Process): void {
    this.#schedules.onOver(process);
    if (process.isLost) this.#lose(process);
    const book = process.runId === undefined ? undefined : this.#known.books.get(process.runId);
    const { nowMs } = this.#world;
    if (book !== undefined && process.troubledAtMs > 0 && nowMs - process.startedAtMs > 25 * S) book.gaveUp++;
  }

  onFailed(process: Process, error: unknown): void {
    this.onOver(process);
    const { runId } = process;
    const book = runId === undefined ? undefined : this.#known.books.get(runId);
    if (book === undefined) return;
    if (hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN')) return;
    const text = isEngineError(error) ? `${error.code}: ${error.message}` : String(error);
    const count = (book.errors.get(text) ?? 0) + 1;
    book.errors.set(text, count);
    if (count === 2) this.#fail('turn-throws-again', text);
  }

  /** Called when an attempt of a step begins. `isCleanup` does not matter, since all work of a run counts. */
  onStepBegins(runId: string, key: string, process: Process | undefined): void {
    const book = this.#known.books.get(runId);
    if (book === undefined) return;
    const work = book.work.get(key) ?? { began: 0, failed: 0 };
    work.began++;
    book.work.set(key, work);
    // Counts a process of the run that is frozen or not yet found dead.
    const allowed = 1 + work.failed + book.lost + book.gaveUp + this.#beingLost(runId, process);
    if (work.began > allowed)
      this.#fail(
        'step-ran-again',
        `run ${short(runId)}: began ${work.began} times, failed ${work.failed} times, ${book.lost} processes lost`,
      );
    this.#onBegins(book, process, 'a step');
  }

  onStepFails(runId: string, key: string): void {
    const work = this.#known.books.get(runId)?.work.get(key);
    if (work !== undefined) work.failed++;
  }

  #beingLost(runId: string, own: Process | undefined): number {
    let count = 0;
    for (const process of this.#world.processes)
      if (process !== own && process.runId === runId && (process.isLost || process.troubledAtMs > 0)) count++;
    return count;
  }

  onRemoteStart(process: Process, key: string): void {
    const book = process.runId === undefined ? undefined : this.#known.books.get(process.runId);
    if (book === undefined || book.ending !== undefined) return;
    // A task that is no longer waited for may be started again, only to learn its id.
    const call = this.#world.callOf(key);
    const isOver = book.items.get(`t#${call.waitId}`)?.['settledAtMs'] !== undefined;
    if (!isOver) this.#onBegins(book, process, 'a remote task');
  }

  #onBegins(book: Book, process: Process | undefined, what: string): void {
    const { nowMs, furthestMs } = this.#world;
    const { chain, runId, head } = book;
    const { control, terminatedAtMs } = chain;
    const untroubled = (sinceMs: EpochMs): boolean =>
      nowMs > sinceMs + noticeMs && !wasTroubled(this.#known, process, sinceMs);
    if (control.is === 'paused' && untroubled(control.sinceMs) && furthestMs < control.sinceMs + 23 * 3_600 * S)
      this.#fail(
        'began-while-paused',
        `${what} of run ${short(runId)}, paused at second ${this.#world.secondsOf(control.sinceMs)}`,
      );
    if (terminatedAtMs !== undefined && untroubled(terminatedAtMs))
      this.#fail('began-after-terminate', `${what} of run ${short(runId)}`);
    const clockMs = nowMs + (process?.skewMs ?? 0);
    if (
      what === 'a step' &&
      head.deadlineAtMs !== undefined &&
      clockMs > head.deadlineAtMs + 100 &&
      process !== undefined &&
      !wasTroubled(this.#known, process, head.deadlineAtMs - process.skewMs)
    )
      this.#fail('began-after-timeout', `${what} of run ${short(runId)}, ${(clockMs - head.deadlineAtMs) / S} s late`);
  }

  /**
   * Checks that a process has died for each strike. Several attempts of one step may be lost with one process, but not
   * at the same time.
   */
  checkInterrupted(book: Book, code: string): void {
    if (code !== 'STEP_POISONED' && code !== 'STEP_INTERRUPTED') return;
    const needed = code === 'STEP_POISONED' ? 3 : 1;
    const frozen = [...this.#world.processes].filter(({ runId, isLost }) => runId === book.runId && isLost).length;
    // The result of a step that must not run again is lost with the turn that could not store it within its time.
    const unstored = code === 'STEP_INTERRUPTED' ? book.gaveUp : 0;
    if (book.lost + frozen + unstored >= needed) return;
    this.#fail(
      'step-struck-without-death',
      `${code} in run ${short(book.runId)}, of whose processes ${book.lost} were lost`,
    );
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}
