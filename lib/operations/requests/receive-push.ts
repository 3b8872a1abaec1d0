import { sha256 } from '../../inbound/signature.js';
import { timingSafeEqual } from 'node:crypto';
import { defined } from '../../base/defined.js';
import { EngineError, isEngineError } from '../../base/errors.js';
import { isJsonObject } from '../../base/json.js';
import { decodeUtf8 } from '../../base/body-text.js';
import { knownTraceparent } from '../../base/trace-context.js';
import { parseBoundedJson } from '../../base/bounded-json.js';
import { type PushedNews, readPush } from '../../inbound/a2a-push.js';
import { headerOf, type InboundRequest } from '../../inbound/request.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { pokeTask } from './poke-task.js';
import { takeProof } from './take-proof.js';
import { unauthorized, type Verified, verifyDelivery } from './verify-delivery.js';

/** Largest body of a push that is parsed. */
export const pushParsedMaxBytes = 256 * 1024;

/** Age of a wait below which a push of 0.3 may have been sent while its start was answered. */
const startedWithinMs = 30_000;

/** Wait of a push, and the secret that was registered for it. */
export type PushedWait = NonNullable<ReturnType<Deps['tokens']['parsePushToken']>>;

/**
 * `poked`: the task is read now. `noted`: the push changes nothing but that reads are the backstop from now on.
 * `mismatch`: it names another task. `over`: the wait has ended.
 */
export type PushOutcome = 'poked' | 'noted' | 'mismatch' | 'over';

/** Finds the wait that a push URL was made for, without the table. @throws EngineError `UNAUTHORIZED` */
export function pushedWait(deps: Deps, pushToken: string): PushedWait {
  const agents = Object.entries(deps.app.servers).filter(([, { protocol }]) => protocol === 'a2a');
  const wait = deps.tokens.parsePushToken(
    pushToken,
    agents.map(([name]) => name),
  );
  if (wait === undefined) throw unauthorized(deps);
  return wait;
}

/**
 * Verifies a push and has the task read, if it says anything new. Nothing that it says is kept, and only the read
 * settles: a stranger who had every secret of a push could make us read a task of ours, no more.
 *
 * P1  The sender is verified before the body is parsed and before the table is used.
 * P2  A push must name the task of its wait, unless its body is too large to be parsed.
 * P3  The first push is recorded, also one that comes before the handle is stored: from then on reads are the backstop.
 *     Such an early push needs no poke: the first read follows the handle by seconds, whatever was pushed. Pushes of 0.3
 *     count only if they come after the start is over.
 * P4  A push that says that the task goes on costs one read of the item, and no read of the task.
 *
 * @throws EngineError `UNAUTHORIZED`, the same for every reason; `PAYLOAD_TOO_LARGE`, `INPUT_INVALID` (the body);
 * `TOKEN_INVALID` if the wait is not there; `STORE_UNAVAILABLE` if it is our fault
 */
export async function receivePush(deps: Deps, wait: PushedWait, request: InboundRequest): Promise<PushOutcome> {
  const verified = await verifySender(deps, wait, request);
  const outcome = await takeNews(deps, wait, request, verified);
  deps.metrics?.put('PushesReceived', 1, { result: outcome });
  return outcome;
}

async function takeNews(
  deps: Deps,
  wait: PushedWait,
  { headers, body, atMs }: InboundRequest,
  verified: Verified | undefined,
): Promise<PushOutcome> {
  const news = newsIn(body, verified?.coversBody === true);
  const { runId, waitId, server } = wait;
  const token = await readToken(deps, wait);
  if (token?.server !== server) throw new EngineError('TOKEN_INVALID', 'no wait is known for this token');
  if (token.settlement !== undefined) return 'over';
  const { handle, pushedAtMs } = token;
  const named = [verified?.jwt?.taskId, ...(news === 'unread' ? [] : [news.taskId ?? ''])];
  if (named.some((taskId) => taskId !== undefined && isOther(taskId, handle))) {
    deps.log.warn('push names another task', { runId, waitId, server });
    return 'mismatch';
  }
  if (pushedAtMs === undefined && !isOfStart(news, atMs - token.createdAtMs))
    await deps.store.polls.notePush(runId, waitId, atMs);
  const says = news === 'unread' ? 'other' : news.says;
  if (handle === undefined || says === 'working') return 'noted';
  const saidEnded = says === 'ended' ? true : undefined;
  // Only of a verified sender, and only for a link: the trace of the run stays that of its start.
  const traceparent = knownTraceparent(headerOf(headers, 'traceparent'));
  await pokeTask(deps, { kind: 'poll', runId, waitId, server, ...defined({ saidEnded, traceparent }) });
  return 'poked';
}

