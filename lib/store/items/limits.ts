// Maximum size of every attribute of every item, so that no write can create an item that DynamoDB refuses: an update
// does not know what else is on its item, and need not.

import { callerIdMaxBytes } from '../../base/caller.js';
import { EngineError } from '../../base/errors.js';
import { utf8Bytes } from '../../base/json.js';
import { idempotencyKeyMaxBytes, failureTextBytes } from '../../base/limits.js';
import { commitPrefix, headSk, inboxPrefix, pushConfigPrefix, tokenPrefix } from './keys.js';
import type { Key, Scalar } from '../table.js';

const KiB = 1024;

/** Room for the stored, sealed form of a payload on the item itself; a larger one is in chunks, referenced here. */
interface PayloadRoom {
  readonly inlineBytes: number;
}
/** Room for a text, in bytes of UTF-8. Validation before the write keeps to it. */
interface TextRoom {
  readonly maxBytes: number;
}
export type Room = PayloadRoom | TextRoom | 'number';

const payload = (inlineBytes: number): PayloadRoom => ({ inlineBytes });
const text = (maxBytes: number): TextRoom => ({ maxBytes });

/** An id of a run or of a writer, in hex. */
const id = text(128);
/** A word of ours. */
const word = text(32);
/** A name in the configuration of the app: of a workflow, a server, a schedule. */
const name = text(64);
/** A W3C `traceparent`, as we write it. */
const traceparent = text(64);
/** Id of a caller. */
const callerId = text(callerIdMaxBytes);
/** A number; DynamoDB counts two digits as a byte. */
const number = 'number';

const common = { format: number } as const satisfies Record<string, Room>;
const markers = { dueShard: word, dueAtMs: number } as const satisfies Record<string, Room>;
/** Time, id, what holds a run up, tenant and owner. */
const listed = { listPartition: word, listSort: text(288) } as const satisfies Record<string, Room>;

/**
 * Every attribute of every kind of item. Payloads that later writes add have so little room that they fit next to one
 * of up to 300 KiB that an earlier version left on the item, when each attribute had that much.
 */
