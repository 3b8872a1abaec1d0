import { storedError } from '../../base/errors.js';
import type { EpochMs } from '../../base/time.js';
import { after, claimed, isDue, isGivenUp, noticesDueAtMs } from '../../decide/notices.js';
import type { NoticeLine, Notices } from '../../history/question.js';
import type { TokenRecord } from '../../history/records.js';
import type { PollMessage } from '../../queue/queue.js';
import type { Delivery } from '../../remote/messenger.js';
import type { Deps } from '../deps.js';
import { pollAt } from '../wake.js';
import { messageOf, type ToldToken } from './notice-message.js';

/** How often the results of a claim are recorded anew if another worker has claimed the other line meanwhile. */
const recordTries = 3;

/**
 * Sends the notices of an open question that are due, each under a claim, and records what the receivers answered.
 * Rules: decide/notices.ts.
 */
export async function tellPeople(deps: Deps, message: PollMessage, token: TokenRecord): Promise<void> {
  if (!isTold(token) || token.dueAtMs === undefined) return;
  if (message.dueAtMs !== undefined && message.dueAtMs !== token.dueAtMs) return;
  const nowMs = deps.clock.nowMs();
  const due = token.notices.lines.flatMap((line, at) => (isDue(line, nowMs) ? [{ line, at }] : []));
  if (due.length === 0) {
    await sendAgain(deps, token, token.dueAtMs);
    return;
  }
  const own = await write(deps, token, claimed(token.notices, nowMs, deps.random.fraction()));
  if (own === undefined) return;
  const results = await Promise.all(
    due.map(async ({ line, at }) => ({ line, at, delivery: await send(deps, token, at, line) })),
  );
  await record(deps, own, results);
}

interface Result {
  readonly line: NoticeLine;
  readonly at: number;
  readonly delivery: Delivery;
}

/** Records the results in the lines that they are about, unless those have moved on. */
async function record(deps: Deps, claimedToken: ToldToken, results: readonly Result[]): Promise<void> {
  const { runId, waitId } = claimedToken;
  for (const result of results) log(deps, claimedToken, result);
  let token: ToldToken | undefined = claimedToken;
  for (let tries = 0; token !== undefined && tries < recordTries; tries++) {
    const before: ToldToken = token;
    const nowMs = deps.clock.nowMs();
    const lines = before.notices.lines.map((line, at) => {
      const result = results.find((candidate) => candidate.at === at && candidate.line.number === line.number);
      return result === undefined
        ? line
        : after(line, result.delivery, { nowMs, remindAfterMs: before.form.remindAfterMs });
    });
    const written = await write(deps, before, { ...before.notices, lines });
    if (written !== undefined) {
      if (written.dueAtMs !== undefined) await sendAgain(deps, written, written.dueAtMs);
      return;
    }
    const now = await deps.store.tokens.read(runId, waitId);
    token = now !== undefined && isTold(now) && now.settlement === undefined ? now : undefined;
  }
}

/** Returns the token as written; undefined if it has changed, or the question is answered. */
async function write(deps: Deps, token: ToldToken, notices: Notices): Promise<ToldToken | undefined> {
  const next = {
    writerId: deps.random.hex(16),
    notices,
    dueAtMs: noticesDueAtMs(notices, token.deadlineAtMs),
  };
  const { dueAtMs, ...rest } = token;
  const ok = await deps.store.notices.write(token, next);
  if (!ok) return undefined;
  const { dueAtMs: nextAtMs, ...written } = next;
  return nextAtMs === undefined ? { ...rest, ...written } : { ...rest, ...written, dueAtMs: nextAtMs };
}

async function send(deps: Deps, token: ToldToken, at: number, line: NoticeLine): Promise<Delivery> {
  const { people } = deps.app;
  const receiver =
    people !== undefined && Object.hasOwn(people.receivers, line.to) ? people.receivers[line.to] : undefined;
  // A deployment may bring the receiver, like a server that is not configured.
  if (people === undefined || receiver === undefined)
    return { kind: 'failed', error: storedError('CONFIG_INVALID', `people.receivers has no "${line.to}"`) };
  if (deps.messenger === undefined)
    return { kind: 'failed', error: storedError('CONFIG_INVALID', 'this process sends no notices') };
  return deps.messenger.send(receiver, messageOf(token, at, line, { people, publicUrl: deps.publicUrl }));
}

function log(deps: Deps, { runId, waitId }: ToldToken, { line, delivery }: Result): void {
  const fields = { runId, waitId, to: line.to, number: line.number };
  if (delivery.kind === 'gone') deps.log.error('notices refused for good', fields);
  if (delivery.kind !== 'failed') return;
  const { error } = delivery;
  if (isGivenUp(line, deps.clock.nowMs())) deps.log.error('notice given up', { ...fields, error });
  else deps.log.warn('notice not taken', { ...fields, error, tries: line.tries + 1 });
}

async function sendAgain(deps: Deps, { runId, waitId }: ToldToken, dueAtMs: EpochMs): Promise<void> {
  await pollAt(deps, { kind: 'poll', runId, waitId, dueAtMs }, dueAtMs);
}

function isTold(token: TokenRecord): token is ToldToken {
  return token.form !== undefined && token.notices !== undefined;
}
