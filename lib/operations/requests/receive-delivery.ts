import { type InboundMediaType, parseInboundBody } from '../../inbound/body.js';
import { headerOf, type InboundHeaders, type InboundRequest } from '../../inbound/request.js';
import { manners } from '../../inbound/schemes.js';
import { sha256 } from '../../inbound/signature.js';
import { EngineError, type EngineErrorCode, isEngineError } from '../../base/errors.js';
import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import { isJsonObject, type JsonValue, toJson } from '../../base/json.js';
import { idempotencyKeyMaxBytes, requestIdMaxChars } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import { knownTraceparent } from '../../base/trace-context.js';
import type { Hook, HookEvent, HookSignal, HookStart } from '../../workflow/hook.js';
import type { Deps } from '../deps.js';
import { runNotFound } from '../load-run.js';
import { inTime } from '../in-time.js';
import { checkRunId } from './inbox.js';
import { signalRun } from './signal-run.js';
import { findNamedRun } from './start-named-run.js';
import { startUnderOwnKey } from './start-run.js';
import { takeProof } from './take-proof.js';
import { unauthorized, type Verified, verifyDelivery } from './verify-delivery.js';

/** Time that a function of a hook has: Slack waits 3 s for an answer. */
const reactionTimeoutMs = 2_000;
/** Longest value of a header that a function of a hook sees. */
const shownHeaderMaxChars = 1_024;
/** Codes of a verified delivery that is refused. */
const refusals: readonly EngineErrorCode[] = ['UNSUPPORTED_MEDIA_TYPE', 'INPUT_INVALID', 'RUN_NOT_FOUND'];

export interface Delivery {
  /** Name of the hook. */
  readonly hook: string;
  readonly headers: InboundHeaders;
  readonly mediaType: InboundMediaType;
  /** Body exactly as received. */
  readonly body: Uint8Array;
}

/** Result of a delivery. `known`: an earlier one with the same key started the run. */
export type Received =
  | { readonly outcome: 'started' | 'known' | 'signalled' | 'run_ended'; readonly runId: RunId }
  | { readonly outcome: 'ignored' }
  /** Slack checks that the address is ours, and expects its text back. */
  | { readonly outcome: 'challenged'; readonly challenge: string };

/**
 * Verifies a delivery and does what the hook of the app says: starts a run, sends a signal, or nothing. A repeated
 * delivery starts no second run and sends no second signal.
 * @throws EngineError `UNAUTHORIZED`, the same for every reason, also for a hook that does not exist;
 * `STORE_UNAVAILABLE`, `UNSUPPORTED_MEDIA_TYPE`, `INPUT_INVALID` (the body); `RUN_NOT_FOUND` if the run of a signal is
 * not there (yet); `INTERNAL` if the app's function fails, or what it returns is refused
 */
export async function receiveDelivery(deps: Deps, delivery: Delivery): Promise<Received> {
  const { hook: name, headers, body } = delivery;
  const request: InboundRequest = { headers, body, atMs: deps.clock.nowMs() };
  const hook = Object.hasOwn(deps.app.hooks, name) ? deps.app.hooks[name] : undefined;
  if (hook === undefined) throw unauthorized(deps);
  const verified = await verifyDelivery(deps, hook.auth, request, `the hook "${name}"`);
  // With a body that nothing covers, one token must not start a run for each body that somebody makes up. A proof that
  // covers the body can only be repeated as it is, and then the id of the delivery is the key of what it does.
  if (!verified.coversBody) await takeProof(deps, verified, deps.digest(`${name} ${sha256(body).toString('hex')}`));
  let { deliveryId } = verified;
  try {
    const event = eventOf(verified, headers, parse(verified, delivery));
    ({ deliveryId } = event);
    const traceparent = knownTraceparent(headerOf(headers, 'traceparent'));
    const received = await reactTo(deps, { name, hook, traceparent }, event);
    deps.log.info('hook delivered', { hook: name, deliveryId, outcome: received.outcome });
    return received;
  } catch (error) {
    // Logs what only the sender would know; other errors are logged with their answer.
    if (isEngineError(error) && refusals.includes(error.code))
      deps.log.warn('hook delivery refused', { hook: name, deliveryId, code: error.code });
    throw error;
  }
}

/**
 * Does what a hook says for a delivery that is taken for verified: for tests of its function.
 * @throws EngineError as `receiveDelivery`, but for the sender and the body
 */
export async function takeDelivery(deps: Deps, name: string, event: HookEvent): Promise<Received> {
  const hook = Object.hasOwn(deps.app.hooks, name) ? deps.app.hooks[name] : undefined;
  if (hook === undefined) throw new EngineError('CONFIG_INVALID', `the app has no hook "${name}"`);
  return asOurFault(name, () => react(deps, { name, hook, traceparent: undefined }, event));
}

/** @throws EngineError `UNSUPPORTED_MEDIA_TYPE`, `INPUT_INVALID` */
function parse({ scheme }: Verified, { mediaType, body }: Delivery): JsonValue {
  if (mediaType === 'form' && manners[scheme].formAllowed !== true)
    throw new EngineError('UNSUPPORTED_MEDIA_TYPE', 'content-type must be application/json');
  return parseInboundBody(mediaType, body);
}