export const itemLimits = {
  head: {
    ...common,
    ...markers,
    ...listed,
    writerId: id,
    workflow: name,
    /** 64 characters of any script. */
    version: text(192),
    status: word,
    input: payload(300 * KiB),
    seed: id,
    createdAtMs: number,
    endedAtMs: number,
    id: text(idempotencyKeyMaxBytes),
    key: text(idempotencyKeyMaxBytes),
    deadlineAtMs: number,
    startAtMs: number,
    parentRunId: id,
    parentWaitId: word,
    parentWorkflow: name,
    previousRunId: id,
    nextRunId: id,
    traceparent,
    /** JSON: ten names of 64 characters and values of 256, each character an escape of six bytes. */
    tags: text(20 * KiB),
    owner: callerId,
    tenant: name,
    tenantPartition: text(128),
    counted: number,
    /** A caller by its digest, and a skill. */
    counters: text(128),
    /** 16 marks of 32 characters, as JSON. */
    calls: text(576),
    callback: payload(2 * KiB),
    task: payload(8 * KiB),
    taskPartition: word,
    /** Time and id. */
    taskSort: text(64),
    taskState: word,
    taskStatusAtMs: number,
    taskContext: word,
    inboxCount: number,
    dueSeq: number,
    blocks: number,
    publishedSeq: number,
    afterRunId: id,
    laterRunId: id,
    sentDigest: text(64),
    inputError: payload(16 * KiB),
    concurrencyKey: text(idempotencyKeyMaxBytes),
    laneAfterRunId: id,
    laneAfterCreatedAtMs: number,
    laneReplaces: number,
    laneNextRunId: id,
    debounceUntilMs: number,
    debounceId: id,
    failedTurns: number,
    failedTurnCause: word,
    failedTurnAtMs: number,
    blocked: payload(16 * KiB),
  },
  commit: { ...common, writerId: id, events: payload(300 * KiB) },
  inbox: {
    ...common,
    ...markers,
    kind: word,
    reason: text(failureTextBytes),
    /** 128 characters of any script. */
    name: text(384),
    payload: payload(300 * KiB),
    atMs: number,
    order: number,
    position: number,
    by: callerId,
    sentDigest: text(64),
    answers: word,
    carried: number,
  },
  token: {
    ...common,
    ...markers,
    ...listed,
    server: name,
    attempt: number,
    writerId: id,
    createdAtMs: number,
    deadlineAtMs: number,
    traceparent,
    childRunId: id,
    parentClose: word,
    pollErrors: number,
    onCancel: word,
    onTimeout: word,
    answersQuestions: number,
    form: payload(24 * KiB),
    notices: payload(2 * KiB),
    tenant: name,
    tenantPartition: text(128),
    stepFailures: number,
    stepStrikes: number,
    stepSinceMs: number,
    stepError: payload(8 * KiB),
    stepProgress: payload(24 * KiB),
    handle: payload(8 * KiB),
    startAttempt: number,
    startClaim: id,
    startUntilMs: number,
    startCame: payload(KiB),
    startHeld: payload(KiB),
    lookUntilMs: number,
    startedAtMs: number,
    leftAtMs: number,
    pushedAtMs: number,
    pollHintMs: number,
    questions: payload(24 * KiB),
    questionsRecorded: number,
    questionsRound: number,
    questionsTaken: number,
    trail: payload(9 * KiB),
    followsProgress: number,
    progressTaken: number,
    sighted: word,
    sightings: number,
    sightedAtMs: number,
    ttlMs: number,
    cancelled: word,
    cancelledAtMs: number,
    settledAtMs: number,
    settledBy: id,
    settledFrom: word,
    settledCaller: callerId,
    settledProof: text(256),
    outcome: payload(64 * KiB),
  },
  /** Where news of a served task are pushed. */
  push: {
    ...common,
    ...markers,
    createdAtMs: number,
    wire: word,
    receiver: payload(32 * KiB),
    cursor: number,
    owed: number,
    failures: number,
    refusals: number,
    writerId: id,
    claimUntilMs: number,
    closedAtMs: number,
    removedAtMs: number,
  },
  /** Named key of a caller. */
  key: {
    ...common,
    ...listed,
    writerId: id,
    roles: text(64),
    tenant: name,
    createdAtMs: number,
    keyDigest: text(64),
    oldKeyDigest: text(64),
    usedDay: number,
    revokedAtMs: number,
    by: callerId,
  },
  /** Pointer from an id of a caller. */
  name: { ...common, runId: id, generation: number },
  /** Counters of a tenant: live runs, and what was asked for in the current minute. */
  tenant: { ...common, live: number, minute: number, requests: number },
  /**
   * Counters of served tasks: those under way, those of a context, and messages in the current minute; and the slots of
   * streams.
   */
  served: {
    ...common,
    live: number,
    turns: number,
    minute: number,
    requests: number,
    holder: text(128),
    owner: text(32),
    untilMs: number,
  },
  /** Pointer to the last run of a lane. */
  lane: { ...common, runId: id, generation: number },
  /** Pointer to the run that debounced starts become. */
  debounce: { ...common, runId: id, generation: number },
  /** What a start with an idempotency key has led to. */
  start: { ...common, runId: id, sentDigest: text(64) },
  throttle: { ...common, startsAtMs: text(2 * KiB), generation: number },
  /** Proof of a sender that was taken. */
  proof: { ...common, use: text(64), untilMs: number, expiresAtS: number },
  schedule: {
    ...common,
    revision: number,
    fromMs: number,
    tickAtMs: number,
    runId: id,
    startingTickAtMs: number,
    startingSinceMs: number,
    waitingTickAtMs: number,
    pausedAtMs: number,
    pausedBy: callerId,
  },
  /** State, rate and slots of a server. */
  server: {
    ...common,
    failures: number,
    failedAtMs: number,
    openUntilMs: number,
    probeUntilMs: number,
    trips: number,
    holdUntilMs: number,
    prompt: number,
    word: text(512),
    minute: number,
    requests: number,
    starts: number,
    reads: number,
    readsBefore: number,
    startsUntilMs: number,
    readsUntilMs: number,
    holder: text(128),
    untilMs: number,
  },
  /** Number of partitions of the due index. */
  due: { ...common, shards: number },
} as const satisfies Record<string, Readonly<Record<string, Room>>>;

