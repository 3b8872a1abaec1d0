import type { HistoryEvent, RunOutcome } from '../../../../lib/history/event.js';
import { toCaller } from '../../../../lib/history/question.js';
import type { TaskState } from '../../../../lib/history/task-content.js';
import type { TaskEvent } from '../../../../lib/serve/task/served-task.js';

/** A change of a task that its caller can see, as the log has it. */
export type Seen =
  | { readonly kind: 'status'; readonly state: TaskState }
  | { readonly kind: 'artifact'; readonly artifactId: string; readonly isLast: boolean };

const seenTypes = [
  ...(['RunStarted', 'ProgressReported', 'CancelRequested', 'ArtifactUpdated', 'MessageReceived'] as const),
  ...(['ExternalWaitRequested', 'ExternalWaitIssued', 'TokenSettled', 'RunEnding', 'RunEnded'] as const),
];
type SeenEvent = Extract<HistoryEvent, { readonly type: (typeof seenTypes)[number] }>;
const isSeen = (event: HistoryEvent): event is SeenEvent => (seenTypes as readonly string[]).includes(event.type);

/** What is to be seen of a task: told from its log by the rules of the design, by code of its own. */
export class TaskTruth {
  readonly taskId: string;
  readonly skill: string;
  /** Id and tenant of its caller. */
  readonly owner: string;
  readonly runIds: string[] = [];
  /** The first change has generation 2. */
  readonly changes: Seen[] = [];
  /** Texts of the open questions to the caller, oldest first. */
  readonly questions = new Map<string, string>();
  /** Ids of inbox items of messages that were taken in, each once. */
  readonly messages = new Set<string>();
  final: TaskState | undefined;
  readonly #asked = new Map<string, string>();
  #outcome: RunOutcome | undefined;

  constructor({ taskId, skill, owner }: Pick<TaskTruth, 'taskId' | 'skill' | 'owner'>) {
    this.taskId = taskId;
    this.skill = skill;
    this.owner = owner;
  }

  get generation(): number {
    return this.changes.length + 1;
  }

  /** Returns the state as of a generation. */
  stateAt(generation: number): TaskState {
    const states = this.changes
      .slice(0, generation - 1)
      .flatMap((seen) => (seen.kind === 'status' ? [seen.state] : []));
    return states.at(-1) ?? 'submitted';
  }

  /** Returns why an event that a caller is told is not the change of that generation; undefined if it is. */
  problemWith(event: TaskEvent): string | undefined {
    const seen = this.changes[event.generation - 2];
    const told: Seen =
      event.kind === 'status'
        ? { kind: 'status', state: event.status.state }
        : { kind: 'artifact', artifactId: event.artifact.artifactId, isLast: event.lastChunk };
    if (JSON.stringify(seen) === JSON.stringify(told)) return undefined;
    return `generation ${event.generation} is ${JSON.stringify(seen)}, and the caller is told ${JSON.stringify(told)}`;
  }

  apply(event: HistoryEvent): void {
    if (isSeen(event)) this.#apply(event);
  }

  #apply(event: SeenEvent): void {
    switch (event.type) {
      case 'RunStarted':
        if (this.changes.length === 0) this.#show('working');
        return;
      case 'ProgressReported':
      case 'CancelRequested':
        this.#show(this.#openState);
        return;
      case 'ArtifactUpdated': {
        const { artifact, lastChunk = false } = event;
        this.changes.push({ kind: 'artifact', artifactId: artifact.artifactId, isLast: lastChunk });
        return;
      }
      case 'MessageReceived':
        this.messages.add(event.inboxId);
        if (event.carried !== true && event.answers === undefined) this.#show(this.#openState);
        return;
      case 'ExternalWaitRequested':
        if (event.form?.to === toCaller) this.#asked.set(event.waitId, event.form.message);
        return;
      case 'ExternalWaitIssued':
        if (!this.#asked.has(event.waitId)) return;
        this.questions.set(event.waitId, this.#asked.get(event.waitId)!);
        this.#show(this.#openState);
        return;
      case 'TokenSettled':
        this.#asked.delete(event.waitId);
        if (this.questions.delete(event.waitId)) this.#show(this.#openState);
        return;
      case 'RunEnding':
        this.#outcome = event.outcome;
        return;
      case 'RunEnded':
        this.#end();
    }
  }

  get #openState(): TaskState {
    return this.questions.size > 0 ? 'input-required' : 'working';
  }

  #end(): void {
    const outcome = this.#outcome!;
    this.#asked.clear();
    const wasAsking = this.questions.size > 0;
    this.questions.clear();
    if (outcome.status === 'continued') {
      // Nobody can answer the question of a run that is over.
      if (wasAsking) this.#show('working');
      return;
    }
    if (outcome.status === 'completed') {
      if ((outcome.result ?? null) !== null)
        this.changes.push({ kind: 'artifact', artifactId: 'result', isLast: true });
      this.#show('completed');
    } else if (outcome.status !== 'failed') this.#show('canceled');
    else this.#show(outcome.error.code === 'TASK_REJECTED' ? 'rejected' : 'failed');
    this.final = this.stateAt(this.generation);
  }

  #show(state: TaskState): void {
    this.changes.push({ kind: 'status', state });
  }
}
