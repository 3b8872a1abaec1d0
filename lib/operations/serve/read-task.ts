import { isRunId } from '../../base/ids.js';
import type { RunHead, RunRecords } from '../../history/records.js';
import { TaskFold, type MessageOf, type ServedHead } from '../../serve/task/fold-task.js';
import type { TaskEvent } from '../../serve/task/served-task.js';
import { taskNotFound } from '../../serve/task-not-found.js';
import type { Deps } from '../deps.js';

/** A task as read: its fold, and the head of the run that it has come to. */
export interface ReadTask {
  readonly fold: TaskFold;
  readonly head: RunHead;
  /** What its caller has seen, with the generation of each. */
  readonly past: readonly TaskEvent[];
}

/**
 * Reads a task of the caller with all the runs that it has had. The table alone answers, so every process gives the
 * same answer. @throws EngineError `TASK_NOT_FOUND`, also for the task of another caller
 */
export async function readTask(deps: Deps, taskId: string): Promise<ReadTask> {
  const first = isRunId(taskId) ? await deps.store.runs.read(taskId) : undefined;
  if (first === undefined || !isOwn(deps, first.head)) throw taskNotFound();
  const fold = new TaskFold(first.head);
  const past: TaskEvent[] = [];
  let records: RunRecords = first;
  for (;;) {
    past.push(...applyAll(fold, records));
    const next = fold.nextRunId === undefined ? undefined : await deps.store.runs.read(fold.nextRunId);
    // The next run is the last thing that a run creates: until then the task is as it was.
    if (next === undefined) return { fold, head: records.head, past };
    fold.continueWith(next.head);
    records = next;
  }
}

/** Returns the names of the messages of a run by the items that hold them. */
export function messagesOf({ inbox }: Pick<RunRecords, 'inbox'>): MessageOf {
  const items = new Map(inbox.map((item) => [item.inboxId, item]));
  return (inboxId) => {
    const item = items.get(inboxId);
    return item?.kind === 'message' ? item.payload : undefined;
  };
}

/** Reads the messages too, if the fold needs any with the commits that were read. */
export async function withMessages(deps: Deps, records: RunRecords, fold: TaskFold): Promise<RunRecords> {
  const isNamed = records.commits.some(({ events }) => events.some(({ type }) => type === 'MessageReceived'));
  if (!isNamed && !fold.hasAnswers) return records;
  return { ...records, inbox: await deps.store.inbox.readAll(records.head.runId) };
}

function applyAll(fold: TaskFold, records: RunRecords): readonly TaskEvent[] {
  const messageOf = messagesOf(records);
  return records.commits.flatMap((commit) => fold.applyCommit(commit, messageOf));
}

/** Returns true if the run is the first of a task of the caller: later runs are not tasks of their own. */
function isOwn(deps: Deps, head: RunHead): head is ServedHead & RunHead {
  const { caller } = deps;
  return head.task !== undefined && head.task.firstRunId === undefined && isOf(caller, head);
}

function isOf(caller: Deps['caller'], { owner, tenant }: Pick<RunHead, 'owner' | 'tenant'>): boolean {
  return owner === caller?.id && tenant === caller?.tenant;
}

/** Id of the inbox item of a message. */
export const messageInboxId = (messageId: string): string => `message-${messageId}`;
