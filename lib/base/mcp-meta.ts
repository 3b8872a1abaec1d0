// Keys of ours in `_meta` of requests over MCP.

/** Starts of one caller with the same key are one task. */
export const keyMeta = 'dev.outwait/idempotencyKey';
/** Marks of the tasks that have led to the call, as our extension of A2A for chains of calls has them. */
export const callsMeta = 'dev.outwait/calls';