/**
 * Whether a push may be one of those that servers of 0.3 (the SDK for Python) send only while the stream of the start is
 * open, which is left at once: it promises no further ones. A large body is that of a whole task, as 0.3 pushes it.
 */
function isOfStart(news: PushedNews | 'unread', ageMs: number): boolean {
  return (news === 'unread' || news.isWrapped !== true) && ageMs < startedWithinMs;
}

/** Whether a push names another task than that of its wait, or none. Before the handle is stored, any may be the one. */
function isOther(taskId: string, handle: TokenRecord['handle']): boolean {
  return taskId === '' || (handle !== undefined && handle.taskId !== taskId);
}

/**
 * Returns what is known of a sender that signs; undefined if it sent the secret. A proof that ends by itself and does not
 * cover the body is good for one body: under it another one would be a stranger's.
 * @throws EngineError `UNAUTHORIZED`, `STORE_UNAVAILABLE`
 */
async function verifySender(
  deps: Deps,
  { runId, waitId, server, secret }: PushedWait,
  request: InboundRequest,
): Promise<Verified | undefined> {
  const config = deps.app.servers[server];
  const pushAuth = config?.protocol === 'a2a' ? config.pushAuth : undefined;
  if (pushAuth === undefined) {
    if (!hasSecret(request, secret)) throw unauthorized(deps);
    return undefined;
  }
  const verified = await verifyDelivery(deps, pushAuth, request, `the pushes of "${server}"`);
  if (!verified.coversBody) {
    await takeProof(deps, verified, `push ${runId}.${waitId} ${sha256(request.body).toString('hex')}`);
  }
  return verified;
}

/** Senders of A2A echo the secret in one of these; a header that came twice has no value. */
function hasSecret({ headers }: InboundRequest, secret: string): boolean {
  const [, bearer] = /^Bearer +([^\s,]+)$/i.exec(headerOf(headers, 'authorization') ?? '') ?? [];
  const given = [headerOf(headers, 'x-a2a-notification-token'), headerOf(headers, 'a2a-notification-token'), bearer];
  // Digests have one length, and comparing them reveals nothing about the secret.
  return given.filter((text) => text !== undefined && timingSafeEqual(sha256(text), sha256(secret))).length > 0;
}

/**
 * Reads the news. A large body is not parsed: agents of 0.3 push the whole task. Where the sender has signed it, what it
 * says is part of the proof, so it is refused.
 * @throws EngineError `PAYLOAD_TOO_LARGE`, `INPUT_INVALID`
 */
function newsIn(body: Uint8Array, isSigned: boolean): PushedNews | 'unread' {
  if (body.length <= pushParsedMaxBytes) {
    const parsed = parseBoundedJson(decodeUtf8(body));
    if (!isJsonObject(parsed)) throw new EngineError('INPUT_INVALID', 'the body must be an object');
    return readPush(parsed);
  }
  if (!isSigned) return 'unread';
  const message = `a signed push must have at most ${pushParsedMaxBytes} bytes`;
  throw new EngineError('PAYLOAD_TOO_LARGE', message, { details: { maxBytes: pushParsedMaxBytes } });
}

/** @throws EngineError `STORE_UNAVAILABLE`, also if the item cannot be decrypted: the sender may try again */
async function readToken(deps: Deps, { runId, waitId }: PushedWait): Promise<TokenRecord | undefined> {
  try {
    return await deps.store.tokens.read(runId, waitId);
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'PAYLOAD_UNREADABLE') throw error;
    throw new EngineError('STORE_UNAVAILABLE', 'the wait of a push cannot be read', { cause: error });
  }
}