export type ItemKind = keyof typeof itemLimits;

const rooms: Readonly<Record<ItemKind, Readonly<Record<string, Room>>>> = itemLimits;

/** Returns the kind of the item at a key. */
export function itemKindOf({ pk, sk }: Key): ItemKind {
  if (pk.startsWith('run#')) {
    if (sk === headSk) return 'head';
    if (sk.startsWith(commitPrefix)) return 'commit';
    if (sk.startsWith(inboxPrefix)) return 'inbox';
    if (sk.startsWith(tokenPrefix)) return 'token';
    if (sk.startsWith(pushConfigPrefix)) return 'push';
  }
  if (pk.startsWith('key#')) return 'key';
  if (pk.startsWith('name#')) return 'name';
  if (pk.startsWith('tenant#')) return 'tenant';
  if (pk.startsWith('served#')) return 'served';
  if (pk.startsWith('lane#')) return 'lane';
  if (pk.startsWith('debounce#')) return 'debounce';
  if (pk.startsWith('start#')) return 'start';
  if (pk.startsWith('throttle#')) return 'throttle';
  if (pk.startsWith('proof#')) return 'proof';
  if (pk.startsWith('schedule#')) return 'schedule';
  if (pk.startsWith('server#')) return 'server';
  if (pk === 'due') return 'due';
  throw new EngineError('INTERNAL', `unknown kind of item at ${pk} ${sk}`);
}

/** Returns the names of an item's payloads, each with the bytes that the item has room for. */
export function payloadsOf(key: Key): readonly (readonly [name: string, inlineBytes: number])[] {
  return payloads.get(itemKindOf(key)) ?? [];
}

const payloads: ReadonlyMap<string, readonly (readonly [string, number])[]> = new Map(
  Object.entries(rooms).map(([kind, ofKind]) => [
    kind,
    Object.entries(ofKind).flatMap(([attribute, room]) =>
      typeof room === 'object' && 'inlineBytes' in room ? [[attribute, room.inlineBytes] as const] : [],
    ),
  ]),
);

/**
 * Checks that each attribute exists and has room. Throws EngineError `INTERNAL` for an attribute that its kind of item
 * does not have, since its size would not be counted, and `PAYLOAD_TOO_LARGE` for a value without room. Payloads come
 * sealed, and as references if they are too large.
 */
export function checkAttributes(key: Key, attributes: Readonly<Record<string, Scalar | undefined>>): void {
  const kind = itemKindOf(key);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === undefined || attribute === 'pk' || attribute === 'sk') continue;
    const room = Object.hasOwn(rooms[kind], attribute) ? rooms[kind][attribute] : undefined;
    if (room === undefined || (typeof value === 'number') !== (room === 'number'))
      throw new EngineError('INTERNAL', `a ${kind} has no ${typeof value} "${attribute}"`);
    if (typeof value === 'number' || room === 'number') continue;
    const maxBytes = 'maxBytes' in room ? room.maxBytes : room.inlineBytes;
    // A text has at most three bytes for each of its units.
    if (value.length * 3 <= maxBytes) continue;
    const bytes = utf8Bytes(value);
    if (bytes > maxBytes)
      throw new EngineError(
        'PAYLOAD_TOO_LARGE',
        `"${attribute}" of a ${kind} may hold at most ${maxBytes} bytes, got ${bytes}`,
      );
  }
}
