// Records ⇄ items of the table: keys, attribute names, stored forms. Pure.

import { defined } from '../base/defined.js';
import { EngineError, type StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import { decodeEvents, encodeEvents } from '../history/codec.js';
import type { Commit, ParentClosePolicy, RemoteClosePolicy, RemoteTaskHandle } from '../history/event.js';
import type { Sightings } from '../history/remote-end.js';
import type { InputForm } from '../history/input-form.js';
import { headWithConditions } from './item-format.js';
import { decodePayload, encodePayload } from './payload.js';
import type {
  DueEntry,
  FailedTurns,
  InboxRecord,
  InboxRequest,
  LongStepRecord,
  ParentWait,
  RemoteCancel,
  RunGlance,
  RunHead,
  RunName,
  RunPosition,
  RunStatus,
  RunSummary,
  ScheduleState,
  Settlement,
  TokenOutcome,
  TokenQuestions,
  TokenRecord,
  WorkerStart,
} from '../history/records.js';
import type { Item, Key, Scalar } from './table.js';

export const headSk = 'a';
export const commitPrefix = 'h#';
export const inboxPrefix = 'i#';
export const tokenPrefix = 't#';

/** Where the chunks of the payloads of a partition are. */
export const blobPartitionOf = (pk: string): string => `blob#${pk.slice('run#'.length)}`;
/** The run that an id of a caller points to. */
export const runNameKey = (nameKey: string): Key => ({ pk: `name#${nameKey}`, sk: headSk });
/** How a schedule stands. */
export const scheduleKey = (name: string): Key => ({ pk: `schedule#${name}`, sk: headSk });
export const partitionOf = (runId: RunId): string => `run#${runId}`;
export const headKey = (runId: RunId): Key => ({ pk: partitionOf(runId), sk: headSk });
/** Ten digits, so that commits sort by their number. */
export const commitKey = (runId: RunId, seq: number): Key => ({
  pk: partitionOf(runId),
  sk: commitPrefix + String(seq).padStart(10, '0'),
});
export const tokenKey = (runId: RunId, waitId: WaitId): Key => ({ pk: partitionOf(runId), sk: tokenPrefix + waitId });
export const inboxKey = (runId: RunId, inboxId: string): Key => ({ pk: partitionOf(runId), sk: inboxPrefix + inboxId });

/** The attributes that put an item into the due index. In place of the run `ShardedTable` writes the partition. */
export const marker = (runId: RunId, dueAtMs: EpochMs): Record<string, Scalar> => ({ dueShard: runId, dueAtMs });
export const markerAttributes = ['dueShard', 'dueAtMs'] as const;

export const listKeys = (runId: RunId, status: RunStatus, createdAtMs: EpochMs): Record<string, Scalar> => ({
  listPartition: status,
  listSort: listSort({ runId, createdAtMs }),
});

const listSort = ({ runId, createdAtMs }: RunPosition): string => `${String(createdAtMs).padStart(15, '0')}#${runId}`;

/** An upper bound, included, that takes in every run which comes after this one, and not itself: its text is just below. */
export function listSortBelow(position: RunPosition): string {
  const sort = listSort(position);
  const last = sort.length - 1;
  return `${sort.slice(0, last)}${String.fromCharCode(sort.charCodeAt(last) - 1)}~`;
}

export function headItem(head: RunHead, writerId: string): Item {
  return {
    ...headKey(head.runId),
    writerId,
    workflow: head.workflow,
    version: head.version,
    status: head.status,
    ...defined({ input: head.input === undefined ? undefined : encodePayload(head.input) }),
    seed: head.seed,
    createdAtMs: head.createdAtMs,
    ...defined({ key: head.key, sentDigest: head.sentDigest }),
    ...conditionsOf(head),
    ...defined({
      deadlineAtMs: head.deadlineAtMs,
      startAtMs: head.startAtMs,
      parentRunId: head.parent?.runId,
      parentWaitId: head.parent?.waitId,
      previousRunId: head.previousRunId,
      tags: head.tags === undefined ? undefined : JSON.stringify(head.tags),
    }),
    inboxCount: head.inboxCount,
    dueSeq: head.dueSeq,
    ...defined({ publishedSeq: head.publishedSeq }),
    ...(head.dueAtMs === undefined ? {} : marker(head.runId, head.dueAtMs)),
    ...listKeys(head.runId, head.status, head.createdAtMs),
  };
}

function conditionsOf({ afterRunId, inputError }: RunHead): Record<string, Scalar> {
  if (afterRunId === undefined && inputError === undefined) return {};
  return {
    format: headWithConditions,
    ...defined({
      afterRunId,
      inputError: inputError === undefined ? undefined : encodePayload(inputError as unknown as JsonValue),
    }),
  };
}

export function toHead(item: Item): RunHead {
  return {
    runId: runIdOf(item),
    workflow: text(item, 'workflow'),
    version: text(item, 'version'),
    status: text(item, 'status') as RunStatus,
    ...optional('input', payload(item, 'input')),
    seed: text(item, 'seed'),
    createdAtMs: number(item, 'createdAtMs'),
    ...optional('endedAtMs', optionalNumber(item, 'endedAtMs')),
    ...optional('key', optionalText(item, 'key')),
    ...optional('sentDigest', optionalText(item, 'sentDigest')),
    ...optional('afterRunId', optionalText(item, 'afterRunId')),
    ...optional('inputError', payload(item, 'inputError') as StoredError | undefined),
    ...optional('deadlineAtMs', optionalNumber(item, 'deadlineAtMs')),
    ...optional('startAtMs', optionalNumber(item, 'startAtMs')),
    ...optional('parent', parentOf(item)),
    ...optional('previousRunId', optionalText(item, 'previousRunId')),
    ...optional('nextRunId', optionalText(item, 'nextRunId')),
    ...optional('laterRunId', optionalText(item, 'laterRunId')),
    ...optional('tags', tagsOf(item)),
    inboxCount: number(item, 'inboxCount'),
    dueSeq: number(item, 'dueSeq'),
    blocks: blocksOf(item),
    ...optional('publishedSeq', optionalNumber(item, 'publishedSeq')),
    ...optional('dueAtMs', optionalNumber(item, 'dueAtMs')),
    ...optional('blocked', payload(item, 'blocked') as StoredError | undefined),
    ...optional('failedTurns', failedTurnsOf(item)),
  };
}

/** Attributes of `toGlance`. */
export const glanceAttributes = [
  ...['workflow', 'status', 'inboxCount', 'nextRunId', 'deadlineAtMs', 'dueAtMs', 'dueSeq'],
  ...['failedTurns', 'failedTurnCause', 'failedTurnAtMs'],
] as const;

export function toGlance(item: Item): RunGlance {
  return {
    runId: runIdOf(item),
    workflow: text(item, 'workflow'),
    status: text(item, 'status') as RunStatus,
    inboxCount: number(item, 'inboxCount'),
    ...optional('nextRunId', optionalText(item, 'nextRunId')),
    ...optional('deadlineAtMs', optionalNumber(item, 'deadlineAtMs')),
    ...optional('dueAtMs', optionalNumber(item, 'dueAtMs')),
    dueSeq: number(item, 'dueSeq'),
    ...optional('failedTurns', failedTurnsOf(item)),
  };
}

export const failedTurnAttributes = ({ cause, count, atMs }: FailedTurns): Record<string, Scalar> => ({
  failedTurns: count,
  failedTurnCause: cause,
  failedTurnAtMs: atMs,
});
/** What a turn that ends well takes off the head. */
export const troubleAttributes = ['blocked', 'failedTurns', 'failedTurnCause', 'failedTurnAtMs'] as const;

function failedTurnsOf(item: Item): FailedTurns | undefined {
  const count = optionalNumber(item, 'failedTurns');
  if (count === undefined) return undefined;
  return { cause: text(item, 'failedTurnCause'), count, atMs: number(item, 'failedTurnAtMs') };
}

export const blocksOf = (head: Item): number => optionalNumber(head, 'blocks') ?? 0;

/** A commit of which nothing but its number is known. */
export function emptyCommit({ sk }: Key): Commit {
  return { seq: Number(sk.slice(commitPrefix.length)), events: [] };
}

export function toCommit(item: Item): Commit {
  return { seq: Number(item.sk.slice(commitPrefix.length)), events: decodeEvents(decodePayload(text(item, 'events'))) };
}

export function tokenItem(token: TokenRecord): Item {
  return {
    ...tokenKey(token.runId, token.waitId),
    ...defined({ server: token.server }),
    attempt: token.attempt,
    writerId: token.writerId,
    createdAtMs: token.createdAtMs,
    ...defined({
      deadlineAtMs: token.deadlineAtMs,
      childRunId: token.child?.runId,
      parentClose: token.child?.parentClose,
    }),
    pollErrors: token.pollErrors,
    ...defined({
      onCancel: token.onCancel,
      onTimeout: token.onTimeout,
      answersQuestions: token.answersQuestions === true ? 1 : undefined,
    }),
    ...(token.form === undefined ? {} : formAttributes(token, token.form)),
    ...(token.step === undefined ? {} : stepAttributes(token.step)),
    ...defined({ startAttempt: token.workerStart?.attempt }),
    ...(token.dueAtMs === undefined ? {} : marker(token.runId, token.dueAtMs)),
  };
}

/** In the list index as long as it is open. */
function formAttributes({ runId, waitId, createdAtMs }: TokenRecord, form: InputForm): Record<string, Scalar> {
  return {
    form: encodePayload(form as unknown as JsonValue),
    listPartition: inputsPartition,
    listSort: `${String(createdAtMs).padStart(15, '0')}#${runId}#${waitId}`,
  };
}

/** Of the list index: questions for people. */
export const inputsPartition = 'input';
export const listAttributes = ['listPartition', 'listSort'] as const;

/** Of the list index: remote tasks that nobody waits for and that may be running. */
export const orphansPartition = 'orphan';
export const orphanAttributes = (runId: RunId, waitId: WaitId, atMs: EpochMs): Record<string, Scalar> => ({
  listPartition: orphansPartition,
  listSort: `${String(atMs).padStart(15, '0')}#${runId}#${waitId}`,
});

export function toWaitRow(item: Item): { readonly runId: RunId; readonly waitId: WaitId } {
  return { runId: runIdOf(item), waitId: item.sk.slice(tokenPrefix.length) };
}

export const stepAttributes = (step: LongStepRecord): Record<string, Scalar> => ({
  stepFailures: step.failedAttempts,
  stepStrikes: step.strikes,
  stepSinceMs: step.sinceMs,
  ...defined({
    stepError: step.lastError === undefined ? undefined : encodePayload(step.lastError as unknown as JsonValue),
  }),
  ...(step.progress === undefined ? {} : progressAttribute(step.progress)),
});

export const progressAttribute = (progress: JsonValue): Record<string, Scalar> => ({
  stepProgress: encodePayload(progress),
});

/** What an earlier attempt of a worker has left. */
export const workerStartLeft = ['startClaim', 'startUntilMs', 'startCame', 'startHeld'] as const;

export const cameAttribute = (came: NonNullable<WorkerStart['came']>): Record<string, Scalar> => ({
  startCame: encodePayload(encodeEvents([came])),
});

export const heldAttribute = (error: StoredError): Record<string, Scalar> => ({
  startHeld: encodePayload(error as unknown as JsonValue),
});

export const sightingsAttributes = ({ of, count, atMs }: Sightings): Record<string, Scalar> => ({
  sighted: of,
  sightings: count,
  sightedAtMs: atMs,
});
export const noSightings = ['sighted', 'sightings', 'sightedAtMs'] as const;

export const cancelAttributes = ({ kind, atMs }: RemoteCancel): Record<string, Scalar> => ({
  cancelled: kind,
  cancelledAtMs: atMs,
});

/** A tombstone, the item of a wait closed before it was put, has only its settlement. */
export function toToken(item: Item): TokenRecord {
  const settledAtMs = optionalNumber(item, 'settledAtMs');
  return {
    runId: runIdOf(item),
    waitId: item.sk.slice(tokenPrefix.length),
    ...optional('server', optionalText(item, 'server')),
    attempt: optionalNumber(item, 'attempt') ?? 0,
    writerId: optionalText(item, 'writerId') ?? '',
    createdAtMs: optionalNumber(item, 'createdAtMs') ?? 0,
    ...optional('deadlineAtMs', optionalNumber(item, 'deadlineAtMs')),
    ...optional('child', childOf(item)),
    ...optional('step', stepOf(item)),
    ...optional('handle', payload(item, 'handle') as RemoteTaskHandle | undefined),
    ...defined({ answersQuestions: item['answersQuestions'] === undefined ? undefined : true }),
    ...optional('questions', questionsOf(item)),
    ...optional('form', payload(item, 'form') as InputForm | undefined),
    ...optional('workerStart', workerStartOf(item)),
    ...optional('lookUntilMs', optionalNumber(item, 'lookUntilMs')),
    ...optional('startedAtMs', optionalNumber(item, 'startedAtMs')),
    ...optional('leftAtMs', optionalNumber(item, 'leftAtMs')),
    ...optional('pollHintMs', optionalNumber(item, 'pollHintMs')),
    pollErrors: optionalNumber(item, 'pollErrors') ?? 0,
    ...optional('sightings', sightingsOf(item)),
    ...optional('ttlMs', optionalNumber(item, 'ttlMs')),
    ...optional('onCancel', optionalText(item, 'onCancel') as RemoteClosePolicy | undefined),
    ...optional('onTimeout', optionalText(item, 'onTimeout') as RemoteClosePolicy | undefined),
    ...optional('cancel', cancelOf(item)),
    ...optional('dueAtMs', optionalNumber(item, 'dueAtMs')),
    ...defined({
      settlement:
        settledAtMs === undefined
          ? undefined
          : {
              writerId: text(item, 'settledBy'),
              atMs: settledAtMs,
              by: text(item, 'settledFrom') as Settlement['by'],
              // Missing where it cannot be read.
              outcome: (payload(item, 'outcome') ?? { kind: 'abandoned' }) as TokenOutcome,
            },
    }),
  };
}

export const settlementAttributes = (settlement: Settlement): Record<string, Scalar> => ({
  settledAtMs: settlement.atMs,
  settledBy: settlement.writerId,
  settledFrom: settlement.by,
  outcome: encodePayload(settlement.outcome as unknown as JsonValue),
});

export function inboxItem(record: InboxRecord): Item {
  return {
    ...inboxKey(record.runId, record.inboxId),
    kind: record.kind,
    ...requestAttributes(record),
    atMs: record.atMs,
    ...defined({ sentDigest: record.sentDigest, position: record.position, order: record.order }),
    ...(record.dueAtMs === undefined ? {} : marker(record.runId, record.dueAtMs)),
  };
}

function requestAttributes(request: InboxRequest): Record<string, Scalar> {
  switch (request.kind) {
    case 'cancel':
    case 'terminate':
      return request.reason === undefined ? {} : { reason: request.reason };
    case 'pause':
    case 'resume':
    case 'retryNow':
      return {};
    case 'signal':
      return {
        name: request.name,
        ...defined({ payload: request.payload === undefined ? undefined : encodePayload(request.payload) }),
      };
  }
}

export function toInbox(item: Item): InboxRecord {
  return {
    runId: runIdOf(item),
    inboxId: item.sk.slice(inboxPrefix.length),
    atMs: number(item, 'atMs'),
    ...optional('sentDigest', optionalText(item, 'sentDigest')),
    ...optional('position', optionalNumber(item, 'position')),
    ...optional('order', optionalNumber(item, 'order')),
    ...optional('dueAtMs', optionalNumber(item, 'dueAtMs')),
    ...requestOf(item),
  };
}

const inboxKinds: Readonly<Record<InboxRequest['kind'], true>> = {
  cancel: true,
  terminate: true,
  pause: true,
  resume: true,
  retryNow: true,
  signal: true,
};

const isInboxKind = (kind: string): kind is InboxRequest['kind'] => Object.hasOwn(inboxKinds, kind);

function requestOf(item: Item): InboxRequest {
  const kind = text(item, 'kind');
  // Passed over, a request of a newer version would count as done.
  if (!isInboxKind(kind))
    throw new EngineError('HISTORY_FORMAT_UNKNOWN', `item ${item.pk} ${item.sk}: this version knows no such request`);
  switch (kind) {
    case 'cancel':
    case 'terminate':
      return { kind, ...optional('reason', optionalText(item, 'reason')) };
    case 'pause':
    case 'resume':
    case 'retryNow':
      return { kind };
    case 'signal':
      return { kind, name: text(item, 'name'), ...optional('payload', payload(item, 'payload')) };
  }
}

export function toRunName(item: Item): RunName {
  return { runId: text(item, 'runId'), generation: number(item, 'generation') };
}

export function scheduleItem(name: string, state: ScheduleState): Item {
  const { starting, ...fields } = state;
  return {
    ...scheduleKey(name),
    ...fields,
    ...defined({ startingTickAtMs: starting?.tickAtMs, startingSinceMs: starting?.sinceMs }),
  };
}

export function toSchedule(item: Item): ScheduleState {
  const startingTickAtMs = optionalNumber(item, 'startingTickAtMs');
  return {
    revision: optionalNumber(item, 'revision') ?? 0,
    ...optional('fromMs', optionalNumber(item, 'fromMs')),
    ...optional('tickAtMs', optionalNumber(item, 'tickAtMs')),
    ...optional('runId', optionalText(item, 'runId')),
    ...defined({
      starting:
        startingTickAtMs === undefined
          ? undefined
          : { tickAtMs: startingTickAtMs, sinceMs: number(item, 'startingSinceMs') },
    }),
    ...optional('waitingTickAtMs', optionalNumber(item, 'waitingTickAtMs')),
    ...optional('pausedAtMs', optionalNumber(item, 'pausedAtMs')),
  };
}

export function toDueEntry(item: Item): DueEntry {
  const runId = runIdOf(item);
  const dueAtMs = number(item, 'dueAtMs');
  if (item.sk.startsWith(tokenPrefix)) {
    return {
      kind: 'token',
      runId,
      waitId: item.sk.slice(tokenPrefix.length),
      ...optional('server', optionalText(item, 'server')),
      dueAtMs,
      settled: item['settledAtMs'] !== undefined,
      isLongStep: item['stepFailures'] !== undefined,
    };
  }
  return { kind: item.sk === headSk ? 'run' : 'inbox', runId, dueAtMs };
}

export function toSummary(item: Item): RunSummary {
  return {
    runId: runIdOf(item),
    workflow: text(item, 'workflow'),
    status: text(item, 'status') as RunStatus,
    createdAtMs: number(item, 'createdAtMs'),
    ...optional('endedAtMs', optionalNumber(item, 'endedAtMs')),
    ...optional('tags', tagsOf(item)),
  };
}

function parentOf(item: Item): ParentWait | undefined {
  const runId = optionalText(item, 'parentRunId');
  return runId === undefined ? undefined : { runId, waitId: text(item, 'parentWaitId') };
}

function stepOf(item: Item): LongStepRecord | undefined {
  const failedAttempts = optionalNumber(item, 'stepFailures');
  if (failedAttempts === undefined) return undefined;
  return {
    failedAttempts,
    strikes: number(item, 'stepStrikes'),
    sinceMs: number(item, 'stepSinceMs'),
    ...optional('lastError', payload(item, 'stepError') as StoredError | undefined),
    ...optional('progress', payload(item, 'stepProgress')),
  };
}

function workerStartOf(item: Item): WorkerStart | undefined {
  const attempt = optionalNumber(item, 'startAttempt');
  if (attempt === undefined) return undefined;
  const came = payload(item, 'startCame');
  return {
    attempt,
    ...optional('claim', optionalText(item, 'startClaim')),
    ...optional('untilMs', optionalNumber(item, 'startUntilMs')),
    ...optional('came', came === undefined ? undefined : (decodeEvents(came)[0] as WorkerStart['came'])),
    ...optional('held', payload(item, 'startHeld') as StoredError | undefined),
  };
}

/** The attributes that record what a server asks, for the `recorded`-th time. */
export const questionAttributes = (
  asked: Pick<TokenQuestions, 'list' | 'round' | 'state'>,
  recorded: number,
): Record<string, Scalar> => ({
  questions: encodePayload(asked as unknown as JsonValue),
  questionsRecorded: recorded,
  ...defined({ questionsRound: asked.round }),
});

function questionsOf(item: Item): TokenQuestions | undefined {
  const asked = payload(item, 'questions') as Pick<TokenQuestions, 'list' | 'round' | 'state'> | undefined;
  if (asked === undefined) return undefined;
  return {
    ...asked,
    recorded: optionalNumber(item, 'questionsRecorded') ?? 0,
    taken: optionalNumber(item, 'questionsTaken') ?? 0,
  };
}

function sightingsOf(item: Item): Sightings | undefined {
  const of = optionalText(item, 'sighted') as Sightings['of'] | undefined;
  if (of === undefined) return undefined;
  return { of, count: number(item, 'sightings'), atMs: number(item, 'sightedAtMs') };
}

function cancelOf(item: Item): RemoteCancel | undefined {
  const kind = optionalText(item, 'cancelled') as RemoteCancel['kind'] | undefined;
  return kind === undefined ? undefined : { kind, atMs: number(item, 'cancelledAtMs') };
}

function childOf(item: Item): TokenRecord['child'] {
  const runId = optionalText(item, 'childRunId');
  return runId === undefined ? undefined : { runId, parentClose: text(item, 'parentClose') as ParentClosePolicy };
}

function tagsOf(item: Item): Readonly<Record<string, string>> | undefined {
  const stored = optionalText(item, 'tags');
  return stored === undefined ? undefined : (JSON.parse(stored) as Readonly<Record<string, string>>);
}

/** Of the items of a run, all attributes that hold no payload. */
export const plainAttributes: Readonly<Record<'head' | 'token' | 'inbox', readonly string[]>> = {
  head: [
    ...['workflow', 'version', 'status', 'seed', 'createdAtMs', 'endedAtMs', 'key', 'deadlineAtMs', 'startAtMs'],
    ...['parentRunId', 'parentWaitId', 'previousRunId', 'nextRunId', 'tags', 'inboxCount', 'dueSeq', 'blocks'],
    ...['publishedSeq', 'dueAtMs'],
  ],
  token: [
    ...['server', 'attempt', 'writerId', 'createdAtMs', 'deadlineAtMs', 'childRunId', 'parentClose', 'pollErrors'],
    ...[
      'startAttempt',
      'startClaim',
      'startUntilMs',
      'onCancel',
      'onTimeout',
      'dueAtMs',
      'settledAtMs',
      'settledBy',
      'settledFrom',
    ],
  ],
  inbox: ['kind', 'reason', 'name', 'atMs', 'position', 'order', 'dueAtMs'],
};

const runIdOf = (item: Item): RunId => item.pk.slice('run#'.length);

function text(item: Item, attribute: string): string {
  const value = item[attribute];
  if (typeof value !== 'string') throw damaged(item, attribute, 'a string', value);
  return value;
}
function number(item: Item, attribute: string): number {
  const value = item[attribute];
  if (typeof value !== 'number') throw damaged(item, attribute, 'a number', value);
  return value;
}
function optionalText(item: Item, attribute: string): string | undefined {
  return item[attribute] === undefined ? undefined : text(item, attribute);
}
function optionalNumber(item: Item, attribute: string): number | undefined {
  return item[attribute] === undefined ? undefined : number(item, attribute);
}
function payload(item: Item, attribute: string): JsonValue | undefined {
  const stored = optionalText(item, attribute);
  return stored === undefined ? undefined : decodePayload(stored);
}
function optional<Name extends string, Value>(name: Name, value: Value | undefined): Partial<Record<Name, Value>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, Value>);
}
function damaged(item: Item, attribute: string, expected: string, got: unknown): EngineError {
  return new EngineError(
    'HISTORY_FORMAT_UNKNOWN',
    `item ${item.pk} ${item.sk}: ${attribute} must be ${expected}, got ${typeof got}`,
  );
}
