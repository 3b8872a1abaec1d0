import { createHash } from 'node:crypto';

/** Returns a UUID derived from the idempotency key: the same on every attempt, and revealing nothing about the run. */
export function messageIdOf(idempotencyKey: string): string {
  return uuidOf('outwait/a2a-message/1', idempotencyKey);
}

/** Returns the context id under which the task of a start with this key is looked for. */
export function contextIdOf(idempotencyKey: string): string {
  return uuidOf('outwait/a2a-context/1', idempotencyKey);
}

function uuidOf(purpose: string, key: string): string {
  const hex = createHash('sha256').update(`${purpose}\0${key}`).digest('hex');
  // Sets version 8, "custom", and the variant of RFC 9562 section 4.
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
