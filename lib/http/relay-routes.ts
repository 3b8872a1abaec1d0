import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import type * as z from 'zod/mini';
import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { inboundCompleteMaxBytes } from '../base/limits.js';
import type { Deps } from '../operations/deps.js';
import { type HeartbeatResult, heartbeatToken } from '../operations/requests/heartbeat-token.js';
import { externalWaitsOf, listExternalWaits } from '../operations/views/list-external-waits.js';
import { type SettleRequest, type SettleResult, settleToken } from '../operations/requests/settle-token.js';
import { settleWait } from '../operations/requests/settle-wait.js';
import { requireOwnRun } from '../operations/own-run.js';
import { bearerOf, counted } from './access.js';
import { parseQuery } from './parse.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn, queryOf, runIdIn } from './request-parts.js';
import { completeBody, externalQuery, failBody, heartbeatBody, runIdFrom, settleBody } from './requests.js';

// Handlers of the routes that settle waits: for a relay that holds the token, and for an operator. A relay sends the
// token in the path or, so that access logs have none, as bearer token.

export async function externalWaits(deps: Deps, context: Context): Promise<Response> {
  const { run, ...query } = parseQuery(externalQuery, queryOf(context));
  if (run !== undefined) await requireOwnRun(deps, runIdFrom(run));
  if (run !== undefined) return json(200, { waits: await externalWaitsOf(deps, runIdFrom(run), query) });
  return json(200, await listExternalWaits(deps, query));
}

export async function complete(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const capability = capabilityIn(deps, context);
  const rule = { maxBytes: inboundCompleteMaxBytes, verify: provedBy(deps, context, capability) };
  const body = await bodyIn(context, completeBody, rule);
  return json(200, await settlements.complete(deps, capability, body));
}

export async function fail(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const capability = capabilityIn(deps, context);
  const body = await bodyIn(context, failBody, { verify: provedBy(deps, context, capability) });
  return json(200, await settlements.fail(deps, capability, body));
}

export async function heartbeat(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const capability = capabilityIn(deps, context);
  const body = await bodyIn(context, heartbeatBody, { verify: provedBy(deps, context, capability) });
  return json(200, await settlements.heartbeat(deps, capability, body));
}

/** A settle token, and what else proved its sender. */
export interface Capability {
  readonly token: string;
  proof?: string | undefined;
}

/** What the holder of a token may do, by the bodies of the routes. */
export const settlements = {
  complete: (deps: Deps, capability: Capability, { output }: z.infer<typeof completeBody>): Promise<SettleResult> =>
    settleToken(deps, { ...capability, outcome: completedWith(output) }),
  fail: (deps: Deps, capability: Capability, body: z.infer<typeof failBody>): Promise<SettleResult> =>
    settleToken(deps, { ...capability, outcome: failedWith(body) }),
  heartbeat: (deps: Deps, { token }: Capability, body: z.infer<typeof heartbeatBody>): Promise<HeartbeatResult> =>
    heartbeatToken(deps, { token, extendByMs: body.extendBySeconds * 1000 }),
};

/**
 * Returns the check of the sender by the body, where a server requires one; otherwise undefined, and nothing is loaded.
 */
function provedBy(
  deps: Deps,
  context: Context,
  capability: Capability,
): ((body: Uint8Array) => Promise<void>) | undefined {
  if (!proofsRequired(deps)) return undefined;
  return async (body) => {
    const { relayProof } = await import('./relay-proof.js');
    capability.proof = await relayProof(deps, context, body).of(capability.token);
  };
}

/** Whether any server requires more of a relay than the token. */
export function proofsRequired({ app }: Deps): boolean {
  return Object.values(app.servers).some(({ relayAuth }) => relayAuth !== undefined);
}

export async function settle(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const runId = runIdIn(context);
  const waitId = context.req.param('waitId') ?? '';
  const body = await bodyIn(context, settleBody, { maxBytes: inboundCompleteMaxBytes });
  const outcome = 'output' in body ? completedWith(body.output) : failedWith(body);
  return json(200, await settleWait(deps, runId, waitId, outcome));
}

interface Output {
  readonly result: JsonValue;
  readonly isError?: boolean | undefined;
  readonly is_error?: boolean | undefined;
}

/** @throws EngineError `INPUT_INVALID` if the two spellings differ */
function completedWith({ result, isError, is_error: inOtherWords }: Output): SettleRequest['outcome'] {
  if (isError !== undefined && inOtherWords !== undefined && isError !== inOtherWords) {
    throw new EngineError('INPUT_INVALID', 'output.isError and output.is_error differ');
  }
  return { kind: 'completed', result, isError: isError ?? inOtherWords ?? false };
}

function failedWith({
  error,
  retryable,
}: {
  error: string;
  retryable?: boolean | undefined;
}): SettleRequest['outcome'] {
  return { kind: 'failed', message: error, ...defined({ retryable }) };
}

/**
 * Returns the token in the path, or the bearer token on a path without one, checked before a byte of the body is read.
 * @throws EngineError `UNAUTHORIZED` if no bearer token was sent; `TOKEN_INVALID`
 */
function capabilityIn(deps: Deps, context: Context): Capability {
  // A genuine token whose wait is gone is not counted: it is not an attack.
  return counted(deps.metrics, 'PushAuthFailures', () => {
    const token = context.req.param('token') ?? bearerOf(context.req.raw);
    deps.tokens.parseSettleToken(token);
    return { token };
  });
}
