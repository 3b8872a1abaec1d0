// Records ⇄ items of the table: keys, attribute names, stored forms. Pure.

import { EngineError, type StoredError } from '../base/errors.js';
import type { RunId, WaitId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { dueShards } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import { decodeEvents } from '../history/codec.js';
import type { Commit, ParentClosePolicy, RemoteTaskHandle } from '../history/event.js';
import { decodePayload, encodePayload } from './payload.js';
import type {
  DueEntry,
  InboxRecord,
  InboxRequest,
  ParentWait,
  RunHead,
  RunName,
  RunStatus,
  RunSummary,
  ScheduleTick,
  Settlement,
  TokenOutcome,
  TokenRecord,
} from './records.js';
import type { Item, Key, Scalar } from './table.js';

export const headSk = 'a';
export const commitPrefix = 'h#';
export const inboxPrefix = 'i#';
export const tokenPrefix = 't#';

/** Attributes that hold a payload in its stored form. */
export const payloadAttributes = ['input', 'events', 'outcome', 'payload', 'handle', 'blocked'] as const;

/** Where the chunks of the payloads of a partition are. */
export const blobPartitionOf = (pk: string): string => `blob#${pk.slice('run#'.length)}`;
/** The run that an id of a caller points to. */
export const runNameKey = (nameKey: string): Key => ({ pk: `name#${nameKey}`, sk: headSk });
/** What a schedule started last. */
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

/** Shard of the due index; the run id is random, so its first digits are a hash. */
export const dueShardOf = (runId: RunId): string => String(Number.parseInt(runId.slice(0, 4), 16) % dueShards);

/** The attributes that put an item into the due index. */
export const marker = (runId: RunId, dueAtMs: EpochMs): Record<string, Scalar> => ({
  dueShard: dueShardOf(runId),
  dueAtMs,
});
export const markerAttributes = ['dueShard', 'dueAtMs'] as const;

export const listKeys = (runId: RunId, status: RunStatus, createdAtMs: EpochMs): Record<string, Scalar> => ({
  listPartition: status,
  listSort: `${String(createdAtMs).padStart(15, '0')}#${runId}`,
});

export function headItem(head: RunHead, writerId: string): Item {
  return {
    ...headKey(head.runId),
    writerId,
    workflow: head.workflow,
    version: head.version,
    status: head.status,
    ...(head.input === undefined ? {} : { input: encodePayload(head.input) }),
    seed: head.seed,
    createdAtMs: head.createdAtMs,
    ...(head.key === undefined ? {} : { key: head.key }),
    ...(head.deadlineAtMs === undefined ? {} : { deadlineAtMs: head.deadlineAtMs }),
    ...(head.startAtMs === undefined ? {} : { startAtMs: head.startAtMs }),
    ...(head.parent === undefined ? {} : { parentRunId: head.parent.runId, parentWaitId: head.parent.waitId }),
    ...(head.previousRunId === undefined ? {} : { previousRunId: head.previousRunId }),
    ...(head.tags === undefined ? {} : { tags: JSON.stringify(head.tags) }),
    inboxCount: head.inboxCount,
    dueSeq: head.dueSeq,
    ...(head.dueAtMs === undefined ? {} : marker(head.runId, head.dueAtMs)),
    ...listKeys(head.runId, head.status, head.createdAtMs),
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
    ...optional('deadlineAtMs', optionalNumber(item, 'deadlineAtMs')),
    ...optional('startAtMs', optionalNumber(item, 'startAtMs')),
    ...optional('parent', parentOf(item)),
    ...optional('previousRunId', optionalText(item, 'previousRunId')),
    ...optional('nextRunId', optionalText(item, 'nextRunId')),
    ...optional('tags', tagsOf(item)),
    inboxCount: number(item, 'inboxCount'),
    dueSeq: number(item, 'dueSeq'),
    ...optional('dueAtMs', optionalNumber(item, 'dueAtMs')),
    ...optional('blocked', payload(item, 'blocked') as StoredError | undefined),
  };
}

export function toCommit(item: Item): Commit {
  return { seq: Number(item.sk.slice(commitPrefix.length)), events: decodeEvents(decodePayload(text(item, 'events'))) };
}

export function tokenItem(token: TokenRecord): Item {
  return {
    ...tokenKey(token.runId, token.waitId),
    ...(token.server === undefined ? {} : { server: token.server }),
    attempt: token.attempt,
    writerId: token.writerId,
    createdAtMs: token.createdAtMs,
    ...(token.deadlineAtMs === undefined ? {} : { deadlineAtMs: token.deadlineAtMs }),
    ...(token.child === undefined ? {} : { childRunId: token.child.runId, parentClose: token.child.parentClose }),
    pollErrors: token.pollErrors,
  };
}

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
    ...optional('handle', payload(item, 'handle') as RemoteTaskHandle | undefined),
    ...optional('startedAtMs', optionalNumber(item, 'startedAtMs')),
    ...optional('pollHintMs', optionalNumber(item, 'pollHintMs')),
    pollErrors: optionalNumber(item, 'pollErrors') ?? 0,
    ...optional('dueAtMs', optionalNumber(item, 'dueAtMs')),
    ...(settledAtMs === undefined
      ? {}
      : {
          settlement: {
            writerId: text(item, 'settledBy'),
            atMs: settledAtMs,
            by: text(item, 'settledFrom') as Settlement['by'],
            outcome: payload(item, 'outcome') as TokenOutcome,
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
    ...(record.order === undefined ? {} : { order: record.order }),
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
        ...(request.payload === undefined ? {} : { payload: encodePayload(request.payload) }),
      };
  }
}

export function toInbox(item: Item): InboxRecord {
  return {
    runId: runIdOf(item),
    inboxId: item.sk.slice(inboxPrefix.length),
    atMs: number(item, 'atMs'),
    ...optional('order', optionalNumber(item, 'order')),
    ...optional('dueAtMs', optionalNumber(item, 'dueAtMs')),
    ...requestOf(item),
  };
}

function requestOf(item: Item): InboxRequest {
  const kind = text(item, 'kind') as InboxRequest['kind'];
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

export function toTick(item: Item): ScheduleTick {
  return { tickAtMs: number(item, 'tickAtMs'), ...optional('runId', optionalText(item, 'runId')) };
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

function childOf(item: Item): TokenRecord['child'] {
  const runId = optionalText(item, 'childRunId');
  return runId === undefined ? undefined : { runId, parentClose: text(item, 'parentClose') as ParentClosePolicy };
}

function tagsOf(item: Item): Readonly<Record<string, string>> | undefined {
  const stored = optionalText(item, 'tags');
  return stored === undefined ? undefined : (JSON.parse(stored) as Readonly<Record<string, string>>);
}

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
