import { defined } from '../../base/defined.js';
import type { EngineErrorCode } from '../../base/errors.js';
import type { RunId, WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { Commit, HistoryEvent, MessageReceived, RunOutcome } from '../../history/event.js';
import { toCaller, type AddressedQuestion } from '../../history/question.js';
import type { RunHead } from '../../history/records.js';
import { OpenQuestions, type Requested } from './open-questions.js';
import {
  isFinal,
  type Artifact,
  type Part,
  type ServedTask,
  type TaskEvent,
  type TaskMessage,
  type TaskOfRun,
  type TaskState,
  type TaskStatus,
} from './served-task.js';

/** A head of a served run. */
export type ServedHead = Pick<RunHead, 'runId' | 'workflow' | 'createdAtMs' | 'input'> & { readonly task: TaskOfRun };

/** Returns the message of an inbox item; undefined if it was not read. */
export type MessageOf = (inboxId: string) => TaskMessage | undefined;

/** The events of a history on which what the caller sees depends. */
const seenTypes = [
  ...(['RunStarted', 'ProgressReported', 'ArtifactUpdated', 'MessageReceived', 'CancelRequested'] as const),
  ...(['ExternalWaitRequested', 'ExternalWaitIssued', 'TokenSettled', 'RunEnding', 'RunEnded'] as const),
];
type SeenEvent = Extract<HistoryEvent, { readonly type: (typeof seenTypes)[number] }>;
const isSeen = (event: HistoryEvent): event is SeenEvent => (seenTypes as readonly string[]).includes(event.type);

/** Errors with which a run ends by a fault of the engine, or of what it was given to store. */
const faults: ReadonlySet<EngineErrorCode> = new Set([
  ...(['INTERNAL', 'WORKFLOW_STUCK', 'NONDETERMINISM', 'HISTORY_FORMAT_UNKNOWN'] as const),
  ...(['PAYLOAD_UNREADABLE', 'PAYLOAD_TOO_LARGE', 'CONFIG_INVALID'] as const),
]);

/**
 * Folds the histories of the runs that are one task, in their order, to what its caller sees. Everything comes from the
 * commits: the same ones give the same task and the same events, in every process.
 */
export class TaskFold {
  readonly #taskId: RunId;
  readonly #first: ServedHead;
  #runId: RunId;
  /** Number of the last commit of the current run. */
  #seq = 0;
  #generation: number;
  #status: TaskStatus;
  #outcome: RunOutcome | undefined;
  readonly #history: TaskMessage[];
  readonly #artifacts = new Map<string, Artifact>();
  /** Questions to the caller that were requested but are not to be seen yet. */
  readonly #asked = new Map<WaitId, Requested>();
  readonly #open = new OpenQuestions();
  /** Answers that are taken in with the settlement of their question. */
  readonly #answers = new Map<WaitId, string>();

  /** Begins with the first run of the task, or with a later one whose callers have seen what was before. */
  constructor(head: ServedHead) {
    this.#first = head;
    this.#taskId = head.task.firstRunId ?? head.runId;
    this.#runId = head.runId;
    this.#generation = head.task.firstRunId === undefined ? 1 : head.task.generation;
    this.#status = { state: head.task.firstRunId === undefined ? 'submitted' : 'working', atMs: head.createdAtMs };
    this.#history = [firstMessage(head)];
  }

  get runId(): RunId {
    return this.#runId;
  }
  get seq(): number {
    return this.#seq;
  }
  get generation(): number {
    return this.#generation;
  }
  get state(): TaskState {
    return this.#status.state;
  }
  /** The run as which the current one has continued. */
  get nextRunId(): RunId | undefined {
    return this.#outcome?.status === 'continued' && this.#hasRunEnded ? this.#outcome.nextRunId : undefined;
  }
  #hasRunEnded = false;
  #isFault = false;

  /** Whether answers were taken in that show with the end of their question, or of the run. */
  get hasAnswers(): boolean {
    return this.#answers.size > 0;
  }

  /** The questions to the caller that are open, oldest first. */
  get openQuestions(): readonly WaitId[] {
    return this.#open.waitIds;
  }

  /** Returns the open question with this key. */
  questionWithKey(key: string): WaitId | undefined {
    return this.#open.withKey(key);
  }

  get task(): ServedTask {
    const { task, workflow } = this.#first;
    return {
      taskId: this.#taskId,
      contextId: task.contextId,
      skill: workflow,
      createdAtMs: this.#first.createdAtMs,
      status: this.#status,
      history: [...this.#history],
      artifacts: [...this.#artifacts.values()],
      generation: this.#generation,
      ...defined({
        metadata: task.metadata,
        questions: this.#open.shown,
        isFault: this.#isFault ? true : undefined,
      }),
    };
  }

  /** Applies the next commit of the current run. Returns what the caller sees of it. */
  applyCommit({ seq, events }: Commit, messageOf: MessageOf = () => undefined): readonly TaskEvent[] {
    if (seq <= this.#seq || isFinal(this.#status.state)) return [];
    this.#seq = seq;
    return events.flatMap((event) => (isSeen(event) ? this.#apply(event, messageOf) : []));
  }

  /** Goes on with the run as which the current one has continued. */
  continueWith({ runId }: Pick<RunHead, 'runId'>): void {
    this.#runId = runId;
    this.#seq = 0;
    this.#hasRunEnded = false;
    this.#outcome = undefined;
    this.#asked.clear();
    this.#answers.clear();
  }

  #apply(event: SeenEvent, messageOf: MessageOf): readonly TaskEvent[] {
    switch (event.type) {
      case 'RunStarted':
        return this.#status.state === 'submitted' ? [this.#show('working', event.atMs)] : [];
      case 'ProgressReported':
        return [this.#say(event.atMs, progressParts(event.progress))];
      case 'CancelRequested':
        return [this.#say(event.atMs, [{ text: 'The task is being cancelled.' }])];
      case 'ArtifactUpdated':
        return [this.#takeArtifact(event.artifact, event)];
      case 'MessageReceived':
        return this.#receive(event.inboxId, event, messageOf);
      case 'ExternalWaitRequested':
        if (event.form?.to === toCaller) this.#asked.set(event.waitId, { name: event.name, form: event.form });
        return [];
      case 'ExternalWaitIssued':
        return this.#ask(event.waitId, event.atMs);
      case 'TokenSettled':
        return this.#closeQuestion(event.waitId, event.atMs, messageOf);
      case 'RunEnding':
        this.#outcome = event.outcome;
        return [];
      case 'RunEnded':
        this.#hasRunEnded = true;
        return this.#endRun(event.atMs, messageOf);
    }
  }

  #receive(
    inboxId: string,
    { answers, atMs, carried }: Omit<MessageReceived, 'type' | 'inboxId' | 'by'>,
    messageOf: MessageOf,
  ): readonly TaskEvent[] {
    if (carried === true) return [];
    if (answers !== undefined) {
      this.#answers.set(answers, inboxId);
      return [];
    }
    keep(this.#history, messageOf(inboxId));
    return [this.#show(this.#open.state, atMs, this.#status.message)];
  }

  #ask(waitId: WaitId, atMs: EpochMs): readonly TaskEvent[] {
    const asked = this.#asked.get(waitId);
    if (asked === undefined) return [];
    this.#asked.delete(waitId);
    this.#open.open(waitId, { ...asked, message: this.#agentMessage(questionParts(asked.form)) });
    return [this.#show(this.#open.state, atMs, this.#open.message)];
  }

  #closeQuestion(waitId: WaitId, atMs: EpochMs, messageOf: MessageOf): readonly TaskEvent[] {
    this.#asked.delete(waitId);
    const question = this.#open.close(waitId);
    if (question === undefined) return [];
    const inboxId = this.#answers.get(waitId);
    this.#answers.delete(waitId);
    if (this.#status.message?.messageId !== question.messageId) keep(this.#history, question);
    const event = this.#show(this.#open.state, atMs, this.#open.message);
    if (inboxId !== undefined) keep(this.#history, messageOf(inboxId));
    return [event];
  }

  #takeArtifact(
    artifact: Artifact,
    { append = false, lastChunk = false }: { readonly append?: boolean; readonly lastChunk?: boolean },
  ): TaskEvent {
    const known = append ? this.#artifacts.get(artifact.artifactId) : undefined;
    const parts = known === undefined ? artifact.parts : [...known.parts, ...artifact.parts];
    this.#artifacts.set(artifact.artifactId, { ...known, ...artifact, parts });
    return { generation: ++this.#generation, kind: 'artifact', artifact, append, lastChunk };
  }

  #endRun(atMs: EpochMs, messageOf: MessageOf): readonly TaskEvent[] {
    const wasAsking = this.#open.message !== undefined;
    this.#open.clear();
    const events = this.#outcome === undefined ? [] : this.#end(this.#outcome, atMs, wasAsking);
    // Answers that came while the run was ending have closed no question.
    for (const inboxId of this.#answers.values()) keep(this.#history, messageOf(inboxId));
    this.#answers.clear();
    return events;
  }

  #end(outcome: RunOutcome, atMs: EpochMs, wasAsking: boolean): readonly TaskEvent[] {
    // The next run cannot be given the answer to a question of this one.
    if (outcome.status === 'continued') return wasAsking ? [this.#show('working', atMs)] : [];
    if (outcome.status !== 'completed') {
      this.#isFault = outcome.status === 'failed' && faults.has(outcome.error.code);
      const [state, text] = endOf(outcome);
      return [this.#show(state, atMs, text === undefined ? undefined : this.#agentMessage([{ text }]))];
    }
    const { result } = outcome;
    const artifact =
      result === undefined || result === null
        ? []
        : [this.#takeArtifact({ artifactId: 'result', parts: progressParts(result) }, { lastChunk: true })];
    return [...artifact, this.#show('completed', atMs)];
  }

  /** Shows what the workflow says; a question that is open stays the message of the status. */
  #say(atMs: EpochMs, parts: readonly Part[]): TaskEvent {
    const message = this.#agentMessage(parts);
    const question = this.#open.message;
    if (question === undefined) return this.#show('working', atMs, message);
    keep(this.#history, message);
    return this.#show(this.#open.state, atMs, question);
  }

  #show(state: TaskState, atMs: EpochMs, message?: TaskMessage): TaskEvent {
    const before = this.#status.message;
    if (before !== undefined && before.messageId !== message?.messageId) keep(this.#history, before);
    this.#status = { state, atMs: Math.max(atMs, this.#status.atMs), ...defined({ message }) };
    return { generation: ++this.#generation, kind: 'status', status: this.#status };
  }

  /** Creates a message of the workflow whose id is a function of its place in the log. */
  #agentMessage(parts: readonly Part[]): TaskMessage {
    return { messageId: `${this.#taskId}-${this.#generation + 1}`, role: 'agent', parts };
  }
}

/** Commits alone do not hold the messages of callers, so one may be missing. */
function keep(history: TaskMessage[], message: TaskMessage | undefined): void {
  if (message !== undefined) history.push(message);
}

/** Returns the message that started the task. Parts that are only the input are not stored twice. */
function firstMessage({ workflow, input, task }: ServedHead): TaskMessage {
  const { messageId, metadata, parts } = task.message;
  const named = [{ data: { skill: workflow, ...defined({ arguments: input }) } }];
  return { messageId, role: 'user', parts: parts ?? named, ...defined({ metadata }) };
}

function progressParts(value: JsonValue): readonly Part[] {
  return [typeof value === 'string' ? { text: value } : { data: value }];
}

function questionParts({ message, schema, url }: AddressedQuestion): readonly Part[] {
  const details = defined({ schema, url });
  return Object.keys(details).length === 0 ? [{ text: message }] : [{ text: message }, { data: details }];
}

/** Returns how a task ends that has no result, and what its caller is told: nothing of what happened inside. */
function endOf(
  outcome: Exclude<RunOutcome, { readonly status: 'completed' | 'continued' }>,
): readonly [TaskState, string?] {
  if (outcome.status !== 'failed') return ['canceled'];
  const { code, message } = outcome.error;
  if (code === 'TASK_REJECTED') return ['rejected', message];
  return ['failed', code === 'RUN_TIMED_OUT' ? 'The task took too long and was ended.' : 'The task failed.'];
}
