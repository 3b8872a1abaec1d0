import { defined } from '../base/defined.js';
import { isRunId, isWaitId, type RunId, type WaitId } from '../base/ids.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type {
  DelayedWakeMessage,
  News,
  PollMessage,
  PushMessage,
  StartMessage,
  StepMessage,
  TurnMessage,
  UnharmedStart,
  WorkMessage,
} from '../queue/queue.js';

// Bodies as a queue returns them. Unknown fields are ignored: a newer version may have sent them. Checked by hand: a
// library would add 35 KB to what these functions load before their first event.

/** Returns undefined if the body is not a turn message. */
export function parseTurnMessage(body: string): TurnMessage | undefined {
  const { runId, news, unharmed } = fieldsIn(body);
  if (!isRun(runId)) return undefined;
  // Drops all news if one is of an unknown kind, so that the turn reads everything.
  const knownNews = listOf(news, toNews);
  // Hint only: without it, a start counts as one whose process died.
  const starts = listOf(unharmed, toUnharmedStart);
  return {
    runId,
    ...defined({ news: knownNews, unharmed: starts }),
  };
}

/** Returns undefined if the body is not a step message. */
export function parseStepMessage(body: string): StepMessage | undefined {
  const { runId, waitId, dueAtMs, unharmed } = fieldsIn(body);
  if (!isRun(runId) || !isWait(waitId) || !isInstant(dueAtMs)) return undefined;
  return { runId, waitId, dueAtMs, ...defined({ unharmed: isText(unharmed) ? unharmed : undefined }) };
}

/** Returns undefined if the body is not a message of the start queue. */
export function parseStartMessage(body: string): StartMessage | undefined {
  const { kind, runId, waitId, dueAtMs, forCancel } = fieldsIn(body);
  if (kind !== 'start' || !isRun(runId) || !isWait(waitId) || !isInstant(dueAtMs)) return undefined;
  if (forCancel !== undefined && forCancel !== true) return undefined;
  return { kind, runId, waitId, dueAtMs, ...defined({ forCancel }) };
}

/** Returns undefined if the body is not a work message. */
export function parseWorkMessage(body: string): WorkMessage | undefined {
  const fields = fieldsIn(body);
  const { kind } = fields;
  if (kind === 'wake') return toWake(fields);
  if (kind === 'push') return toPush(fields);
  return kind === 'poll' ? toPoll(fields) : undefined;
}

function toWake({ runId, dueAtMs }: JsonObject): DelayedWakeMessage | undefined {
  return isRun(runId) && isInstant(dueAtMs) ? { kind: 'wake', runId, dueAtMs } : undefined;
}

function toPush({ runId, configId, slowReceiver }: JsonObject): PushMessage | undefined {
  if (!isRun(runId) || !isText(configId)) return undefined;
  return {
    kind: 'push',
    runId,
    configId,
    ...defined({ slowReceiver: isText(slowReceiver) ? slowReceiver : undefined }),
  };
}

function toPoll(fields: JsonObject): PollMessage | undefined {
  const { runId, waitId, server, dueAtMs, hop, by, saidEnded, isSlow, traceparent } = fields;
  const knownHop = toHop(hop);
  if (!isRun(runId) || !isWait(waitId)) return undefined;
  if ((server !== undefined && !isText(server)) || (by !== undefined && !isText(by))) return undefined;
  if (dueAtMs !== undefined && !isInstant(dueAtMs)) return undefined;
  if (hop !== undefined && knownHop === undefined) return undefined;
  return {
    kind: 'poll',
    runId,
    waitId,
    ...defined({
      ...{ server, dueAtMs, hop: knownHop, by },
      // Hints only.
      saidEnded: saidEnded === true ? true : undefined,
      isSlow: isSlow === true ? true : undefined,
      traceparent: isText(traceparent) ? traceparent : undefined,
    }),
  };
}

function toHop(value: JsonValue | undefined): PollMessage['hop'] {
  const { count, claimedDueAtMs, isAhead } = fieldsOf(value);
  if (!isCount(count) || !isInstant(claimedDueAtMs)) return undefined;
  return { count, claimedDueAtMs, ...defined({ isAhead: isAhead === true ? true : undefined }) };
}

function toNews(value: JsonValue): News | undefined {
  const { waitId, inboxId } = fieldsOf(value);
  if (isWait(waitId)) return { waitId };
  return isText(inboxId) ? { inboxId } : undefined;
}

function toUnharmedStart(value: JsonValue): UnharmedStart | undefined {
  const { waitId, attempt, begun } = fieldsOf(value);
  return isWait(waitId) && isCount(attempt) && isCount(begun) ? { waitId, attempt, begun } : undefined;
}

/** Returns undefined unless `value` is a list and `read` accepts each element. */
function listOf<Element>(
  value: JsonValue | undefined,
  read: (element: JsonValue) => Element | undefined,
): readonly Element[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const elements = (value as readonly JsonValue[]).map(read);
  const known = elements.filter((element) => element !== undefined);
  return known.length === elements.length ? known : undefined;
}

function fieldsIn(body: string): JsonObject {
  try {
    return fieldsOf(JSON.parse(body) as JsonValue);
  } catch {
    return {};
  }
}

/** Returns an object without fields for anything that is not an object. */
function fieldsOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function isRun(value: JsonValue | undefined): value is RunId {
  return isText(value) && isRunId(value);
}

function isWait(value: JsonValue | undefined): value is WaitId {
  return isText(value) && isWaitId(value);
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string';
}

function isInstant(value: JsonValue | undefined): value is EpochMs {
  return isWholeNumber(value) && value >= 0;
}

function isCount(value: JsonValue | undefined): value is number {
  return isWholeNumber(value) && value > 0;
}

function isWholeNumber(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value);
}
