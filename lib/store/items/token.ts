import type { StoredError } from '../../base/errors.js';
import { decodeEvents, encodeEvents } from '../../history/codec.js';
import type { ParentClosePolicy, RemoteClosePolicy, RemoteTaskHandle } from '../../history/event.js';
import type { AddressedQuestion, Notices } from '../../history/question.js';
import type { LongStepRecord, RemoteCancel, Settlement, TokenOutcome } from '../../history/records.js';
import type { TokenQuestions, TokenRecord, WorkerStart } from '../../history/records.js';
import type { BadReads } from '../../history/remote-end.js';
import type { TaskTrail } from '../../history/task-trail.js';
import type { Item } from '../table.js';
import { type Attributes, type Field, fields, flag, group, named, number } from './fields.js';
import { optional, orElse, payload, text, word } from './fields.js';
import { inputListing, marker } from './indexes.js';
import { runIdOf, tokenKey, waitIdOf } from './keys.js';
import { decodePayload, encodePayload } from './payload.js';

const child = fields<NonNullable<TokenRecord['child']>>({
  runId: named('childRunId', text),
  parentClose: word<ParentClosePolicy>(),
});

export const longStepFields = fields<LongStepRecord>({
  failedAttempts: named('stepFailures', number),
  strikes: named('stepStrikes', number),
  sinceMs: named('stepSinceMs', number),
  lastError: named('stepError', optional(payload<StoredError>())),
  progress: named('stepProgress', optional(payload())),
});

/** An event of a start; stored as a list of one event, by the codec of events. */
const cameOfStart: Field<NonNullable<WorkerStart['came']>> = {
  names: (name) => [name],
  write: (came, name) => ({ [name]: encodePayload(encodeEvents([came])) }),
  read: (item, name) =>
    decodeEvents(decodePayload(text.read(item, name)))[0] as unknown as NonNullable<WorkerStart['came']>,
};

export const workerStartFields = fields<WorkerStart>({
  attempt: named('startAttempt', number),
  claim: named('startClaim', optional(text)),
  untilMs: named('startUntilMs', optional(number)),
  came: named('startCame', optional(cameOfStart)),
  held: named('startHeld', optional(payload<StoredError>())),
});
/** Attributes left by an earlier attempt of a worker. */
export const workerStartLeft = workerStartFields.names('claim', 'untilMs', 'came', 'held');

/** Questions of a server as they are recorded. */
export type Asked = Pick<TokenQuestions, 'list' | 'round' | 'state'>;

const questionCounts = fields<{ readonly recorded: number; readonly round?: number; readonly taken: number }>({
  recorded: named('questionsRecorded', orElse(number, 0)),
  /** Next to the payload, for conditions. */
  round: named('questionsRound', optional(number)),
  taken: named('questionsTaken', orElse(number, 0)),
});

/**
 * Returns the attributes that record questions of a server, for the `recorded`-th time; none if there are no questions.
 */
export const questionAttributes = (asked: Asked | undefined, recorded: number): Attributes =>
  asked === undefined
    ? {}
    : {
        ...payload<Asked>().write(asked, 'questions'),
        ...questionCounts.write({ recorded, round: asked.round }),
      };
/** Returns the attribute that counts the recordings of questions taken in by turns. */
export const questionsTaken = (taken: number): Attributes => questionCounts.write({ taken });

const questions: Field<TokenQuestions> = {
  names: (name) => [name, ...questionCounts.attributes],
  write: ({ recorded, taken, ...asked }) => ({ ...questionAttributes(asked, recorded), ...questionsTaken(taken) }),
  read(item, name) {
    const { recorded, taken } = questionCounts.read(item);
    return { ...payload<Asked>().read(item, name), recorded, taken };
  },
};

const sightings = fields<BadReads>({
  of: named('sighted', word<BadReads['of']>()),
  count: named('sightings', number),
  atMs: named('sightedAtMs', number),
});

const cancel = fields<RemoteCancel>({
  kind: named('cancelled', word<RemoteCancel['kind']>()),
  atMs: named('cancelledAtMs', number),
});

const settlement = fields<Settlement>({
  atMs: named('settledAtMs', number),
  writerId: named('settledBy', text),
  by: named('settledFrom', word<Settlement['by']>()),
  caller: named('settledCaller', optional(text)),
  proof: named('settledProof', optional(text)),
  // Missing if it cannot be read.
  outcome: orElse<TokenOutcome>(payload<TokenOutcome>(), { kind: 'abandoned' }),
});

/**
 * Fields of a token. A tombstone (item of a wait closed before it was put) has only its settlement: hence the `orElse`.
 */
export const tokenFields = fields<Omit<TokenRecord, 'runId' | 'waitId'>>({
  server: optional(text),
  attempt: orElse(number, 0),
  writerId: orElse(text, ''),
  createdAtMs: orElse(number, 0),
  deadlineAtMs: optional(number),
  child: optional(group(child)),
  step: optional(group(longStepFields)),
  handle: optional(payload<RemoteTaskHandle>()),
  answersQuestions: flag,
  questions: optional(questions),
  trail: optional(payload<TaskTrail>()),
  followsProgress: flag,
  progressTaken: optional(number),
  form: optional(payload<AddressedQuestion>()),
  notices: optional(payload<Notices>()),
  tenant: optional(text),
  workerStart: optional(group(workerStartFields)),
  lookUntilMs: optional(number),
  traceparent: optional(text),
  startedAtMs: optional(number),
  leftAtMs: optional(number),
  pushedAtMs: optional(number),
  dueAtMs: optional(number),
  pollErrors: orElse(number, 0),
  pollHintMs: optional(number),
  ttlMs: optional(number),
  sightings: optional(group(sightings)),
  onCancel: optional(word<RemoteClosePolicy>()),
  onTimeout: optional(word<RemoteClosePolicy>()),
  cancel: optional(group(cancel)),
  settlement: optional(group(settlement)),
});
export const noBadReads = tokenFields.names('sightings');

export function tokenItem(token: TokenRecord): Item {
  const { runId, waitId, ...fieldsOfToken } = token;
  return {
    ...tokenKey(runId, waitId),
    ...tokenFields.write(fieldsOfToken),
    ...inputListing(token),
    ...marker(runId, token.dueAtMs),
  };
}

export const toToken = (item: Item): TokenRecord => ({
  runId: runIdOf(item),
  waitId: waitIdOf(item),
  ...tokenFields.read(item),
});

/** Attributes to read of a token whose payloads cannot be read. */
export const tokenAttributesWithoutPayloads = [
  ...tokenFields.names(
    'server',
    'attempt',
    'writerId',
    'createdAtMs',
    'deadlineAtMs',
    'child',
    'pollErrors',
    'traceparent',
  ),
  ...workerStartFields.names('attempt', 'claim', 'untilMs'),
  ...tokenFields.names('onCancel', 'onTimeout', 'dueAtMs'),
  ...settlement.names('atMs', 'writerId', 'by', 'caller'),
];
