import { toToken } from '../../../lib/store/items/token.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import type { Item } from '../../../lib/store/table.js';
import type { Process, RemoteTask, World } from '../world.js';
import { short, type Book } from './book.js';
import type { Known } from './known.js';
import type { WorkOracles } from './work-oracles.js';

/** Checks tokens: one settlement each, notices of questions, and remote tasks that nothing waits for. */
export class TaskOracles {
  readonly #known: Known;
  readonly #world: World;
  readonly #work: WorkOracles;
  readonly #helpless = new Set<string>();
  /** Notices that processes have claimed. */
  readonly #claims = new Set<string>();

  constructor(known: Known, work: WorkOracles) {
    this.#known = known;
    this.#world = known.world;
    this.#work = work;
  }

  onToken(book: Book, token: TokenRecord, old: Item | undefined): void {
    const before = old === undefined ? undefined : toToken(old);
    const { settlement } = token;
    this.#onNotices(token, before);
    const label = `wait ${token.waitId} of run ${short(book.runId)}`;
    if (before?.dueAtMs !== undefined && token.dueAtMs === undefined) this.#checkTaskOf(token);
    if (before?.settlement !== undefined && JSON.stringify(before.settlement) !== JSON.stringify(settlement))
      this.#fail('settlement-replaced', label);
    if (settlement === undefined) {
      if (book.endedAtMs !== undefined) this.#fail('open-token-after-end', label);
      return;
    }
    if (before?.settlement !== undefined) return;
    if (book.endedAtMs !== undefined) this.#fail('settled-after-end', label);
    const { outcome } = settlement;
    if (outcome.kind === 'timed_out' && this.#world.furthestMs < (token.deadlineAtMs ?? Infinity))
      this.#fail('early-deadline', label);
    if (outcome.kind === 'run_ended' && book.ending === undefined) this.#fail('closed-but-run-goes-on', label);
    if (outcome.kind === 'failed') this.#work.checkInterrupted(book, outcome.error.code);
  }

  /** Checks a write of the notices of a question: no claim after an answer, and nothing counted that nobody got. */
  #onNotices(token: TokenRecord, before: TokenRecord | undefined): void {
    const { runId, waitId, notices, settlement } = token;
    for (const [at, line] of (notices?.lines ?? []).entries()) {
      const known = before?.notices?.lines[at];
      const id = `${runId}_${waitId}_${at}_${known?.number ?? 0}`;
      if (known !== undefined && line.tries > known.tries) {
        if (settlement !== undefined) this.#fail('notice-after-answer', id);
        this.#claims.add(`${this.#world.writer?.name ?? ''} ${id}`);
      }
      if (line.taken > (known?.taken ?? 0) && !this.#world.notices.some((notice) => notice.id === id))
        this.#fail('notice-lost', id);
    }
  }

  onNotice(process: Process, id: string): void {
    if (!this.#claims.has(`${process.name} ${id}`)) this.#fail('notice-not-claimed', `${id} by ${process.name}`);
  }

  /** Called when the store refused a handle for as long as the process had time, and the server refused its cancel. */
  onHelpless(process: string): void {
    this.#helpless.add(process);
  }

  /** Checks that a remote task that is no longer waited for was cancelled, is left by policy, or is listed. */
  checkTasks(): void {
    const world = this.#world;
    for (const task of world.remote.tasks) {
      const { runId, waitId } = world.callOf(task.key);
      const item = this.#known.books.get(runId)?.items.get(`t#${waitId}`);
      if (item === undefined) continue;
      const token = toToken(item);
      if (!this.#isLeftAlone(task, token)) continue;
      if (token.handle !== undefined) {
        this.#failsToStop(task, token);
        continue;
      }
      // Covers the tasks of a start whose reply no living process received.
      const knew = world.mustCancel.filter((known) => known.taskId === task.taskId);
      const isKnown = knew.some(({ process }) => !world.crashed.has(process) && !this.#helpless.has(process));
      const isFindable = world.tellsFates && task.madeAtMs <= (token.settlement?.atMs ?? 0) - this.#known.skewMs;
      if (isKnown || isFindable) this.#fail('task-forgotten', `${task.taskId}, wait ${waitId} of run ${short(runId)}`);
    }
  }

  /** Checks that the process which removes the marker of a wait with a known task has dealt with the task. */
  #checkTaskOf(token: TokenRecord): void {
    const taskId = token.handle?.taskId;
    const task = taskId === undefined ? undefined : this.#world.remote.tasks.find((one) => one.taskId === taskId);
    if (task !== undefined && this.#isLeftAlone(task, token)) this.#failsToStop(task, token);
  }

  #failsToStop({ taskId }: RemoteTask, { waitId, runId }: TokenRecord): void {
    this.#fail('task-runs-on', `${taskId}, wait ${waitId} of run ${short(runId)}: neither cancelled nor listed`);
  }

  /** Returns whether the task runs and will never be looked at again. */
  #isLeftAlone(task: RemoteTask, token: TokenRecord): boolean {
    if (task.cancelled || task.endsAtMs <= this.#world.nowMs) return false;
    const { settlement, onTimeout, onCancel, cancel, dueAtMs, runId, waitId } = token;
    const kind = settlement?.outcome.kind;
    if (kind !== 'run_ended' && kind !== 'timed_out' && kind !== 'abandoned') return false;
    const policy = kind === 'timed_out' ? onTimeout : onCancel;
    const item = this.#known.books.get(runId)?.items.get(`t#${waitId}`);
    return policy !== 'leave' && item?.['listPartition'] !== 'orphan' && cancel === undefined && dueAtMs === undefined;
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}
