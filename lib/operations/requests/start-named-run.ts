import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { idempotencyKeyMaxBytes } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { RunHead } from '../../history/records.js';
import { chainOf } from '../chain.js';
import type { Deps } from '../deps.js';
import { digestOfName } from '../digest-of-name.js';
import { runNotFound } from '../load-run.js';
import { terminateReplaced } from './replaced-run.js';
import { newHead, type StartedRun, type StartRequest } from './new-head.js';
import { checkNotDebounced, isLimited, loadLimitedStart } from './start-run.js';
import { type AdmittedStart, admitStart, refuseStart } from './tenant-admission.js';
import { wakeRun } from '../wake.js';

export interface NamedStartRequest extends Omit<StartRequest, 'key'> {
  /** The caller's own id, such as an order number, 1 to 255 bytes: at most one run of the workflow has it at a time. */
  readonly id: string;
  /**
   * Policy if a run with this id is under way. Default `useExisting`. `terminate`: that run is terminated, and a new
   * one is created at once, but does nothing until the old one has ended.
   */
  readonly whenRunning?: 'useExisting' | 'fail' | 'terminate';
  /** Policy if the last run with this id has ended. Default `startNew`. */
  readonly whenEnded?: 'startNew' | 'useExisting' | 'fail';
}

/** Attempts against other starts of the same id at the same time; after that many, they win. */
const tries = 8;

/**
 * Starts a run under an id of the caller's, or finds the existing one. The id points to a run, and through it to its
 * successors.
 *
 * N1  The pointer and the head of a new run are put in one transaction, if the pointer is still the one that was read.
 * N2  A run without `afterRunId` is put only after the last run of the chain was seen to have ended, which is final.
 * N3  A run with `afterRunId` does nothing until the chain of that run has ended (see `nextLookAtMs`).
 *
 * So at most one run with an id is under way at every instant, whatever process dies or starts at the same time.
 * @throws EngineError like startRun; `RUN_EXISTS` (details: runId, status) if a policy says `fail`
 */
export async function startNamedRun(deps: Deps, request: NamedStartRequest): Promise<StartedRun> {
  const { id, workflow, whenRunning = 'useExisting', whenEnded = 'startNew', ...start } = request;
  checkName(id, 'the id of a run', { maxBytes: idempotencyKeyMaxBytes });
  checkNotDebounced(deps, workflow);
  const nameKey = nameKeyOf(deps, workflow, id);
  let admitted: AdmittedStart | undefined;
  for (let attempt = 0; attempt < tries; attempt++) {
    const pointer = await deps.store.names.read(nameKey);
    const chain = pointer === undefined ? undefined : await chainOf(deps, pointer.runId);
    if (chain !== undefined) {
      const policy = chain.isUnderWay ? whenRunning : whenEnded;
      if (policy === 'useExisting') return { runId: chain.head.runId, deduplicated: true };
      if (policy === 'fail') throw exists(chain.head);
    }
    const replacedRunId = chain?.isUnderWay === true ? chain.head.runId : undefined;
    const fresh = await newHead(deps, {
      ...start,
      workflow,
      runId: deps.random.hex(16),
      id,
      ...defined({ afterRunId: replacedRunId }),
    });
    // Takes a permit for the first attempt only: others are about the same start.
    admitted ??= await admitStart(deps, fresh);
    const { liveMax } = admitted;
    const head = liveMax === undefined ? fresh : { ...fresh, counted: true };
    const made = await createNamed(deps, head, { nameKey, generation: pointer?.generation ?? 0, liveMax });
    if (made === 'full') return refuseStart(admitted);
    if (made === 'created') {
      if (replacedRunId !== undefined) await terminateReplaced(deps, replacedRunId);
      await wakeRun(deps, head.runId);
      return { runId: head.runId, deduplicated: false };
    }
  }
  throw new EngineError('STORE_UNAVAILABLE', 'too many concurrent starts with one id');
}

async function createNamed(
  deps: Deps,
  head: RunHead,
  name: { readonly nameKey: string; readonly generation: number; readonly liveMax: number | undefined },
): Promise<'created' | 'moved' | 'full'> {
  if (!isLimited(deps, head)) return deps.store.names.createRun(head, deps.random.hex(16), name);
  const { nameKey, generation, liveMax } = name;
  const { putLimited } = await loadLimitedStart();
  const pointers = [{ kind: 'name', digest: nameKey, generation } as const];
  const put = await putLimited(deps, head, { pointers, liveMax });
  return typeof put === 'string' ? put : 'moved';
}

/** Returns the run that an id points to, or its last successor. @throws EngineError `RUN_NOT_FOUND` */
export async function findNamedRun(deps: Deps, workflow: string, id: string): Promise<RunId> {
  const pointer = await deps.store.names.read(nameKeyOf(deps, workflow, id));
  const chain = pointer === undefined ? undefined : await chainOf(deps, pointer.runId);
  if (chain === undefined) throw runNotFound();
  return chain.head.runId;
}

function exists({ runId, status }: RunHead): EngineError {
  return new EngineError('RUN_EXISTS', `a run with this id is ${status}`, { details: { runId, status } });
}

/** Returns the key of an id. Equal ids of two tenants are different. */
function nameKeyOf(deps: Deps, workflow: string, id: string): string {
  return digestOfName(deps, { workflow, tenant: deps.caller?.tenant }, id);
}
