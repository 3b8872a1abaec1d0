import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { EpochMs } from '../../base/time.js';
import type { LanePlace, RunHead } from '../../history/records.js';
import type { ThrottleState } from '../../history/start-records.js';
import type { PointerAsRead, StartPlace } from '../../store/run-store.js';
import { periodMs, type Throttle, type WhenBusy } from '../../workflow/flow-control.js';
import type { Deps } from '../deps.js';
import { digestOfName } from '../digest-of-name.js';
import { lastUnderWay, laneOf } from '../lane.js';
import { limitKeyOf } from './limit-key.js';
import { refuseCap } from './tenant-admission.js';

/** Attempts against other starts with the same key at the same time; after that many, they win. */
export const startTries = 100;
const quickTries = 8;
const pauseMaxMs = 500;

/** What is written with a run besides its place in lane and throttle. */
type More = Omit<StartPlace, 'throttle' | 'pointers'> & { readonly pointers?: StartPlace['pointers'] };

/**
 * Puts the head of a run whose start is limited. Returns the head that exists if it was put before.
 * @throws EngineError like putLimited; `STORE_UNAVAILABLE` if other starts were always quicker
 */
export async function createLimited(deps: Deps, head: RunHead, more: More = {}): Promise<RunHead | 'full' | undefined> {
  for (let attempt = 0; attempt < startTries; attempt++) {
    await pauseBefore(deps, attempt);
    const put = await putLimited(deps, head, more);
    if (put === 'created') return undefined;
    if (put !== 'moved') return put;
  }
  throw tooManyStarts();
}

/** Lets concurrent starts with one key come one after another. */
export async function pauseBefore(deps: Pick<Deps, 'delay' | 'random'>, attempt: number): Promise<void> {
  if (attempt >= quickTries) await deps.delay(deps.random.fraction() * Math.min(attempt * 10, pauseMaxMs));
}

export function tooManyStarts(): EngineError {
  return new EngineError('STORE_UNAVAILABLE', 'too many concurrent starts with one key');
}

/**
 * Makes one attempt to put the head of a run, at the end of its lane and with the next place in its throttle. Keeps L1
 * (lane.ts). `moved`: what was read has changed meanwhile. A head that exists is returned.
 * @throws EngineError `CONCURRENCY_KEY_BUSY` (details: runId, status), `START_THROTTLED` (details: retryAtMs, retryAfterMs),
 * `INPUT_INVALID` for an input from which no key can be computed
 */
export async function putLimited(
  deps: Deps,
  head: RunHead,
  more: More,
): Promise<'created' | 'moved' | 'full' | RunHead> {
  const { concurrency, throttle } = deps.app.workflows.get(head.workflow)?.flowControl ?? {};
  try {
    const place = head.lane === undefined ? undefined : await placeInLane(deps, head, concurrency?.whenBusy);
    const slot = throttle === undefined ? undefined : await placeInThrottle(deps, head, throttle);
    const placed = { ...head, ...defined({ lane: place?.lane }) };
    const put = await (
      await deps.store.limitedStarts()
    ).createRun(slot === undefined ? placed : startingAt(placed, slot.startAtMs), deps.random.hex(16), {
      ...more,
      pointers: [...(more.pointers ?? []), ...(place === undefined ? [] : [place.pointer])],
      throttle: slot?.throttle,
    });
    return typeof put === 'object' && 'counter' in put ? await refuseCap(put) : put;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // The same start may have been accepted before, under the same key.
    const known = await deps.store.heads.read(head.runId);
    if (known !== undefined) return known;
    throw error;
  }
}

/** Thrown if a start is refused. */
class Refused extends EngineError {}

async function placeInLane(
  deps: Deps,
  { workflow, lane, tenant }: RunHead,
  whenBusy: WhenBusy | undefined,
): Promise<{ readonly lane: LanePlace; readonly pointer: PointerAsRead }> {
  const concurrencyKey = lane?.key ?? '';
  const key = { kind: 'lane', digest: laneOf(deps, workflow, concurrencyKey, tenant) } as const;
  const pointer = await (await deps.store.limitedStarts()).readPointer(key);
  const last = pointer === undefined ? undefined : await lastUnderWay(deps, pointer.runId);
  if (last !== undefined && whenBusy === 'refuse')
    throw new Refused('CONCURRENCY_KEY_BUSY', `run ${last.runId} with this concurrency key is under way`, {
      details: { runId: last.runId, status: last.status },
    });
  const replaces = last !== undefined && whenBusy === 'replace' ? true : undefined;
  return {
    lane: {
      key: concurrencyKey,
      ...defined({ afterRunId: last?.runId, afterCreatedAtMs: last?.createdAtMs, replaces }),
    },
    pointer: { ...key, generation: pointer?.generation ?? 0 },
  };
}

/** Returns the next instant at which the throttle lets a run of the tenant begin, and its state with that run. */
async function placeInThrottle(
  deps: Deps,
  { workflow, input, tenant }: RunHead,
  { key: keyOf, limit, period, whenExceeded }: Throttle,
): Promise<
  | { readonly startAtMs: EpochMs; readonly throttle: { readonly key: string; readonly state: ThrottleState } }
  | undefined
> {
  const given = keyOf === undefined ? '' : limitKeyOf(keyOf, input, 'the key of a throttle');
  if (given === undefined) return undefined;
  const key = digestOfName(deps, { workflow, tenant }, given);
  const { startsAtMs, generation } = await (await deps.store.limitedStarts()).readThrottle(key);
  const nowMs = deps.clock.nowMs();
  const freeAtMs = (startsAtMs.at(-limit) ?? -Infinity) + periodMs(period);
  if (freeAtMs > nowMs && whenExceeded === 'refuse')
    throw new Refused(
      'START_THROTTLED',
      `workflow "${workflow}" starts no more runs before ${new Date(freeAtMs).toISOString()}: ${limit} in ${periodMs(period) / 1_000} s`,
      { details: { retryAtMs: freeAtMs, retryAfterMs: freeAtMs - nowMs } },
    );
  // Never before the last one: a clock may be behind that of another process.
  const startAtMs = Math.max(nowMs, freeAtMs, startsAtMs.at(-1) ?? 0);
  return { startAtMs, throttle: { key, state: { startsAtMs: [...startsAtMs, startAtMs].slice(-limit), generation } } };
}

/** Returns the head of a run that begins at an instant, unless it begins later anyway. Its timeout counts from there. */
export function startingAt(head: RunHead, atMs: EpochMs): RunHead {
  const { startAtMs: before = head.createdAtMs, deadlineAtMs } = head;
  if (atMs <= before) return head;
  return {
    ...head,
    startAtMs: atMs,
    dueAtMs: atMs,
    ...defined({ deadlineAtMs: deadlineAtMs === undefined ? undefined : deadlineAtMs + atMs - before }),
  };
}
