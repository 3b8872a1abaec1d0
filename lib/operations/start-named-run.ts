import { EngineError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import { utf8Bytes } from '../base/json.js';
import { idempotencyKeyMaxBytes } from '../base/limits.js';
import type { RunHead } from '../store/records.js';
import type { Deps } from './deps.js';
import { requestStop } from './send-to-inbox.js';
import { newHead, type StartRequest, type StartedRun } from './start-run.js';
import { wakeRun } from './wake.js';

export interface NamedStartRequest extends Omit<StartRequest, 'key'> {
  /** The caller's own id, such as an order number: at most one run of a workflow with this id is under way. 1 to 255 bytes. */
  readonly id: string;
  /** When a run of this id is under way. Default `useExisting`. `terminate`: it is terminated and a new one starts. */
  readonly whenRunning?: 'useExisting' | 'fail' | 'terminate';
  /** When the last run of this id has ended. Default `startNew`. */
  readonly whenEnded?: 'startNew' | 'useExisting' | 'fail';
}

/** Somebody else starts the same id at the same time: after this many times round it is their turn for good. */
const tries = 8;

/**
 * Starts a run under an id of the caller's, or finds the one that has it. The id points to a run; the pointer and the
 * head of a new run are put in one transaction, so two callers never start two.
 * @throws EngineError like startRun; `RUN_EXISTS` (details: runId, status) where a policy says `fail`
 */
export async function startNamedRun(deps: Deps, request: NamedStartRequest): Promise<StartedRun> {
  const { id, workflow, whenRunning = 'useExisting', whenEnded = 'startNew', ...start } = request;
  if (id === '' || !id.isWellFormed() || utf8Bytes(id) > idempotencyKeyMaxBytes) {
    throw new EngineError(
      'INPUT_INVALID',
      `the id of a run must be well-formed text of 1 to ${idempotencyKeyMaxBytes} bytes`,
    );
  }
  // A digest: ids may be long, and hold what is no business of whoever reads keys of the table.
  const nameKey = deps.digest(`${workflow}\n${id}`);
  for (let attempt = 0; attempt < tries; attempt++) {
    const pointer = await deps.store.readRunName(nameKey);
    const existing = pointer === undefined ? undefined : await deps.store.readHead(pointer.runId);
    if (existing !== undefined) {
      const policy = isUnderWay(existing) ? whenRunning : whenEnded;
      if (policy === 'useExisting') return { runId: existing.runId, deduplicated: true };
      if (policy === 'fail') throw exists(existing);
      if (policy === 'terminate') await terminate(deps, existing.runId);
    }
    const head = await newHead(deps, { ...start, workflow, runId: deps.random.hex(16) });
    if (await deps.store.createNamedRun(head, deps.random.hex(16), { nameKey, generation: pointer?.generation ?? 0 })) {
      await wakeRun(deps, head.runId);
      return { runId: head.runId, deduplicated: false };
    }
  }
  throw new EngineError('STORE_UNAVAILABLE', 'too many starts of one id at the same time');
}

/** The run that an id points to now. @throws EngineError `RUN_NOT_FOUND` */
export async function findNamedRun(deps: Deps, workflow: string, id: string): Promise<RunId> {
  const pointer = await deps.store.readRunName(deps.digest(`${workflow}\n${id}`));
  if (pointer === undefined) throw new EngineError('RUN_NOT_FOUND', 'no run has this id');
  return pointer.runId;
}

function isUnderWay({ status }: RunHead): boolean {
  return status === 'running' || status === 'ending';
}

async function terminate(deps: Deps, runId: RunId): Promise<void> {
  await requestStop(deps, {
    runId,
    kind: 'terminate',
    requestId: 'replaced',
    reason: 'a new run of its id was started',
  });
}

function exists({ runId, status }: RunHead): EngineError {
  return new EngineError('RUN_EXISTS', `a run of this id is ${status}`, { details: { runId, status } });
}
