import { EngineError } from '../../base/errors.js';
import { defined } from '../../base/defined.js';
import type { RunHead } from '../../history/records.js';
import type { PlaceInLane } from '../../store/parts/lanes.js';
import type { Deps } from '../deps.js';
import { lanesOf, lastUnderWay, laneOf } from '../lane.js';

/** Attempts against other starts with the same concurrency key at the same time; after that many, they win. */
const tries = 100;
const quickTries = 8;
const pauseMaxMs = 500;

/**
 * Puts the head of a run that has a concurrency key, at the end of its lane. Returns the head that exists if it was put
 * before, and `full` if more runs of the tenant are live than `liveMax` allows. Keeps L1 (lane.ts).
 * @throws EngineError `CONCURRENCY_KEY_BUSY` (details: runId, status) if another run is under way and the workflow says
 * `refuse`; `STORE_UNAVAILABLE` if other starts were always quicker
 */
export async function createInLane(
  deps: Deps,
  head: RunHead,
  more: Pick<PlaceInLane, 'signal' | 'liveMax'> = {},
): Promise<RunHead | 'full' | undefined> {
  for (let attempt = 0; attempt < tries; attempt++) {
    if (attempt >= quickTries) await deps.delay(deps.random.fraction() * Math.min(attempt * 10, pauseMaxMs));
    const put = await putInLane(deps, head, more);
    if (put === 'created') return undefined;
    if (put !== 'moved') return put;
  }
  throw new EngineError('STORE_UNAVAILABLE', 'too many concurrent starts with one concurrency key');
}

/** Makes one attempt. `moved`: what was read has changed meanwhile. @throws EngineError `CONCURRENCY_KEY_BUSY` */
export async function putInLane(
  deps: Deps,
  head: RunHead,
  more: Omit<PlaceInLane, 'lane'>,
): Promise<'created' | 'moved' | 'full' | RunHead> {
  const { workflow, tenant, lane: { key: concurrencyKey } = { key: '' } } = head;
  const key = laneOf(deps, workflow, concurrencyKey, tenant);
  const lane = await lanesOf(deps).read(key);
  const last = lane === undefined ? undefined : await lastUnderWay(deps, lane.runId);
  const whenBusy = deps.app.workflows.get(workflow)?.concurrency?.whenBusy;
  if (last !== undefined && whenBusy === 'refuse') {
    // It may have been put before, under the same key.
    const known = await deps.store.heads.read(head.runId);
    if (known !== undefined) return known;
    throw busy(last);
  }
  const placed: RunHead = {
    ...head,
    lane: {
      key: concurrencyKey,
      ...defined({
        afterRunId: last?.runId,
        replaces: last !== undefined && whenBusy === 'replace' ? true : undefined,
      }),
    },
  };
  const place = { ...more, lane: { key, generation: lane?.generation ?? 0 } };
  return lanesOf(deps).createRun(placed, deps.random.hex(16), place);
}

function busy({ runId, status, lane }: RunHead): EngineError {
  const state = lane?.afterRunId === undefined ? status : 'under way';
  return new EngineError('CONCURRENCY_KEY_BUSY', `a run with this concurrency key is ${state}`, {
    details: { runId, status },
  });
}
