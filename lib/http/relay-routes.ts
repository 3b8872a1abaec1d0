import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { inboundCompleteMaxBytes } from '../base/limits.js';
import type { Deps } from '../operations/deps.js';
import { heartbeatToken } from '../operations/requests/heartbeat-token.js';
import { externalWaitsOf, listExternalWaits } from '../operations/views/list-external-waits.js';
import { type SettleRequest, settleToken } from '../operations/requests/settle-token.js';
import { settleWait } from '../operations/requests/settle-wait.js';
import { counted } from './access.js';
import { parseQuery } from './parse.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn, queryOf, runIdIn } from './request-parts.js';
import { completeBody, externalQuery, failBody, heartbeatBody, runIdFrom, settleBody } from './requests.js';

// Handlers of the routes that settle waits: for a relay that holds the token, and for an operator.

export async function externalWaits(deps: Deps, context: Context): Promise<Response> {
  const { run, after } = parseQuery(externalQuery, queryOf(context));
  if (run !== undefined) return json(200, { waits: await externalWaitsOf(deps, runIdFrom(run)) });
  return json(200, await listExternalWaits(deps, after));
}

export async function complete(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const token = tokenIn(deps, context);
  const { output } = await bodyIn(context, completeBody, { maxBytes: inboundCompleteMaxBytes });
  return json(200, await settleToken(deps, { token, outcome: completedWith(output) }));
}

export async function fail(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const token = tokenIn(deps, context);
  return json(200, await settleToken(deps, { token, outcome: failedWith(await bodyIn(context, failBody)) }));
}

export async function heartbeat(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const token = tokenIn(deps, context);
  const { extendBySeconds } = await bodyIn(context, heartbeatBody);
  return json(200, await heartbeatToken(deps, { token, extendByMs: extendBySeconds * 1000 }));
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

/** Returns the token in the path, checked before a byte of the body is read. @throws EngineError `TOKEN_INVALID` */
function tokenIn(deps: Deps, context: Context): string {
  const token = context.req.param('token') ?? '';
  // A genuine token whose wait is gone is not counted: it is not an attack.
  counted(deps.metrics, 'PushAuthFailures', () => {
    deps.tokens.parseSettleToken(token);
  });
  return token;
}
