import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { canonicalJson, cutUtf8 } from '../../base/json.js';
import { failureTextBytes } from '../../base/limits.js';
import type { Deps } from '../deps.js';
import { checkRunId, requestIdOf, send, type Accepted } from './inbox.js';

export interface StopRequest {
  readonly runId: RunId;
  /** `cancel`: the waits of the workflow throw, and it may clean up. `terminate`: the workflow is not involved. */
  readonly kind: 'cancel' | 'terminate';
  /** A repeat with the same id is the same request. Default: a random one. */
  readonly requestId?: string;
  readonly reason?: string;
}

/**
 * Asks a run to stop. Works from any replica: the request is an inbox item, and the run's own turn acts on it.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`; `KEY_REUSED` if the request id was used with another reason or
 * kind
 */
export async function requestStop(deps: Deps, request: StopRequest): Promise<Accepted> {
  if (request.requestId === undefined) return askToStop(deps, request);
  await checkOtherKind(deps, request.runId, request.kind, requestIdOf(deps, request.requestId));
  return askToStop(deps, request, deps.tokens.sentDigest(`stop\n${canonicalJson(request.reason ?? null)}`));
}

/**
 * Asks a run to stop under an id of the engine's own. The id identifies the request, so its content is not compared.
 */
export async function askToStop(
  deps: Deps,
  { runId, kind, requestId, reason }: StopRequest,
  sentDigest?: string,
): Promise<Accepted> {
  const why = reason === undefined ? undefined : cutUtf8(reason.toWellFormed(), failureTextBytes);
  const inboxId = `${kind}-${requestIdOf(deps, requestId)}`;
  return send(deps, runId, { kind, inboxId, ...defined({ reason: why }), sentDigest });
}

/** Refuses the id of a cancel for a terminate, and vice versa. @throws EngineError `KEY_REUSED` */
async function checkOtherKind(deps: Deps, runId: RunId, kind: StopRequest['kind'], id: string): Promise<void> {
  const other = kind === 'cancel' ? 'terminate' : 'cancel';
  const isUsed = await deps.store.inbox.has(checkRunId(runId), `${other}-${id}`);
  if (isUsed)
    throw new EngineError('KEY_REUSED', `the request id was used before to ${other} this run`, { details: { runId } });
}
