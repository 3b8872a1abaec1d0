import type { StoredError } from '../../base/errors.js';
import type {
  DebouncedStart,
  FailedTurns,
  Held,
  LanePlace,
  ParentWait,
  RunGlance,
  RunHead,
  RunStatus,
  RunSummary,
} from '../../history/records.js';
import type { RunCallback } from '../../history/push-config.js';
import type { TaskHint, TaskOfRun, TaskState } from '../../history/task-content.js';
import type { Item } from '../table.js';
import {
  type Attributes,
  count,
  fields,
  flag,
  group,
  json,
  named,
  number,
  optional,
  payload,
  text,
  word,
} from './fields.js';
import { formatAttribute, headWithConditions, headWithCount, limitedHead, servedHead } from './format.js';
import {
  heldInListing,
  type ListedTask,
  marker,
  ownerInListing,
  runListing,
  taskContext,
  taskListing,
} from './indexes.js';
import { headKey, runIdOf } from './keys.js';

const parent = fields<ParentWait>({
  runId: named('parentRunId', text),
  waitId: named('parentWaitId', text),
  workflow: optional(named('parentWorkflow', text)),
});

const lanePlace = fields<LanePlace>({
  key: named('concurrencyKey', text),
  afterRunId: optional(named('laneAfterRunId', text)),
  afterCreatedAtMs: optional(named('laneAfterCreatedAtMs', number)),
  replaces: named('laneReplaces', flag),
  nextRunId: optional(named('laneNextRunId', text)),
});

const debounce = fields<DebouncedStart>({
  untilMs: named('debounceUntilMs', number),
  startId: named('debounceId', text),
});

const failedTurns = fields<FailedTurns>({
  count: named('failedTurns', number),
  cause: named('failedTurnCause', text),
  atMs: named('failedTurnAtMs', number),
});

const taskHint = fields<TaskHint>({
  state: named('taskState', word<TaskState>()),
  atMs: named('taskStatusAtMs', number),
});

export const headFields = fields<Omit<RunHead, 'runId' | 'held'>>({
  workflow: text,
  version: text,
  status: word<RunStatus>(),
  input: optional(payload()),
  seed: text,
  createdAtMs: number,
  endedAtMs: optional(number),
  id: optional(text),
  key: optional(text),
  sentDigest: optional(text),
  afterRunId: optional(text),
  lane: optional(group(lanePlace)),
  debounce: optional(group(debounce)),
  inputError: optional(payload<StoredError>()),
  deadlineAtMs: optional(number),
  startAtMs: optional(number),
  parent: optional(group(parent)),
  previousRunId: optional(text),
  nextRunId: optional(text),
  laterRunId: optional(text),
  traceparent: optional(text),
  tags: optional(json<Readonly<Record<string, string>>>()),
  owner: optional(text),
  tenant: optional(text),
  counted: flag,
  counters: optional(json<readonly string[]>()),
  calls: optional(json<readonly string[]>()),
  callback: optional(payload<RunCallback>()),
  task: optional(payload<TaskOfRun>()),
  taskHint: optional(group(taskHint)),
  inboxCount: number,
  dueSeq: number,
  blocks: count,
  publishedSeq: optional(number),
  dueAtMs: optional(number),
  blocked: optional(payload<StoredError>()),
  failedTurns: optional(group(failedTurns)),
});

export function headItem(head: RunHead, writerId: string): Item {
  const { runId, held: _held, ...fieldsOfHead } = head;
  const { startAtMs } = head;
  return {
    ...headKey(runId),
    writerId,
    ...headFields.write(fieldsOfHead),
    ...formatOf(head),
    ...marker(runId, head.dueAtMs),
    ...runListing(startAtMs === undefined ? head : { ...head, held: delayed(startAtMs) }, head.status),
    ...taskContext(head),
    ...taskListing(head, head.taskHint),
  };
}

function formatOf({
  afterRunId,
  inputError,
  counted,
  lane,
  debounce,
  task,
  callback,
}: RunHead): Record<string, number> {
  if (counted === true) return { [formatAttribute]: headWithCount };
  if (lane !== undefined || debounce !== undefined) return { [formatAttribute]: limitedHead };
  if (task !== undefined || callback !== undefined) return { [formatAttribute]: servedHead };
  const hasConditions = afterRunId !== undefined || inputError !== undefined;
  return hasConditions ? { [formatAttribute]: headWithConditions } : {};
}

/** Returns the attributes of the head of a served run that change with the status of its task; none without a hint. */
export function hintAttributes(run: ListedTask, hint: TaskHint | undefined): Attributes {
  return hint === undefined ? {} : { ...headFields.write({ taskHint: hint }), ...taskListing(run, hint) };
}

/** Reads a row of the list of tasks. */
export const toTaskRow = (item: Item): TaskRow => ({
  taskId: runIdOf(item),
  skill: text.read(item, 'workflow'),
  context: text.read(item, 'taskContext'),
  sort: text.read(item, 'taskSort'),
  ...taskHint.read(item),
});

/** A task in the list of those of a caller. `context` is the digest of its context id. */
export interface TaskRow extends TaskHint {
  readonly taskId: string;
  readonly skill: string;
  readonly context: string;
  readonly sort: string;
}

/** Returns how often a run was blocked. */
export const blocksOf = (head: Item): number => count.read(head, 'blocks');

/** What the lists say of a run that begins later. */
export const delayed = (startAtMs: number): Held => ({ kind: 'delayed', untilMs: startAtMs });

export const toHead = (item: Item): RunHead => ({
  runId: runIdOf(item),
  ...headFields.read(item),
  ...heldInListing(item),
});

const glanceFields = headFields.only(
  ...(['workflow', 'status', 'inboxCount', 'nextRunId', 'deadlineAtMs', 'dueAtMs', 'dueSeq', 'failedTurns'] as const),
);
export const glanceAttributes = glanceFields.attributes;
export const toGlance = (item: Item): RunGlance => ({ runId: runIdOf(item), ...glanceFields.read(item) });

const summaryFields = headFields.only('workflow', 'status', 'createdAtMs', 'endedAtMs', 'tags');
/** Reads a row of the list of runs. */
export const toSummary = (item: Item): RunSummary => ({
  runId: runIdOf(item),
  ...summaryFields.read(item),
  ...ownerInListing(item),
  ...heldInListing(item),
});

/** Reads what a caller's access to the run depends on. */
const accessFields = headFields.only('owner', 'tenant');
export const accessAttributes = accessFields.attributes;
export const toAccess = (item: Item): Pick<RunHead, 'owner' | 'tenant'> => accessFields.read(item);

/** Attributes that a turn which ends well removes from the head. */
export const failureAttributes = headFields.names('blocked', 'failedTurns');

/** Reads where the end of the run is told, which is sealed apart from the rest. */
const callbackFields = headFields.only('callback');
export const callbackAttributes = callbackFields.attributes;
export const toCallback = (item: Item): Pick<RunHead, 'callback'> => callbackFields.read(item);

/** Attributes to read of a head whose payloads cannot be read. */
export const headAttributesWithoutPayloads = headFields.names(
  ...(['workflow', 'version', 'status', 'seed', 'createdAtMs', 'endedAtMs', 'id', 'key', 'deadlineAtMs'] as const),
  ...(['startAtMs', 'parent', 'previousRunId', 'nextRunId', 'tags', 'inboxCount', 'dueSeq', 'blocks'] as const),
  ...([
    'traceparent',
    'publishedSeq',
    'dueAtMs',
    'owner',
    'tenant',
    'counted',
    'counters',
    'lane',
    'debounce',
  ] as const),
);
