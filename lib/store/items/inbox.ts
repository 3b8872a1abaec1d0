import { EngineError } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { InboxRecord, InboxRequest } from '../../history/records.js';
import type { Item } from '../table.js';
import { type Fields, fields, flag, number, optional, payload, text } from './fields.js';
import { marker } from './indexes.js';
import { inboxIdOf, inboxKey, runIdOf } from './keys.js';

const sentFields = fields<Pick<InboxRecord, 'atMs' | 'sentDigest' | 'position' | 'order' | 'by' | 'dueAtMs'>>({
  atMs: number,
  sentDigest: optional(text),
  position: optional(number),
  order: optional(number),
  by: optional(text),
  dueAtMs: optional(number),
});

interface RequestParts {
  readonly reason?: string;
  readonly name: string;
  readonly payload?: JsonValue;
  readonly answers?: WaitId;
  readonly carried?: boolean;
}
const requestFields = fields<RequestParts>({
  name: text,
  reason: optional(text),
  payload: optional(payload()),
  answers: optional(text),
  carried: flag,
});

/** Fields of each kind of request. */
const partsOf: Readonly<Record<InboxRequest['kind'], Pick<Fields<Partial<RequestParts>>, 'read' | 'write'>>> = {
  cancel: requestFields.only('reason'),
  terminate: requestFields.only('reason'),
  pause: requestFields.only(),
  resume: requestFields.only(),
  retryNow: requestFields.only(),
  signal: requestFields.only('name', 'payload'),
  message: requestFields.only('payload', 'answers', 'carried'),
};
const isInboxKind = (kind: string): kind is InboxRequest['kind'] => Object.hasOwn(partsOf, kind);

export function inboxItem(record: InboxRecord): Item {
  const { runId, inboxId, kind, atMs, sentDigest, position, order, by, dueAtMs, ...parts } = record;
  return {
    ...inboxKey(runId, inboxId),
    kind,
    ...partsOf[kind].write(parts as Partial<RequestParts>),
    ...sentFields.write({ atMs, sentDigest, position, order, by }),
    ...marker(runId, dueAtMs),
  };
}

export function toInbox(item: Item): InboxRecord {
  return { runId: runIdOf(item), inboxId: inboxIdOf(item), ...sentFields.read(item), ...requestOf(item) };
}

function requestOf(item: Item): InboxRequest {
  const kind = text.read(item, 'kind');
  // Skipped, a request of a newer version would count as done.
  if (!isInboxKind(kind))
    throw new EngineError(
      'HISTORY_FORMAT_UNKNOWN',
      `item ${item.pk} ${item.sk}: this version does not know this kind of request`,
    );
  return { kind, ...partsOf[kind].read(item) } as InboxRequest;
}

/** Attributes to read of a request whose payloads cannot be read. */
export const inboxAttributesWithoutPayloads = [
  ...['kind', ...requestFields.names('reason', 'name', 'answers', 'carried')],
  ...sentFields.names('atMs', 'position', 'order', 'by', 'dueAtMs'),
];
