import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { idempotencyKeyMaxBytes } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { RunHead } from '../../history/records.js';
import { chainOf } from '../chain.js';
import type { Deps } from '../deps.js';
import { runNotFound } from '../load-run.js';
import { terminateReplaced } from './replaced-run.js';
import { newHead, type StartRequest, type StartedRun } from './start-run.js';
import { wakeRun } from '../wake.js';

export interface NamedStartRequest extends Omit<StartRequest, 'key'> {
  /** The caller's own id, such as an order number: at most one run of a workflow with this id is under way. 1 to 255 bytes. */
  readonly id: string;
  /**
   * When a run of this id is under way. Default `useExisting`. `terminate`: it is terminated, and a new one is there at
   * once but does nothing before the old one has ended.
   */
  readonly whenRunning?: 'useExisting' | 'fail' | 'terminate';
  /** When the last run of this id has ended. Default `startNew`. */
  readonly whenEnded?: 'startNew' | 'useExisting' | 'fail';
}

/** Somebody else starts the same id at the same time: after this many times round it is their turn for good. */
const tries = 8;

/**
 * Starts a run under an id of the caller's, or finds the one that has it. The id points to a run, and along whatever that
 * goes on as.
 *
 * N1  The pointer and the head of a new run are put in one transaction, if the pointer is the one that was read.
 * N2  A run without `afterRunId` is put only after the last run of the chain has been seen to have ended, which is final.
 * N3  A run with `afterRunId` does nothing before the chain of that run has ended (see `nextLookAtMs`).
 *
 * So at most one run of an id is under way at every instant, whoever dies or comes at the same time.
 * @throws EngineError like startRun; `RUN_EXISTS` (details: runId, status) where a policy says `fail`
 */
export async function startNamedRun(deps: Deps, request: NamedStartRequest): Promise<StartedRun> {
  const { id, workflow, whenRunning = 'useExisting', whenEnded = 'startNew', ...start } = request;
  checkName(id, 'the id of a run', { maxBytes: idempotencyKeyMaxBytes });
  // A digest: ids may be long, and hold what is no business of whoever reads keys of the table.
  const nameKey = deps.digest(`${workflow}\n${id}`);
  for (let attempt = 0; attempt < tries; attempt++) {
    const pointer = await deps.store.names.read(nameKey);
    const chain = pointer === undefined ? undefined : await chainOf(deps, pointer.runId);
    if (chain !== undefined) {
      const policy = chain.isUnderWay ? whenRunning : whenEnded;
      if (policy === 'useExisting') return { runId: chain.head.runId, deduplicated: true };
      if (policy === 'fail') throw exists(chain.head);
    }
    const replacedRunId = chain?.isUnderWay === true ? chain.head.runId : undefined;
    const head = await newHead(deps, {
      ...start,
      workflow,
      runId: deps.random.hex(16),
      id,
      ...defined({ afterRunId: replacedRunId }),
    });
    if (
      await deps.store.names.createRun(head, deps.random.hex(16), { nameKey, generation: pointer?.generation ?? 0 })
    ) {
      if (replacedRunId !== undefined) await terminateReplaced(deps, replacedRunId);
      await wakeRun(deps, head.runId);
      return { runId: head.runId, deduplicated: false };
    }
  }
  throw new EngineError('STORE_UNAVAILABLE', 'too many starts of one id at the same time');
}

/** The run that an id points to now: where the run has gone on as others, the last of them. @throws EngineError `RUN_NOT_FOUND` */
export async function findNamedRun(deps: Deps, workflow: string, id: string): Promise<RunId> {
  const pointer = await deps.store.names.read(deps.digest(`${workflow}\n${id}`));
  const chain = pointer === undefined ? undefined : await chainOf(deps, pointer.runId);
  if (chain === undefined) throw runNotFound();
  return chain.head.runId;
}

function exists({ runId, status }: RunHead): EngineError {
  return new EngineError('RUN_EXISTS', `a run of this id is ${status}`, { details: { runId, status } });
}
