import type { Context } from 'hono';
import type * as z from 'zod/mini';
import type { RunId } from '../base/ids.js';
import { parseAs, parseQuery } from './parse.js';
import { type BodyRule, readJsonBody } from './read-body.js';
import { noQuery, runIdFrom } from './requests.js';

/** Largest request body of the management routes that set no other limit. */
const inboundMaxBytes = 1 * 1024 * 1024;

// Checked parts of a request.

/** @throws EngineError `INPUT_INVALID` if there is a query */
export function noQueryIn(context: Context): void {
  parseQuery(noQuery, queryOf(context));
}

export function queryOf(context: Context): URLSearchParams {
  return new URL(context.req.url).searchParams;
}

/** @throws EngineError `RUN_NOT_FOUND` */
export function runIdIn(context: Context): RunId {
  return runIdFrom(context.req.param('runId') ?? '');
}

/** @throws EngineError `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`, `INPUT_INVALID` */
export async function bodyIn<Schema extends z.ZodMiniType>(
  context: Context,
  schema: Schema,
  rule: Partial<BodyRule> = {},
): Promise<z.infer<Schema>> {
  return parseAs(schema, await readJsonBody(context.req.raw, { maxBytes: inboundMaxBytes, ...rule }), 'the body');
}
