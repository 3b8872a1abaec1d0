import { defined } from '../../base/defined.js';
import {
  type EngineError,
  type EngineErrorCode,
  isEngineError,
  storedError,
  toStoredError,
} from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { carriedBy, contextOfSpan, toTraceparent } from '../../base/trace-context.js';
import type { ChildStarted } from '../../history/event.js';
import type { OpenChild } from '../../history/run-state.js';
import type { StartChild } from '../../replay/command.js';
import type { RunHead, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import type { Persist } from '../persist.js';
import { newHead } from '../requests/new-head.js';
import { createRun } from '../requests/start-run.js';
import { newSettlement, settleInTime } from '../settle-in-time.js';
import { about } from '../trace.js';
import { wakeRun } from '../wake.js';

interface ChildToStart {
  readonly parent: RunHead;
  readonly wait: OpenChild;
  readonly command: StartChild;
}

export interface ChildResult {
  /** The current token item. */
  readonly token: TokenRecord;
  readonly started?: ChildStarted;
}

/**
 * Starts the child of a wait that is in the log. The token item is put before the child, whose end settles it; the
 * child's id is a function of the wait, so a repeat finds the existing child.
 */
export async function startChild(
  deps: Deps,
  { parent, wait, command }: ChildToStart,
  persist: Persist,
): Promise<ChildResult> {
  const { waitId } = wait;
  const fresh: TokenRecord = {
    runId: parent.runId,
    waitId,
    attempt: 1,
    writerId: deps.random.hex(16),
    createdAtMs: deps.clock.nowMs(),
    ...defined({ deadlineAtMs: wait.deadlineAtMs, traceparent: carriedBy(deps.digest, parent) }),
    child: { runId: wait.childRunId, parentClose: wait.parentClose },
    pollErrors: 0,
  };
  const { token } = await persist(() => deps.store.tokens.put(fresh));
  if (token.settlement !== undefined) return { token };
  let head: RunHead;
  try {
    const { childRunId: runId, workflow, input } = command;
    head = await newHead(deps, {
      runId,
      workflow,
      ...defined({ input }),
      parent: { runId: parent.runId, waitId, workflow: parent.workflow },
      traceparent: toTraceparent(contextOfSpan(deps.digest, parent, about.wait(waitId))),
      ...defined({ owner: parent.owner, tenant: parent.tenant, calls: parent.calls }),
    });
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return refused(deps, { parent, command, token }, persist, error);
  }
  try {
    await persist(() => createRun(deps, head));
  } catch (error) {
    if (!isEngineError(error) || !refusals.includes(error.code)) throw error;
    return refused(deps, { parent, command, token }, persist, error);
  }
  // Also for an existing child: the process that put it may have died before its wake.
  await wakeRun(deps, head.runId);
  return { token, started: { type: 'ChildStarted', atMs: deps.clock.nowMs(), waitId } };
}

/** Codes of a start that the limits of the child's workflow refuse. */
const refusals: readonly EngineErrorCode[] = ['CONCURRENCY_KEY_BUSY', 'START_THROTTLED', 'INPUT_INVALID'];

/** Settles the wait for a child that could not be started. */
async function refused(
  deps: Deps,
  { parent, command, token }: Pick<ChildToStart, 'parent' | 'command'> & Pick<ChildResult, 'token'>,
  persist: Persist,
  error: EngineError,
): Promise<ChildResult> {
  const cause = toStoredError(error, 'INPUT_INVALID') as unknown as JsonValue;
  const failed = storedError('CHILD_FAILED', `child "${command.workflow}" could not be started: ${error.message}`, {
    status: 'failed',
    error: cause,
  });
  const settlement = newSettlement(deps, { by: 'start', outcome: { kind: 'failed', error: failed } });
  const { runId } = parent;
  const settled = await persist(() => settleInTime(deps, { runId, waitId: token.waitId }, settlement));
  return { token: settled.token ?? token };
}
