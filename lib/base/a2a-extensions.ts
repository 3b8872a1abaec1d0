// Extensions of A2A that outwait speaks, as server and as client. A request activates them by naming their URIs.

const base = 'https://outwait.dev/a2a/extensions';

/**
 * The agent answers a repeated SendMessage, recognised by its `Idempotency-Key` header or by its message id, with the
 * task it already has.
 */
export const idempotentSendExtension = `${base}/idempotent-send/v1`;

/**
 * Tasks and events carry their generation, in the metadata under this URI: 1 when the task is made, and 1 more with each
 * event. A subscriber that gives the last one back is sent what came after; a message may name the one it answers, and a
 * read may wait for what comes after one.
 */
export const sequenceExtension = `${base}/sequence/v1`;

/**
 * A message carries the marks of the tasks that have led to it by calls of one another, in its metadata under this URI:
 * opaque texts, the oldest first. An agent sends on what it was sent, and its own mark.
 */
export const callChainExtension = `${base}/call-chain/v1`;

/** The card has JSON Schemas of what skills take, in the parameters of the extension. */
export const skillSchemasExtension = `${base}/skill-schemas/v1`;