/** A hook that was called. */
interface Called {
  readonly name: string;
  readonly hook: Hook;
  /** W3C trace context of the sender. */
  readonly traceparent: string | undefined;
}

async function reactTo(deps: Deps, called: Called, event: HookEvent): Promise<Received> {
  const { name, hook } = called;
  const challenge = hook.auth.scheme === 'slack' ? challengeIn(event.body) : undefined;
  if (challenge !== undefined) return { outcome: 'challenged', challenge };
  return asOurFault(name, () => react(deps, called, event));
}

function challengeIn(body: JsonValue): string | undefined {
  if (!isJsonObject(body) || body['type'] !== 'url_verification') return undefined;
  return typeof body['challenge'] === 'string' ? body['challenge'] : undefined;
}

function eventOf({ scheme, deliveryId }: Verified, headers: InboundHeaders, body: JsonValue): HookEvent {
  const manner = manners[scheme];
  const shown = ['content-type', 'user-agent', ...manner.shown].flatMap((name) => {
    const value = headerOf(headers, name);
    return value === undefined || value.length > shownHeaderMaxChars ? [] : [[name, value] as const];
  });
  return { headers: Object.fromEntries(shown), body, deliveryId: manner.idIn?.(body) ?? deliveryId };
}

async function react(deps: Deps, { name, hook, traceparent }: Called, event: HookEvent): Promise<Received> {
  const key = keyOf(deps, name, event.deliveryId);
  if (hook.start !== undefined) {
    const start = await reactionOf(deps, hook.start(event));
    return start === undefined
      ? { outcome: 'ignored' }
      : await startFor(deps, { workflow: hook.workflow.name, key, traceparent }, start);
  }
  const signal = await reactionOf(deps, hook.signal?.(event));
  return signal === undefined ? { outcome: 'ignored' } : await signalFor(deps, hook.workflow.name, key, signal);
}

/** Returns the key of what a delivery does, short enough for a start and a signal. */
function keyOf(deps: Deps, name: string, deliveryId: string): string {
  const key = `hook:${name}:${deliveryId}`;
  return key.length > requestIdMaxChars ? `hook:${deps.digest(key)}` : key;
}

/** The content under a key is not compared: a deployment between two deliveries may change what is made of them. */
async function startFor(
  deps: Deps,
  own: { readonly workflow: string; readonly key: string; readonly traceparent: string | undefined },
  start: HookStart,
): Promise<Received> {
  const { input, key = own.key, tags } = start as HookStart<unknown>;
  const { workflow, traceparent } = own;
  checkName(key, 'an idempotency key', { maxBytes: idempotencyKeyMaxBytes });
  const request = {
    workflow,
    key,
    ...defined({ input: input === undefined ? undefined : toJson(input), tags, traceparent }),
  };
  const { runId, deduplicated } = await startUnderOwnKey(deps, request);
  return { outcome: deduplicated ? 'known' : 'started', runId };
}

async function signalFor(deps: Deps, workflow: string, key: string, signal: HookSignal): Promise<Received> {
  const runId = await runOf(deps, workflow, signal);
  const { name, payload } = signal;
  try {
    const { accepted } = await signalRun(deps, runId, {
      name,
      key,
      ...defined({ payload: payload === undefined ? undefined : toJson(payload) }),
    });
    return { outcome: accepted ? 'signalled' : 'run_ended', runId };
  } catch (error) {
    // The same delivery, of which a former deployment made another payload.
    if (isEngineError(error) && error.code === 'KEY_REUSED') return { outcome: 'known', runId };
    throw error;
  }
}

/** Returns the run that a signal names, of the workflow of the hook only. @throws EngineError `RUN_NOT_FOUND` */
async function runOf(deps: Deps, workflow: string, { id, key, runId }: HookSignal): Promise<RunId> {
  if (id !== undefined) return findNamedRun(deps, workflow, id);
  if (key !== undefined) return deps.tokens.keyedRunId(workflow, key);
  const head = await deps.store.heads.read(checkRunId(runId));
  if (head?.workflow !== workflow) throw runNotFound();
  return head.runId;
}

/** @throws Error if a function of the app takes too long */
async function reactionOf<Value>(deps: Deps, reaction: Value | Promise<Value>): Promise<Value> {
  // Not only promises of this realm: other libraries have their own.
  if (!isThenable(reaction)) return reaction;
  return inTime(deps, reactionTimeoutMs, reaction, () => {
    throw new Error(`the function of the hook did not answer within ${reactionTimeoutMs / 1_000} s`);
  });
}

function isThenable<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}

/** Codes of errors that are not caused by the app's function. */
const notOurFault: readonly EngineErrorCode[] = [
  ...(['RUN_NOT_FOUND', 'CONCURRENCY_KEY_BUSY', 'START_THROTTLED'] as const),
  ...(['STORE_UNAVAILABLE', 'STORE_RESULT_UNKNOWN'] as const),
];

/** Answers a mistake of the app with 500, so that the sender repeats the delivery, without details. */
async function asOurFault<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (isEngineError(error) && notOurFault.includes(error.code)) throw error;
    throw new EngineError('INTERNAL', `the hook "${name}" of the app cannot handle a delivery`, { cause: error });
  }
}
